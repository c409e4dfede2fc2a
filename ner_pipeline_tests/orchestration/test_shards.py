"""Packing: deterministic, complete, balanced."""

import hashlib

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.orchestration.shards import LARGE_SHARE, TEXTS_TO_DO, pack_shards

lengths = st.lists(st.integers(1, 50_000) | st.integers(1, 50), max_size=200)


def texts_of(sizes):
    digests = [hashlib.sha256(str(row).encode()).hexdigest() for row in range(len(sizes))]
    return pa.table([range(len(sizes)), digests, sizes], schema=TEXTS_TO_DO)


def contents(shards):
    return [(shard.digest, shard.texts.to_pylist()) for shard in shards]


@given(lengths, st.integers(1, 100_000))
def test_every_text_is_in_exactly_one_shard(sizes, target):
    packed = [text for shard in pack_shards(texts_of(sizes), target) for text in shard.texts.to_pylist()]
    assert sorted(packed, key=lambda text: text["row"]) == texts_of(sizes).to_pylist()


@given(lengths, st.integers(1, 100_000), st.randoms())
def test_the_packing_does_not_depend_on_the_order_of_the_texts(sizes, target, random):
    order = list(range(len(sizes)))
    random.shuffle(order)
    shuffled = texts_of(sizes).take(pa.array(order, pa.int64()))
    assert contents(pack_shards(shuffled, target)) == contents(pack_shards(texts_of(sizes), target))


@given(lengths, st.integers(1, 100_000))
def test_no_shard_is_much_dearer_than_its_share_but_for_one_long_text(sizes, target):
    shards = pack_shards(texts_of(sizes), target)
    for shard in shards:
        share = sum(sizes) / max(1, len(shards))
        longest = max(shard.texts["n_chars"].to_pylist())
        assert shard.characters == sum(shard.texts["n_chars"].to_pylist())
        assert shard.characters <= share + max(longest, share * LARGE_SHARE) + 1


def test_the_dearest_shard_comes_first_and_small_texts_stay_in_table_order():
    shards = pack_shards(texts_of([10] * 1000 + [4000]), 2500)
    costs = [shard.characters for shard in shards]
    assert costs == sorted(costs, reverse=True)
    rows = [shard.texts["row"].to_pylist() for shard in shards if len(shard.texts) > 1]
    assert rows
    assert all(of_shard == list(range(of_shard[0], of_shard[-1] + 1)) for of_shard in rows)


def test_the_digest_follows_from_the_texts_alone():
    one = pack_shards(pa.table([[0, 1], ["a", "b"], [5, 5]], schema=TEXTS_TO_DO), 100)
    other = pack_shards(pa.table([[7, 9], ["b", "a"], [5, 5]], schema=TEXTS_TO_DO), 100)
    assert [shard.digest for shard in one] == [shard.digest for shard in other]


def test_nothing_to_do_is_no_shard():
    assert pack_shards(TEXTS_TO_DO.empty_table(), 100) == []
