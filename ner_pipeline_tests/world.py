"""A small world: S3 over loopback, a Dagster instance in a temporary folder, and an extractor made by hand.

The extractor finds capitalised words. It computes in the test's own process, so that these tests show what
the orchestration does; real workers and models are tried in `inference` and `integration`.
"""

import io
import re
import time
from dataclasses import dataclass, field

import dagster as dg
import pyarrow.parquet as pq
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from ner_pipeline.definitions import build_defs
from ner_pipeline.errors import WorkerFault
from ner_pipeline.inference.pool.ledger import TextResult
from ner_pipeline.inference.spans import Span
from ner_pipeline.settings import Settings
from ner_pipeline.storage.event_queue import EventQueue
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import ModelRecord, read_manifest
from ner_pipeline.storage.objects import delete_objects, get_bytes, list_objects, put_bytes

UP_TO_PUBLICATION = ("documents", "raw_entities", "merged_entities", "entities")

FAILS = "FAIL"
"""A text with this word fails, as if its worker had died over it."""
BREAKS = "BREAK"
"""A text with this word ends the whole run, until the pool is mended."""


@dataclass
class FakePool:
    """Finds capitalised words. Remembers which texts it was asked for."""

    asked: list = field(default_factory=list)
    faults: list = field(default_factory=list)
    """Exceptions to raise, one for each coming extraction."""
    planted: dict = field(default_factory=dict)
    """Spans to give for certain texts, in the place of the right ones."""
    fails_always: bool = False
    cut: set = field(default_factory=set)
    """Texts that are called approximate, as if they had been cut."""
    scripts: tuple = ()
    """The scripts that the model reads."""
    mended: bool = False
    loaded_version: str = ""
    """The version of the model that the workers have loaded, where it is not the planned one."""

    def extract(self, texts):
        if self.faults:
            raise self.faults.pop(0)
        for identity, text in texts:
            if BREAKS in text and not self.mended:
                raise RuntimeError("planted: the run breaks")
            self.asked.append(text)
            if FAILS in text or self.fails_always:
                yield TextResult(identity, outcome="failed", reason="worker_died", detail="planted")
            else:
                spans = self.planted.get(text) or words(text)
                yield TextResult(identity, spans, seconds=0.001, approximate=text in self.cut)


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
            scripts=self.pool.scripts,
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
    real_workers: bool = False
    """Whether the extractor of the settings computes, in processes of its own, or the pool made by hand."""
    cursor: str | None = None
    _built: tuple = ()

    @property
    def defs(self):
        wanted = (self.settings, self.model_version, self.extra_checks, self.real_workers)
        if not self._built or self._built[0] != wanted:
            self._built = (wanted, self._build())
        return self._built[1]

    def _build(self):
        extraction = FakeExtraction(
            pool=dg.ResourceDefinition.hardcoded_resource(self.pool), model_version=self.model_version
        )
        return build_defs(
            settings=self.settings,
            extra_checks=self.extra_checks,
            resource_overrides={} if self.real_workers else {"extraction": extraction},
        )

    def upload(self, name, content, *, marked=True):
        content = content.encode() if isinstance(content, str) else content
        put_bytes(self.client, self.places.inbox / name, content)
        if marked and "/" in name:
            put_bytes(self.client, self.places.inbox / f"{name.partition('/')[0]}/_SUCCESS", b"")

    def delete(self, *names):
        """Delete files from the inbox."""
        delete_objects(self.client, self.places.inbox.bucket, [self.places.inbox.key + n for n in names])

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

    def work(self):
        """Tick once, and run all that is asked for; give the partition keys."""
        requests = self.tick()
        for request in requests:
            assert self.run(request.partition_key, tags=request.tags).success
        return [request.partition_key for request in requests]

    def rows(self, table, key):
        place = getattr(Layout(self.places.results).of_set(key), table)
        return pq.read_table(io.BytesIO(get_bytes(self.client, place))).to_pylist()

    def schema(self, table, key):
        place = getattr(Layout(self.places.results).of_set(key), table)
        return pq.read_schema(io.BytesIO(get_bytes(self.client, place)))

    def texts(self, key):
        """The published text of each document."""
        stored = self.manifest(key).documents_table
        content = get_bytes(self.client, S3Location.parse(stored.uri))
        return {row["doc_id"]: row["text"] for row in pq.read_table(io.BytesIO(content)).to_pylist()}

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

    def all_rows(self, table):
        """The rows of all sets, as a reader gets them who reads the folder and knows of no set."""
        names = [name for name in self.keys_below(f"{table}/") if name.endswith(".parquet")]
        places = [self.places.results / f"{table}/{name}" for name in names]
        return [
            row
            for place in places
            for row in pq.read_table(io.BytesIO(get_bytes(self.client, place))).to_pylist()
        ]

    def keys_below(self, folder):
        place = self.places.results / folder
        return [entry.key.removeprefix(place.key) for entry in list_objects(self.client, place)]


@dataclass
class Queue:
    """The event queue, as S3 and as an operator see it."""

    client: object
    url: str

    def send(self, *bodies):
        for body in bodies:
            self.client.send_message(QueueUrl=self.url, MessageBody=body)

    def peek(self):
        """Receive what it holds, and leave it there."""
        messages = EventQueue(self.url).receive()
        self.wait_until_all_are_given_again()
        return messages

    def lose_all(self):
        queue = EventQueue(self.url)
        queue.delete(queue.receive())

    def held(self):
        """How many messages it holds, those included that somebody has received and not deleted."""
        return self._count("ApproximateNumberOfMessages") + self._count(
            "ApproximateNumberOfMessagesNotVisible"
        )

    def wait_until_all_are_given_again(self):
        while self._count("ApproximateNumberOfMessagesNotVisible"):
            time.sleep(0.1)

    def _count(self, name):
        answer = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=[name])
        return int(answer["Attributes"][name])


@event.listens_for(Engine, "connect")
def _spare_the_disk(connection, _record):
    """Let SQLite wait for no disk: of a test that a power failure ends, nobody reads the records."""
    connection.execute("PRAGMA synchronous=OFF")


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def world(client, places, instance):
    settings = Settings(inbox=str(places.inbox), results=str(places.results), settle_seconds=0)
    return World(client, places, instance, FakePool(), settings)


@pytest.fixture
def queue(world, _session):
    """A queue that S3 tells of everything that happens in the inbox, and that the sensor reads."""
    sqs = _session.client("sqs")
    bucket = world.places.inbox.bucket
    # Whoever received a message and did not delete it gets it again a second later.
    url = sqs.create_queue(QueueName=bucket, Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    told = {
        "QueueArn": arn,
        "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"],
        "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": world.places.inbox.key}]}},
    }
    world.client.put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"QueueConfigurations": [told]}
    )
    world.settings = world.settings.model_copy(update={"event_queue": url})
    return Queue(sqs, url)


@pytest.fixture
def worker_fault():
    return WorkerFault("planted: the pool broke")


@pytest.fixture(autouse=True)
def retry_at_once(monkeypatch):
    monkeypatch.setattr("ner_pipeline.orchestration.faults.MAX_DELAY_S", 0)
