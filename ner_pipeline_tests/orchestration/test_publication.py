"""The publication protocol: killed after any of its puts, or crossed by somebody else before any of them."""

import pytest

from ner_pipeline.orchestration.assets import entities as publication
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.manifests import UNCONDITIONAL, Baseline, read_baseline
from ner_pipeline.storage.objects import get_bytes, put_bytes

STEPS = ("outcomes", "quarantine", "entities", "manifest")
"""In the order in which they are put."""


def interfere(monkeypatch, world, step, *, after):
    """Do something before or after one of the puts of the next publication."""
    publish_table, put_manifest = publication.publish_table, publication.put_manifest

    def table(client, place, path, **arguments):
        if not place.key.endswith(f"/{step}.parquet"):
            return publish_table(client, place, path, **arguments)
        return after(lambda: publish_table(client, place, path, **arguments), place)

    def manifest(client, layout, found, **arguments):
        if step != "manifest":
            return put_manifest(client, layout, found, **arguments)
        return after(lambda: put_manifest(client, layout, found, **arguments), layout.manifest)

    monkeypatch.setattr(publication, "publish_table", table)
    monkeypatch.setattr(publication, "put_manifest", manifest)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("former", ["nothing", "a result"])
def test_a_run_killed_after_any_put_leaves_readable_tables_and_the_next_one_completes_them(
    world, monkeypatch, step, former
):
    if former == "a result":
        world.process("news/a.txt", "Bob")
    world.upload("news/a.txt", "Ann met Carl")
    [request] = world.tick()

    def put_and_die(put, place):
        put()
        raise RuntimeError("planted: killed")

    with monkeypatch.context() as killed:
        interfere(killed, world, step, after=put_and_die)
        assert not world.run(request.partition_key, raise_on_error=False).success
    visible = world.keys_below("entities/")
    if visible:
        assert world.entities("news") in (["Bob"], ["Ann", "Carl"])
    assert world.run(request.partition_key).success
    assert world.entities("news") == ["Ann", "Carl"]
    assert world.manifest("news").tables["entities"].rows == 2


@pytest.mark.parametrize("step", STEPS)
def test_who_is_crossed_before_any_put_stops_there_and_overwrites_nothing(world, monkeypatch, step):
    world.process("news/a.txt", "Bob")
    world.upload("news/a.txt", "Ann")
    [request] = world.tick()
    crossed = []

    def somebody_else_first(put, place):
        content = get_bytes(world.client, place)
        crossed.append((place, content))
        put_bytes(world.client, place, content + b" ", Metadata={"by": "somebody else"})
        return put()

    with monkeypatch.context() as crossing:
        interfere(crossing, world, step, after=somebody_else_first)
        result = world.run(request.partition_key)
    [(place, content)] = crossed
    assert get_bytes(world.client, place) == content + b" "
    materialized = {event.asset_key.path[-1] for event in result.get_asset_materialization_events()}
    assert "entities" not in materialized


def test_a_put_that_is_tried_again_after_its_answer_was_lost_knows_its_own_work(world, monkeypatch):
    world.upload("news/a.txt", "Ann")
    [request] = world.tick()

    def put_twice(put, place):
        put()
        return put()

    for step in STEPS:
        interfere(monkeypatch, world, step, after=put_twice)
    result = world.run(request.partition_key)
    assert "entities" in {event.asset_key.path[-1] for event in result.get_asset_materialization_events()}
    assert world.entities("news") == ["Ann"]


def test_the_baseline_is_what_stands_and_says_what_does_not(world):
    layout = Layout(world.places.results).of_set("news")
    assert read_baseline(world.client, layout) == Baseline()
    world.process("news/a.txt", "Bob")
    baseline = read_baseline(world.client, layout)
    assert baseline.entities == world.manifest("news").tables["entities"].etag
    assert all(getattr(baseline, step) for step in STEPS)


def test_a_server_without_conditional_puts_still_publishes(world, monkeypatch):
    monkeypatch.setattr(
        "ner_pipeline.orchestration.resources.honours_conditions", lambda client, probe: False
    )
    world.process("news/a.txt", "Bob")
    world.process("news/a.txt", "Ann")
    assert world.entities("news") == ["Ann"]
    assert set(UNCONDITIONAL.model_dump().values()) == {None}
