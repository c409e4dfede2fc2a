from itertools import islice

import pytest

from ner_pipeline_tests.documents.fuzzing import Case, cases, check, corpus


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_in_a_file_all_of_it_is_accounted_for(seed, full):
    for case in islice(cases(seed), 20_000 if full else 100):
        check(case)


def test_a_case_survives_being_written_as_bytes():
    assert all(Case.of_bytes(case.to_bytes()) == case for case in corpus())
