"""What the compiled extractor keeps of the texts that it has seen is bounded, whatever they hold."""

from pathlib import Path

import pytest

spacy = pytest.importorskip("spacy")

from ner_pipeline.inference import load_extractor  # noqa: E402
from ner_pipeline.inference.compiled.extractor import CompiledExtractor  # noqa: E402
from ner_pipeline.inference.compiled.network import Network, Sizes  # noqa: E402
from ner_pipeline.inference.compiled.weights import read_weights  # noqa: E402
from ner_pipeline.inference.device import Device  # noqa: E402
from ner_pipeline_tests.inference.compiled.made_pipelines import made, save  # noqa: E402

CPU = Device("cpu", "a test")
BATCH_WORDS = 80
BATCHES = 100


@pytest.fixture(scope="module")
def directory(pipeline):
    return Path(pipeline("xx"))


@pytest.fixture(scope="module")
def batches():
    """Words that never come again, short and too long to be kept, with names between them."""
    words = [f"w{number}x" if number % 7 else f"{number}" * 30 for number in range(BATCHES * BATCH_WORDS)]
    return [
        [" ".join(words[start : start + BATCH_WORDS]), "Angela Merkel left Paris ."]
        for start in range(0, len(words), BATCH_WORDS)
    ]


def held_after_each(extractor, batches, wanted):
    for batch, spans in zip(batches, wanted, strict=True):
        assert extractor.extract(batch) == spans
        yield {**extractor.held, "strings": len(extractor._nlp.vocab.strings)}


def test_memory_is_bounded_and_results_stay_the_same(directory, batches):
    reference = load_extractor(str(directory), "cpu", prefer="spacy")
    wanted = [reference.extract(batch) for batch in batches]
    extractor = CompiledExtractor(directory, "ner", CPU, held_tokens=2_000, held_types=1_500)
    strings = len(extractor._nlp.vocab.strings)
    held = list(held_after_each(extractor, batches, wanted))
    assert max(sizes["tokens of known pieces"] for sizes in held) <= 2_000
    assert max(sizes["types"] for sizes in held) <= 1_500
    # Four for each word: the word, its norm and its shape, its suffix.
    assert max(sizes["strings"] for sizes in held) <= strings + 4 * 2_000
    assert held != sorted(held, key=lambda sizes: sizes["types"])


def test_rows_of_types_take_no_more_than_their_table(directory, batches):
    wanted = load_extractor(str(directory), "cpu").extract([batch[0] for batch in batches])
    network = Network(read_weights(spacy.load(directory), "ner"), sizes=Sizes(100, 100, 1 << 18))
    extractor = CompiledExtractor(directory, "ner", CPU, network=network)
    assert extractor.extract([batch[0] for batch in batches]) == wanted
    table = network._table
    assert table.rows.nbytes + table.projected.nbytes <= 1 << 18
    assert extractor.held["types"] > 10 * table.slots


def test_files_that_change_leave_the_loaded_pipeline_in_use(tmp_path, batches):
    directory = Path(save(made("xx"), tmp_path / "saved"))
    extractor = CompiledExtractor(directory, "ner", CPU, held_tokens=0, held_types=0)
    wanted = extractor.extract(batches[0])
    save(made("xx", labels=("OTHER",)), directory)
    assert [extractor.extract(batches[0]) for _ in range(3)] == [wanted] * 3
