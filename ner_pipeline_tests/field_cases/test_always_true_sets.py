"""What is always true of sets, whatever is uploaded and however often: FIELD_CASES 3 to 6, with O04 and O05.

3. Listed = ok + empty + rejected + failed + skipped.      4. Any action done twice counts once.
5. Distinct keys never share a partition key, run key or output.      6. All outputs share one schema.
"""

import unicodedata
from datetime import UTC, datetime
from itertools import permutations

import duckdb
import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ner_pipeline.documents import doc_id
from ner_pipeline.inference.spans import Span
from ner_pipeline.settings import Places
from ner_pipeline.storage.document_sets import group_inbox, partition_key
from ner_pipeline.storage.inbox import InboxState, TickLimits, plan_tick
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import ListedObject
from ner_pipeline.storage.tables import ENTITIES, OUTCOMES

T0 = datetime(2026, 1, 15, 12, tzinfo=UTC)

# Each example is a whole run, so there are fewer. All share a world, in which each takes a prefix of its own.
whole_runs = settings(
    max_examples=max(2, settings.default.max_examples // 50),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def new_world(world):
    """Give the world with an inbox and results in which nothing has happened yet, once for each example."""
    bucket, used = world.places.inbox.bucket, []

    def make():
        used.append(1)
        world.places = Places(S3Location(bucket, f"{len(used)}/in/"), S3Location(bucket, f"{len(used)}/out/"))
        world.settings = world.settings.model_copy(
            update={"inbox": world.places.inbox, "results": world.places.results}
        )
        world.cursor = None
        return world

    return make


FILES = {
    "good.txt": b"Bob met Ann",
    "blank.txt": b" \n",
    "nothing.txt": b"",
    "fails.txt": b"FAIL",
    "binary.txt": b"\x00\x01\x02\x03" * 20,
    "lines.jsonl": b'{"text":"Carl"}\nnot json\n\n{"text":7}\n{"text":" "}\n{"text":"FAIL too"}\n',
    "cut.jsonl": b'{"text":"Dora"}\n{"text":"Em',
    "rows.csv": b'id,text\n1,Fay\n2,\n3,a,b,c\n4,"Gus\n',
    "broken.gz": b"\x1f\x8b broken",
    "no.parquet": b"no parquet at all",
    "page.unknown": b"\x89PNG\r\n\x1a\n",
}


@whole_runs
@given(names=st.lists(st.sampled_from(sorted(FILES)), min_size=1, unique=True), loose=st.booleans())
@example(names=sorted(FILES), loose=False)
@example(names=sorted(FILES), loose=True)
def test_every_listed_document_has_exactly_one_outcome(new_world, names, loose):
    world = new_world()
    for name in names:
        world.upload(name if loose else f"news/{name}", FILES[name], marked=False)
    [request] = world.tick()
    if loose:
        world.delete(names[0])
    assert world.run(request.partition_key).success
    rows = world.rows("outcomes", request.partition_key)
    assert {row["source_key"].rpartition("/")[2] for row in rows} == set(names)
    assert len({row["doc_id"] for row in rows}) == len(rows)
    counts = pd.Series([row["outcome"] for row in rows]).value_counts().to_dict()
    assert counts == {what: n for what, n in world.manifest(request.partition_key).documents.items() if n}
    assert sum(counts.values()) == len(rows)
    assert set(counts) <= {"ok", "empty", "rejected", "failed", "skipped"}
    assert len(world.rows("entities", request.partition_key)) == sum(row["entities"] for row in rows)


actions = st.lists(st.sampled_from(["upload", "tick", "run"]), min_size=2, max_size=6)


@whole_runs
@given(actions)
def test_whatever_is_done_twice_counts_once(new_world, repeated):
    """An upload of the same bytes, a tick from the same cursor, a run of the same set, in any order."""
    world = new_world()
    world.upload("news/a.txt", "Bob met Ann", marked=False)
    before, asked = world.cursor, world.tick()
    run_keys = {request.run_key for request in asked}
    world.run("news")
    texts = list(world.pool.asked)
    for action in repeated:
        if action == "upload":
            world.upload("news/a.txt", "Bob met Ann", marked=False)
            assert world.tick() == []
        elif action == "tick":
            world.cursor = before
            assert {request.run_key for request in world.tick()} <= run_keys
        else:
            assert world.run("news").success
    assert world.entities("news") == ["Bob", "Ann"]
    assert world.outcomes("news") == {"a.txt": "ok"}
    assert world.pool.asked == texts
    assert world.keys_below("entities/") == ["document_set=news/entities.parquet"]


planes = st.characters(codec="utf-8", exclude_characters="\0")
names = st.text(planes, min_size=1, max_size=12) | st.text("aA./é_- ,%+", min_size=1, max_size=8)


@st.composite
def twins(draw):
    """Distinct keys, many of which differ by case, by Unicode form, by their suffix or by a folder."""
    keys = set()
    for name in draw(st.lists(names, min_size=1, max_size=6)):
        keys |= {name, name.upper(), name.lower(), name.swapcase()}
        keys |= {unicodedata.normalize(form, name) for form in ("NFC", "NFD", "NFKC")}
        keys |= {
            f"{name}#0",
            f"{name}#1",
            f"{name}.json",
            f"{name}.txt",
            f"{name}/a",
            f"{name}/a/b",
            f"{name}/",
            f"a/{name}",
        }
    return sorted(keys)


@given(twins(), st.integers(1, 3))
def test_no_two_keys_share_anything(keys, ticks):
    """Over several ticks, so that the loose files come in several batches."""
    inbox, results = S3Location("bucket", "in/"), S3Location("bucket", "out/")
    state, requests = InboxState(epoch="e"), []
    for tick in range(ticks):
        listed = [ListedObject(f"in/{key}", "e", 1, T0) for key in keys[tick::ticks] + keys[:tick]]
        sets = group_inbox(sorted(set(listed)), inbox)
        limits = TickLimits(settle_seconds=0, sets_per_tick=10_000)
        plan = plan_tick(sets, state, now=float(tick), limits=limits, listing=str(tick))
        state = plan.state
        requests += plan.requests
    by_name = {request.description.name: request.key for request in requests}
    assert len(set(by_name.values())) == len(by_name)
    assert len({request.run_key for request in requests}) == len(requests)
    outputs = [Layout(results).of_set(key).entities for key in by_name.values()]
    assert len(set(outputs)) == len(outputs)
    assert len({partition_key(key) for key in keys}) == len(keys)
    records = (None, 1, 2)
    assert len({doc_id(key, record) for key in keys for record in records}) == len(keys) * len(records)


def downloaded(world, table, folder):
    """Copy a table of all sets; give the paths of its files."""
    paths = []
    for name in world.keys_below(f"{table}/"):
        path = folder / table / name
        path.parent.mkdir(parents=True, exist_ok=True)
        key = f"{world.places.results.key}{table}/{name}"
        world.client.download_file(world.places.results.bucket, key, str(path))
        paths.append(str(path))
    return paths


def test_o04_o05_all_files_of_a_table_have_one_schema_and_read_as_one_in_any_order(world, tmp_path):
    """Three entities, none, a document that failed, and one with an id in a knowledge base."""
    world.pool.planted["Linked"] = [Span(0, 6, "WORD", "Q1")]
    for name, text in {"a": "Bob met Ann, Carl", "b": "nothing", "c": "FAIL", "d": "Linked"}.items():
        world.upload(f"{name}/{name}.txt", text, marked=False)
    assert world.work() == ["a", "b", "c", "d"]
    for table, schema in (("entities", ENTITIES), ("outcomes", OUTCOMES)):
        paths = downloaded(world, table, tmp_path)
        assert len(paths) == 4
        for path in paths:
            file = pq.read_schema(path)
            assert file.remove_metadata().equals(schema)
            assert file.metadata[b"ner_schema_version"]
        for order in permutations(paths):
            assert ds.dataset(list(order)).to_table().schema.remove_metadata().equals(schema)
    assert_offsets_are_integers_for_every_reader(tmp_path / "entities")


def assert_offsets_are_integers_for_every_reader(folder):
    paths = sorted(folder.glob("*/*.parquet"))
    for order in (paths, paths[::-1]):
        frame = pd.concat([pd.read_parquet(path) for path in order])
        assert {str(frame[column].dtype) for column in ("start", "end", "start_utf16")} == {"int64"}
        assert '"start":0,"end":3' in frame[["start", "end"]].to_json(orient="records")
        assert "\n0,3\n" in frame[["start", "end"]].to_csv(index=False)
    everything = pd.read_parquet(folder).sort_values(["document_set", "start"])
    assert everything["start"].tolist() == [0, 8, 13, 0]
    query = f"select typeof(start), kb_id from '{folder}/*/*.parquet' order by document_set, start"
    assert duckdb.sql(query).fetchall() == [("BIGINT", None)] * 3 + [("BIGINT", "Q1")]
