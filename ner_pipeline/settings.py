"""Every environment variable that this project reads, typed, in one place.

Nothing below this module reads the environment: `storage`, `documents` and `inference` take plain
arguments. S3 itself is configured as AWS users expect (`AWS_ENDPOINT_URL`, `AWS_PROFILE`, roles, …):
boto3 reads those variables, not we.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from ner_pipeline.documents.limits import Fields, ReadLimits, ReadOptions
from ner_pipeline.errors import SettingsError
from ner_pipeline.inference.device import parse_device
from ner_pipeline.inference.extractor import LOADERS
from ner_pipeline.inference.pipeline_files import DEFAULT_MODEL
from ner_pipeline.inference.pool.batching import BATCH_CHARS
from ner_pipeline.storage.locations import S3Location

__all__ = ["Places", "Settings"]


def _as_prefix(value: Any) -> Any:
    return S3Location.parse_prefix(value) if isinstance(value, str) else value


def _as_device(value: Any) -> Any:
    parse_device(value)
    return value


def _as_workers(value: Any) -> Any:
    return 0 if value == "auto" else value


S3Prefix = Annotated[S3Location, BeforeValidator(_as_prefix)]
DeviceName = Annotated[str, BeforeValidator(_as_device)]
Workers = Annotated[int, BeforeValidator(_as_workers), Field(ge=0)]
Bytes = Annotated[int, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Places:
    """Where documents arrive and where results go: two folders on S3."""

    inbox: S3Location
    results: S3Location


class Settings(BaseSettings):
    """The settings of one deployment. A field `x_y` is the environment variable `NER_X_Y`."""

    model_config = SettingsConfigDict(
        env_prefix="NER_", frozen=True, arbitrary_types_allowed=True, extra="ignore"
    )

    inbox: S3Prefix | None = Field(None, description="Where people upload to, as s3://BUCKET/PREFIX/")
    results: S3Prefix | None = Field(None, description="Where results go, as s3://BUCKET/PREFIX/")
    settle_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        30.0, description="A folder without _SUCCESS is ready when it has not changed for so long"
    )
    tick_seconds: Count = Field(5, description="How often the sensor looks into the inbox")
    sets_per_tick: Count = Field(100, description="At most so many runs are requested in one tick")

    event_queue: str = Field(
        "", description="URL of an SQS queue with S3 events; the sensor then looks when something arrives"
    )
    look_seconds: Count = Field(
        300, description="With an event queue: the inbox is looked at so often in any case"
    )

    model: Annotated[str, Field(min_length=1)] = Field(
        DEFAULT_MODEL,
        description="The spaCy pipeline: a folder, a package, or the one that comes along",
    )
    extractor: Annotated[str, Field(pattern=r"^(auto|spacy|[\w.]+:\w+)$")] = Field(
        "auto",
        description="auto (compiled where it can be), spacy, or the function that loads another, as "
        "module:function",
    )
    components: Annotated[str, Field(min_length=1)] = Field(
        "ner", description="Which components run: ner (and what it listens to), all, or names with commas"
    )
    device: DeviceName = Field("auto", description="auto, cpu, gpu or gpu:N")
    # Defaults are validated as the variables are, so that it becomes a number.
    workers: Workers = Field(  # type: ignore[assignment]
        "auto", description="Worker processes; auto (or 0) is one for each core that the process may use"
    )
    normalize: bool = Field(
        False,
        description="The model sees composed, narrow, plain characters; offsets stay those of the text",
    )
    utf8_offsets: bool = Field(False, description="Fill the columns start_utf8 and end_utf8 too")
    task_timeout_seconds: Seconds = Field(
        300.0, description="A worker that computes longer on one batch is ended, and its document fails"
    )
    batch_chars: Count = Field(
        BATCH_CHARS, description="About how many characters a worker is given at a time"
    )
    block_tokens: Annotated[int, Field(ge=0)] = Field(
        0, description="How many tokens a compiled network encodes at a time on a CPU; 0 is what suits most"
    )
    shard_chars: Count = Field(
        8_000_000, description="About how many characters make a shard, the checkpoint"
    )

    text_field: Annotated[str, Field(min_length=1)] = Field(
        "text", description="Field or column with the text"
    )
    id_field: Annotated[str, Field(min_length=1)] = Field("id", description="Field or column with the id")
    max_object_bytes: Bytes = Field(5 * 1024**3, description="Larger objects are rejected")
    max_unpacked_bytes: Bytes = Field(
        100 * 1024**3, description="Packed objects that hold more than this are rejected"
    )
    max_expansion: Count = Field(
        1_000, description="Packed objects that hold more than this times their own size are rejected"
    )
    max_nesting: Count = Field(3, description="Archives nested deeper are rejected")
    max_records: Count = Field(10_000_000, description="Objects with more records are rejected")
    max_record_bytes: Bytes = Field(64 * 1024**2, description="Longer records are rejected")
    max_document_chars: Count = Field(50_000_000, description="Longer documents are rejected")

    max_attempts: Count = Field(3, description="The repair schedule gives a set up after so many runs")
    repair_cron: Annotated[str, Field(pattern=r"^(@\w+|(\S+\s+){4}\S+)$")] = Field(
        "*/5 * * * *", description="When the repair schedule looks for sets to run again"
    )
    repairs_per_tick: Count = Field(20, description="At most so many sets are repaired in one tick")
    backfills_per_tick: Count = Field(
        20, description="At most so many sets are brought to a new model in one tick"
    )
    work_days: Count = Field(
        7, description="What failed runs have left under work/ is removed after so many days"
    )

    @property
    def loader(self) -> str:
        """The function that loads the extractor in each worker, as `module:function`."""
        return LOADERS.get(self.extractor, self.extractor)

    @property
    def runs_pipeline(self) -> bool:
        """Whether `model` is run, by an extractor of ours; another one may need no pipeline at all."""
        return self.extractor in LOADERS

    @property
    def pool_options(self) -> dict[str, Any]:
        """What a worker pool of this deployment is made with: arguments of `ExtractionPool`."""
        return {
            "model": self.model,
            "device": self.device,
            "components": self.components,
            "workers": self.workers,
            "timeout_s": self.task_timeout_seconds,
            "normalize": self.normalize,
            "loader": self.loader,
            "batch_chars": self.batch_chars,
            "block_tokens": self.block_tokens,
        }

    @classmethod
    def load(cls) -> Self:
        """Read the environment.

        Raises:
            SettingsError: naming every variable that is wrong, one line each.
        """
        try:
            return cls()
        except ValidationError as error:
            raise SettingsError("\n".join(_explain(fault) for fault in error.errors())) from error

    @property
    def places(self) -> Places:
        """Inbox and results.

        Raises:
            SettingsError: one of them is not set. They have no default: a bucket name that somebody
                else may own is no place to send texts to.
        """
        missing = [f"NER_{name.upper()}" for name in ("inbox", "results") if getattr(self, name) is None]
        if missing or self.inbox is None or self.results is None:
            raise SettingsError(f"{' and '.join(missing)} must be set, in the form s3://BUCKET/PREFIX/")
        if _overlap(self.inbox, self.results):
            raise SettingsError(
                f"NER_RESULTS: {self.results} and NER_INBOX: {self.inbox} lie one in the other; "
                "results would be taken for uploads. Use two prefixes side by side"
            )
        return Places(self.inbox, self.results)

    @property
    def read_options(self) -> ReadOptions:
        """What a reader accepts, and under which names a record carries its text and its id."""
        limits = ReadLimits(
            max_object_bytes=self.max_object_bytes,
            max_unpacked_bytes=self.max_unpacked_bytes,
            max_expansion=self.max_expansion,
            max_nesting=self.max_nesting,
            max_document_chars=self.max_document_chars,
            max_record_bytes=self.max_record_bytes,
            max_records=self.max_records,
        )
        return ReadOptions(limits=limits, fields=Fields(text=self.text_field, id=self.id_field))


def _overlap(one: S3Location, other: S3Location) -> bool:
    return one.bucket == other.bucket and (one.key.startswith(other.key) or other.key.startswith(one.key))


def _explain(fault: Any) -> str:
    """Say which variable is wrong, and how, in one line."""
    name = f"NER_{str(fault['loc'][0]).upper()}"
    given = os.environ.get(name, fault["input"])
    return f"{name}: {fault['msg'].removeprefix('Value error, ')} (got {given!r})"
