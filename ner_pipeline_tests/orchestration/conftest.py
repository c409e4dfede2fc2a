"""A small world: S3 over loopback, a Dagster instance in a temporary folder, and an extractor made by hand.

The extractor finds capitalised words. It computes in the test's own process, so that these tests show what
the orchestration does; real workers and models are tried in `inference` and `integration`.
"""

import io
import re
from dataclasses import dataclass, field

import dagster as dg
import pyarrow.parquet as pq
import pytest
from dagster_aws.s3 import S3Resource

from ner_pipeline.definitions import build_defs
from ner_pipeline.errors import WorkerFault
from ner_pipeline.inference.ledger import TextResult
from ner_pipeline.inference.spans import Span
from ner_pipeline.settings import Settings
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import ModelRecord, read_manifest
from ner_pipeline.storage.objects import get_bytes, list_objects, put_bytes

UP_TO_PUBLICATION = ("documents", "raw_entities", "merged_entities", "entities")

FAILS = "FAIL"
"""A text with this word fails, as if its worker had died over it."""


@dataclass
class FakePool:
    """Finds capitalised words. Remembers which texts it was asked for."""

    asked: list = field(default_factory=list)
    faults: list = field(default_factory=list)
    """Exceptions to raise, one for each coming extraction."""
    planted: dict = field(default_factory=dict)
    """Spans to give for certain texts, in the place of the right ones."""
    fails_always: bool = False
    loaded_version: str = ""
    """The version of the model that the workers have loaded, where it is not the planned one."""

    def extract(self, texts):
        if self.faults:
            raise self.faults.pop(0)
        for identity, text in texts:
            self.asked.append(text)
            if FAILS in text or self.fails_always:
                yield TextResult(identity, outcome="failed", reason="worker_died", detail="planted")
            else:
                yield TextResult(identity, self.planted.get(text) or words(text), seconds=0.001)


def words(text):
    return [Span(match.start(), match.end(), "WORD") for match in re.finditer(r"\b[A-Z]\w+", text)]


class FakeExtraction(dg.ConfigurableResource):
    """Stands in for `Extraction`."""

    pool: dg.ResourceDependency[FakePool]
    model_version: str = "model1"

    @property
    def version_without_loading(self):
        return self.model_version

    def close_pool(self):
        """Nothing to end."""

    @property
    def model_record(self):
        return ModelRecord(
            name="fake 1.0",
            version=self.pool.loaded_version or self.model_version,
            labels=("WORD",),
            device="cpu",
            extractor="fake",
            why="made by hand",
        )


@dataclass
class World:
    """What a test does: upload, tick, run, look."""

    client: object
    places: object
    instance: dg.DagsterInstance
    pool: FakePool
    settings: Settings
    model_version: str = "model1"
    extra_checks: tuple = ()
    cursor: str | None = None
    _built: tuple = ()

    @property
    def defs(self):
        wanted = (self.settings, self.model_version, self.extra_checks)
        if not self._built or self._built[0] != wanted:
            self._built = (wanted, self._build())
        return self._built[1]

    def _build(self):
        extraction = FakeExtraction(
            pool=dg.ResourceDefinition.hardcoded_resource(self.pool), model_version=self.model_version
        )
        return build_defs(
            settings=self.settings,
            s3=S3Resource(),
            extra_checks=self.extra_checks,
            resource_overrides={"extraction": extraction},
        )

    def upload(self, name, content, *, marked=True):
        content = content.encode() if isinstance(content, str) else content
        put_bytes(self.client, self.places.inbox / name, content)
        if marked and "/" in name:
            put_bytes(self.client, self.places.inbox / f"{name.partition('/')[0]}/_SUCCESS", b"")

    def tick(self):
        """Let the inbox sensor look once, and let the daemon do what it asks for, but for starting runs."""
        repository = self.defs.get_repository_def()
        sensor = repository.get_sensor_def("inbox_sensor")
        resources = repository.get_top_level_resources()
        with dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, resources=resources, repository_def=repository
        ) as context:
            result = sensor(context)
        if isinstance(result, dg.SkipReason):
            return []
        for request in result.dynamic_partitions_requests:
            self.instance.add_dynamic_partitions("document_sets", list(request.partition_keys))
        self.cursor = result.cursor
        return list(result.run_requests)

    def schedule(self, name):
        """Let a schedule look once; give the run requests, or the reason why there are none."""
        repository = self.defs.get_repository_def()
        resources = repository.get_top_level_resources()
        with dg.build_schedule_context(
            instance=self.instance, resources=resources, repository_def=repository
        ) as context:
            found = repository.get_schedule_def(name)(context)
        return found.skip_message if isinstance(found, dg.SkipReason) else found

    def run(self, key, *, run_config=None, tags=None, raise_on_error=True):
        """Run the job over one set, up to the publication: the report takes as long as all the rest."""
        job = self.defs.resolve_job_def("process_document_set")
        return job.execute_in_process(
            instance=self.instance,
            partition_key=key,
            asset_selection=[dg.AssetKey(name) for name in UP_TO_PUBLICATION],
            run_config=run_config,
            tags=tags,
            raise_on_error=raise_on_error,
        )

    def process(self, name, content):
        """Upload a document, tick, and run what the sensor asks for."""
        self.upload(name, content)
        [request] = self.tick()
        result = self.run(request.partition_key)
        assert result.success
        return request.partition_key

    def rows(self, table, key):
        place = getattr(Layout(self.places.results).of_set(key), table)
        return pq.read_table(io.BytesIO(get_bytes(self.client, place))).to_pylist()

    def entities(self, key):
        return [row["entity"] for row in self.rows("entities", key)]

    def outcomes(self, key):
        return {row["doc_id"].rpartition("/")[2]: row["outcome"] for row in self.rows("outcomes", key)}

    def manifest(self, key):
        return read_manifest(self.client, Layout(self.places.results).of_set(key))

    def published(self, key):
        """The bytes of everything that readers can see of a set."""
        layout = Layout(self.places.results).of_set(key)
        tables = (layout.entities, layout.outcomes, layout.quarantine, layout.manifest)
        texts = [
            S3Location(layout.results.bucket, entry.key)
            for entry in list_objects(self.client, layout.all_documents)
        ]
        return {place: get_bytes(self.client, place) for place in (*tables, *texts)}

    def keys_below(self, folder):
        place = self.places.results / folder
        return [entry.key.removeprefix(place.key) for entry in list_objects(self.client, place)]


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def world(client, places, instance):
    settings = Settings(inbox=str(places.inbox), results=str(places.results), settle_seconds=0)
    return World(client, places, instance, FakePool(), settings)


@pytest.fixture
def worker_fault():
    return WorkerFault("planted: the pool broke")


@pytest.fixture(autouse=True)
def _retry_at_once(monkeypatch):
    monkeypatch.setattr("ner_pipeline.orchestration.faults.MAX_DELAY_S", 0)
