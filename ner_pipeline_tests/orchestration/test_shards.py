"""Packing: deterministic, complete, balanced."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.orchestration.shards import LARGE_SHARE, TextToDo, pack_shards

lengths = st.lists(st.integers(1, 50_000) | st.integers(1, 50), max_size=200)


def texts_of(sizes):
    return [
        TextToDo(row, hashlib.sha256(str(row).encode()).hexdigest(), size) for row, size in enumerate(sizes)
    ]


@given(lengths, st.integers(1, 100_000))
def test_every_text_is_in_exactly_one_shard(sizes, target):
    packed = [text for shard in pack_shards(texts_of(sizes), target) for text in shard.texts]
    assert sorted(packed, key=lambda text: text.row) == texts_of(sizes)


@given(lengths, st.integers(1, 100_000), st.randoms())
def test_the_packing_does_not_depend_on_the_order_of_the_texts(sizes, target, random):
    texts = texts_of(sizes)
    expected = pack_shards(texts, target)
    random.shuffle(texts)
    assert pack_shards(texts, target) == expected


@given(lengths, st.integers(1, 100_000))
def test_no_shard_is_much_dearer_than_its_share_but_for_one_long_text(sizes, target):
    shards = pack_shards(texts_of(sizes), target)
    for shard in shards:
        share = sum(sizes) / max(1, len(shards))
        longest = max(text.characters for text in shard.texts)
        assert shard.characters <= share + max(longest, share * LARGE_SHARE) + 1


def test_the_dearest_shard_comes_first_and_small_texts_stay_in_table_order():
    shards = pack_shards(texts_of([10] * 1000 + [4000]), 2500)
    costs = [shard.characters for shard in shards]
    assert costs == sorted(costs, reverse=True)
    small = [shard for shard in shards if len(shard.texts) > 1]
    assert all(
        [text.row for text in shard.texts] == sorted(text.row for text in shard.texts) for shard in small
    )


def test_the_digest_follows_from_the_texts_alone():
    one = pack_shards([TextToDo(0, "a", 5), TextToDo(1, "b", 5)], 100)
    other = pack_shards([TextToDo(7, "b", 5), TextToDo(9, "a", 5)], 100)
    assert [shard.digest for shard in one] == [shard.digest for shard in other]


def test_nothing_to_do_is_no_shard():
    assert pack_shards([], 100) == []
