"""`ner-pipeline bench`: the climb to the best size, and the texts it measures on."""

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from ner_pipeline import cli
from ner_pipeline.inference import bench
from ner_pipeline.inference.bench import Best, climb
from ner_pipeline.inference.made_texts import WordMaker, example_sentences, made_texts


class Machine:
    """A machine whose throughput at each size is known."""

    def __init__(self, rate: Callable[[int], float]) -> None:
        self.rate, self.tried = rate, []

    def __call__(self, size: int) -> float:
        self.tried.append(size)
        return self.rate(size)


def test_a_climb_ends_where_throughput_rises_no_more():
    machine = Machine(lambda size: min(size, 4_000))
    assert climb(machine, 500) == Best(4_000, 4_000)
    assert machine.tried == [500, 1_000, 2_000, 4_000, 8_000, 16_000]


def test_a_climb_goes_over_one_dip():
    rates = {1: 10.0, 2: 9.0, 4: 20.0, 8: 19.0, 16: 18.0}
    assert climb(rates.__getitem__, 1) == Best(4, 20.0)


def test_a_rise_within_the_noise_is_none():
    assert climb(lambda size: 100.0 + size / 1_000, 8) == Best(8, 100.008)


def test_made_texts_are_the_same_each_time_and_others_with_another_seed():
    sentences = example_sentences("en")
    one, two = (list(made_texts(sentences, chars=5_000)) for _ in range(2))
    assert one == two
    assert 5_000 <= sum(map(len, one)) < 6_000
    assert list(made_texts(sentences, chars=5_000, seed=1)) != one


def test_made_texts_have_few_words_over_and_over_and_ever_new_ones():
    words = " ".join(made_texts(example_sentences("en"), chars=400_000)).split()
    half, whole = len(set(words[: len(words) // 2])), len(set(words))
    assert 1.4 * half < whole < 0.2 * len(words)


def test_words_of_different_ranks_differ_and_rare_ones_are_longer():
    maker = WordMaker(example_sentences("en"))
    words = [maker.word(rank) for rank in range(1, 20_001)]
    assert len(set(words)) == len(words)
    assert len(words[0]) < len(words[-1])


@pytest.mark.parametrize("language", ["fr", "xx", "there-is-no-such-language"])
def test_every_language_has_sentences_to_start_from(language):
    assert all(made_texts(example_sentences(language), chars=1_000))


def test_the_command_compares_or_tunes_the_model_of_the_settings(monkeypatch):
    asked = []
    monkeypatch.setenv("NER_MODEL", "my_model")
    monkeypatch.setenv("NER_DEVICE", "cpu")
    monkeypatch.setattr(bench, "compare", lambda *arguments: asked.append(("compare", *arguments[:3])))
    monkeypatch.setattr(bench, "tune", lambda *arguments: asked.append(("tune", *arguments[:3])))
    for arguments in ([], ["--tune"], ["--tune", "--model", "other"]):
        assert CliRunner().invoke(cli.app, ["bench", *arguments]).exit_code == 0
    assert asked == [
        ("compare", "my_model", "cpu", "ner"),
        ("tune", "my_model", "cpu", "ner"),
        ("tune", "other", "cpu", "ner"),
    ]
