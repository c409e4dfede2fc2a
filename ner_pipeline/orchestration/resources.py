"""The resources: S3 with its layout, and the model with its worker pool.

What they can do is written in `storage` and `inference`; here they get their configuration and their
lifetime. Each lives as long as the process of a run (or of a tick) does.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import dagster as dg
from dagster_aws.s3 import S3Resource
from pydantic import PrivateAttr

from ner_pipeline.errors import ObjectGone, StorageError
from ner_pipeline.inference.model_version import model_version
from ner_pipeline.inference.pipeline_files import find_pipeline
from ner_pipeline.inference.pool import ExtractionPool
from ner_pipeline.settings import Places, Settings
from ner_pipeline.storage.document_sets import SetDescription, read_description
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import ModelRecord
from ner_pipeline.storage.objects import StoredObject, download, honours_conditions, put_file

__all__ = ["Extraction", "SharedS3Resource", "Storage"]

_SCRATCH_PREFIX = "ner_pipeline-"


class SharedS3Resource(S3Resource):
    """S3, with one client for each configuration in a process.

    `S3Resource` makes a session at each call and at each start of a run or tick, at 0.3 s of CPU time: beside
    a sensor that looks every five seconds, a tenth of a core for ever.
    """

    def get_client(self) -> Any:
        """Give the client of this configuration; the AWS variables of the environment are part of it."""
        environment = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
        made_for = (self.model_dump_json(), environment)
        if made_for not in _clients:
            _clients[made_for] = super().get_client()
        return _clients[made_for]


_clients: dict[tuple[Any, ...], Any] = {}


class Storage(dg.ConfigurableResource[Any]):
    """Inbox and results on S3, and room on the local disk for files on their way."""

    s3: dg.ResourceDependency[S3Resource]
    settings: dg.ResourceDependency[Settings]

    _scratch: Path | None = PrivateAttr(None)

    @property
    def client(self) -> Any:
        """The boto3 client."""
        return self.s3.get_client()

    @property
    def places(self) -> Places:
        """Inbox and results."""
        return self.settings.places

    @property
    def layout(self) -> Layout:
        """Where things lie under RESULTS."""
        return Layout(self.places.results)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Self]:
        """Live for one process; leave nothing on the disk."""
        try:
            yield self
        finally:
            if self._scratch is not None:
                shutil.rmtree(self._scratch, ignore_errors=True)

    @cached_property
    def honours_conditions(self) -> bool:
        """Whether of two runs that publish at once only one can win."""
        return honours_conditions(self.client, self.layout.condition_probe)

    def description(self, key: str) -> SetDescription:
        """Tell which set stands behind a partition key.

        Raises:
            StorageError: no set does.
        """
        found = read_description(self.client, self.places.results, key)
        if found is None:
            raise StorageError(
                f"{key!r} is no known document set. The inbox sensor adds a set when it is uploaded; "
                "a partition added by hand has no documents behind it"
            )
        return found

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give an empty local folder that is removed afterwards."""
        with tempfile.TemporaryDirectory(dir=self._process_scratch()) as folder:
            yield Path(folder)

    def put(self, place: S3Location, path: Path) -> StoredObject:
        """Put a local file; give the version that it makes."""
        return StoredObject(uri=str(place), etag=put_file(self.client, place, path))

    def local_copy(self, stored: StoredObject) -> Path:
        """Give a local copy of one version of an object. It is fetched once in a process.

        Raises:
            ObjectGone: it is not there. What is staged is removed after publication, and a single asset or
                check that is started from the UI afterwards looks for it in vain.
            ObjectChanged: another version stands in its place.
        """
        copies = self._process_scratch() / "copies"
        copies.mkdir(exist_ok=True)
        path = copies / hashlib.sha256(f"{stored.etag} {stored.uri}".encode()).hexdigest()
        if not path.exists():
            partial = path.with_suffix(".part")
            try:
                download(self.client, S3Location.parse(stored.uri), partial, etag=stored.etag)
            except ObjectGone as error:
                raise ObjectGone(
                    f"{error}. If it was removed after publication, materialize all assets of this set again"
                ) from error
            partial.replace(path)
        return path

    def _process_scratch(self) -> Path:
        if self._scratch is None:
            _remove_scratch_of_the_dead()
            self._scratch = Path(tempfile.mkdtemp(prefix=f"{_SCRATCH_PREFIX}{os.getpid()}-"))
        return self._scratch


def _remove_scratch_of_the_dead() -> None:
    """A killed process cannot tidy up; the next one does."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_SCRATCH_PREFIX}*-*"):
        owner = folder.name.removeprefix(_SCRATCH_PREFIX).partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    with suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True


class Extraction(dg.ConfigurableResource[Any]):
    """The model, and the worker pool that computes with it. The pool starts when it is first used."""

    settings: dg.ResourceDependency[Settings]

    _pool: ExtractionPool | None = PrivateAttr(None)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Self]:
        """Live for one process; leave no worker behind."""
        try:
            yield self
        finally:
            self.close_pool()

    def close_pool(self) -> None:
        """End the workers. Others may be waiting for the memory, or the GPU, that they hold."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    @property
    def model_version(self) -> str:
        """The model version: told from the model's files, unloaded, or by a custom extractor itself."""
        return self.version_without_loading or self.pool.card.version

    @property
    def version_without_loading(self) -> str | None:
        """The model version as the model's files tell it; None for a custom extractor."""
        if not self.settings.runs_pipeline:
            return None
        directory = find_pipeline(self.settings.model)
        return model_version(directory, self.settings.components, self.settings.normalize)

    @property
    def pool(self) -> ExtractionPool:
        """The worker pool, shared by all shards that this process computes."""
        if self._pool is None:
            self._pool = ExtractionPool(**self.settings.pool_options)
        return self._pool

    @property
    def model_record(self) -> ModelRecord:
        """What a worker says of the model that it has loaded."""
        card = self.pool.card
        return ModelRecord(
            name=card.model,
            version=card.version,
            labels=card.labels,
            scripts=card.scripts,
            device=card.device,
            extractor=card.extractor,
            why=card.why,
        )
