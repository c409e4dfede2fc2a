"""Which processes a pool has, and how much goes to each: decided without starting any."""

import json

import pytest

from ner_pipeline.inference.extractor import DEFAULT_LOADER, LOADERS
from ner_pipeline.inference.pool.batching import Batching
from ner_pipeline.inference.pool.topology import (
    COMPILED_NETWORK,
    Topology,
    choose_topology,
    cut_of,
    is_compiled,
)
from ner_pipeline.inference.windows import CutRule


@pytest.mark.parametrize(
    ("gpu", "compiled", "network", "expected"),
    [
        (False, True, "", Topology(16, "", 1)),
        (False, False, "", Topology(16, "", 8)),
        (True, True, "", Topology(16, COMPILED_NETWORK, 1)),
        (True, False, "", Topology(1, "", 1)),
        (True, False, "mine:load_network", Topology(16, "mine:load_network", 1)),
        (False, False, "mine:load_network", Topology(16, "mine:load_network", 8)),
    ],
    ids=["cpu", "cpu-spacy", "gpu", "gpu-spacy", "gpu-own-network", "cpu-own-network"],
)
def test_one_process_has_the_gpu_and_the_cores_do_the_rest(gpu, compiled, network, expected):
    assert choose_topology(gpu=gpu, compiled=compiled, network=network, workers=16) == expected


def test_only_what_the_default_loader_loads_may_be_compiled(model):
    assert is_compiled(DEFAULT_LOADER, model, "ner")
    assert not is_compiled(DEFAULT_LOADER, model, "all")
    assert not is_compiled(LOADERS["spacy"], model, "ner")
    assert not is_compiled("mine:load", "any", "ner")


@pytest.mark.parametrize("loader", [DEFAULT_LOADER, LOADERS["spacy"]])
def test_texts_are_cut_as_the_pipeline_bears_it(loader, tmp_path):
    files = {"config.cfg": '[nlp]\nlang = "en"\npipeline = ["t"]\n[components.t]\nfactory = "transformer"\n'}
    meta = {"lang": "en", "name": "t", "version": "1.0"}
    for name, text in (files | {"meta.json": json.dumps(meta)}).items():
        (tmp_path / name).write_text(text)
    assert cut_of(loader, str(tmp_path), "t").whole_chars > 0
    assert cut_of("mine:load", str(tmp_path), "t") == CutRule()


def sizes(workers=4, cost=1, batch_chars=1_000):
    return Batching.of(workers, cost, batch_chars, chars_per_worker=2_000)


def test_dearer_characters_make_smaller_batches_and_more_workers():
    plain, dear = sizes(), sizes(cost=10)
    assert (plain.share(10**9), dear.share(10**9)) == (1_000, 100)
    assert not plain.needs_worker(1_000, there=1)
    assert dear.needs_worker(1_000, there=1)


def test_what_is_left_is_shared_out_among_the_workers():
    of_much = Batching.of(4, 1, 120_000, 1)
    assert of_much.share(10**9) == 120_000
    assert of_much.share(400_000) == 50_000
    assert of_much.share(1) == 30_000


def test_no_more_workers_are_started_than_there_may_be():
    assert sizes().needs_worker(10**9, there=3)
    assert not sizes().needs_worker(10**9, there=4)


def test_reading_stops_when_enough_waits_or_too_much_is_held():
    assert sizes().wants_more(waiting=15_999, held=0)
    assert not sizes().wants_more(waiting=16_000, held=0)
    assert not sizes().wants_more(waiting=1, held=20_000_000)
    assert sizes().wants_more(waiting=0, held=20_000_000)


def test_many_workers_may_hold_what_they_need():
    many = Batching.of(100, 1, 240_000, 1)
    assert many.wants_more(waiting=1, held=100 * 240_000)
