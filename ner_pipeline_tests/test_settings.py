"""The settings: a wrong one is one clear line that names it."""

import pytest

from ner_pipeline.errors import SettingsError
from ner_pipeline.settings import Settings
from ner_pipeline.storage.locations import S3Location


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    for name in (
        "NER_INBOX",
        "NER_RESULTS",
        "NER_DEVICE",
        "NER_WORKERS",
        "NER_SETTLE_SECONDS",
        "NER_EXTRACTOR",
    ):
        monkeypatch.delenv(name, raising=False)


def test_the_environment_is_read_and_typed(monkeypatch):
    monkeypatch.setenv("NER_INBOX", "s3://bucket/in")
    monkeypatch.setenv("NER_RESULTS", "s3://bucket/out/")
    monkeypatch.setenv("NER_SETTLE_SECONDS", "2.5")
    settings = Settings.load()
    assert settings.places.inbox == S3Location("bucket", "in/")
    assert settings.places.results == S3Location("bucket", "out/")
    assert settings.settle_seconds == 2.5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NER_INBOX", "bucket/in"),
        ("NER_INBOX", "s3://"),
        ("NER_DEVICE", "tpu"),
        ("NER_WORKERS", "many"),
        ("NER_WORKERS", "-1"),
        ("NER_SETTLE_SECONDS", "-1"),
        ("NER_EXTRACTOR", "not a function"),
    ],
)
def test_a_wrong_value_ends_with_one_line_that_names_the_variable_and_the_value(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    [line] = str(caught.value).splitlines()
    assert line.startswith(f"{name}: ")
    assert repr(value) in line


@pytest.mark.parametrize(("value", "workers"), [(None, 0), ("auto", 0), ("0", 0), ("3", 3)])
def test_workers_may_be_a_number_or_as_many_as_there_are_cores(monkeypatch, value, workers):
    if value is not None:
        monkeypatch.setenv("NER_WORKERS", value)
    assert Settings.load().workers == workers


def test_all_wrong_values_are_named_at_once(monkeypatch):
    monkeypatch.setenv("NER_WORKERS", "many")
    monkeypatch.setenv("NER_DEVICE", "tpu")
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    assert sorted(line.partition(":")[0] for line in str(caught.value).splitlines()) == [
        "NER_DEVICE",
        "NER_WORKERS",
    ]


def test_inbox_and_results_have_no_default():
    with pytest.raises(SettingsError, match="NER_INBOX and NER_RESULTS must be set"):
        _ = Settings.load().places


@pytest.mark.parametrize("results", ["s3://bucket/in/out/", "s3://bucket/", "s3://bucket/in/"])
def test_results_inside_the_inbox_are_refused(results):
    with pytest.raises(SettingsError, match="NER_RESULTS"):
        _ = Settings(inbox="s3://bucket/in/", results=results).places


def test_two_prefixes_that_only_begin_alike_are_no_overlap():
    assert Settings(inbox="s3://bucket/in/", results="s3://bucket/in-results/").places
