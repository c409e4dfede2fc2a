"""What `NER_DEVICE` may say, and what is said when it cannot be had."""

import subprocess
import sys
import types

import pytest

from ner_pipeline.errors import ModelError
from ner_pipeline.inference import device as device_module
from ner_pipeline.inference.device import Device, choose_device, parse_device


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("auto", "auto"), (" CPU ", "cpu"), ("gpu", "gpu:0"), ("gpu:3", "gpu:3"), ("GPU:07", "gpu:7")],
)
def test_known_values_are_read(spec, expected):
    assert parse_device(spec) == expected


@pytest.mark.parametrize("spec", ["", "cuda", "gpu:", "gpu:-1", "gpu:x", "gpu:1:2", "gpu 1", "gpu:²"])
def test_an_unknown_value_is_refused_with_the_allowed_ones(spec):
    with pytest.raises(ValueError, match="auto, cpu, gpu"):
        parse_device(spec)


@pytest.fixture
def cupy(monkeypatch):
    """Plants a CuPy that counts so many GPUs, or fails, or is not installed (None)."""

    def plant(count):
        def get_device_count():
            if isinstance(count, Exception):
                raise count
            return count

        runtime = types.SimpleNamespace(getDeviceCount=get_device_count)
        fake = types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
        find = device_module.importlib.util.find_spec
        spec = None if count is None else object()
        monkeypatch.setattr(
            device_module.importlib.util, "find_spec", lambda name: spec if name == "cupy" else find(name)
        )
        monkeypatch.setitem(sys.modules, "cupy", fake)

    return plant


def test_auto_takes_a_gpu_that_is_there_and_says_so(cupy):
    cupy(2)
    chosen = choose_device("auto")
    assert chosen.name == "gpu:0"
    assert chosen.gpu == 0
    assert "2 GPU" in chosen.why


@pytest.mark.parametrize(
    ("count", "why"), [(None, "not installed"), (0, "no GPU"), (RuntimeError("old driver"), "old driver")]
)
def test_auto_takes_the_cpu_otherwise_and_says_why(cupy, count, why):
    cupy(count)
    chosen = choose_device("auto")
    assert (chosen.name, chosen.gpu) == ("cpu", None)
    assert why in chosen.why


@pytest.mark.parametrize(
    ("count", "why"), [(None, "not installed"), (0, "no GPU"), (RuntimeError("old driver"), "old driver")]
)
def test_a_gpu_that_is_asked_for_and_not_there_is_an_error_with_the_remedy(cupy, count, why):
    cupy(count)
    with pytest.raises(ModelError, match=why) as info:
        choose_device("gpu")
    assert "ner-pipeline[gpu]" in str(info.value)
    assert "NER_DEVICE=cpu" in str(info.value)


def test_a_gpu_number_beyond_the_last_is_an_error(cupy):
    cupy(2)
    assert choose_device("gpu:1") == Device("gpu:1", "NER_DEVICE=gpu:1")
    with pytest.raises(ModelError, match=r"2 GPU"):
        choose_device("gpu:2")


def test_choosing_the_cpu_imports_neither_cupy_nor_spacy():
    code = (
        "import sys; from ner_pipeline.inference.device import choose_device; choose_device('cpu'); "
        "from ner_pipeline.inference import pool; "
        "sys.exit(bool({'cupy', 'spacy', 'thinc', 'numpy', 'dagster', 'boto3'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
