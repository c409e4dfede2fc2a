"""The examples in docstrings are true."""

import doctest

import pytest

from ner_pipeline.storage import document_sets, locations


@pytest.mark.parametrize("module", [document_sets, locations])
def test_the_examples_of_a_module_hold(module):
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed
