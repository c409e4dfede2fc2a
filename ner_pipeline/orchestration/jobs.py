"""The one job: a document set from its upload to its report. Also what each of its runs carries along."""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from ner_pipeline.orchestration.partitions import SET_VERSION_TAG, document_sets

__all__ = ["max_runtime_s", "process_document_set", "run_request"]

BASE_RUNTIME_S = 1800
SLOWEST_BYTES_PER_S = 5_000
"""A run that is slower than this is taken for hung. The spaCy extractor reads some 60,000 characters a second
on one core; compressed input may hold ten times its size in text."""

process_document_set = dg.define_asset_job(
    "process_document_set",
    selection=dg.AssetSelection.assets(
        "documents", "raw_entities", "merged_entities", "entities", "entity_report"
    ),
    partitions_def=document_sets,
    description="Read, extract, merge, validate, publish and report one document set.",
)


def max_runtime_s(total_bytes: int) -> int:
    """How long a run over so many bytes may take before run monitoring ends it."""
    return BASE_RUNTIME_S + total_bytes // SLOWEST_BYTES_PER_S


def run_request(
    key: str, *, run_key: str, total_bytes: int, set_version: str, tags: Mapping[str, str]
) -> dg.RunRequest:
    """Ask for a run of one version of one set."""
    tags = {
        "dagster/max_runtime": str(max_runtime_s(total_bytes)),
        SET_VERSION_TAG: set_version,
        **tags,
    }
    return dg.RunRequest(run_key=run_key, partition_key=key, tags=tags, job_name=process_document_set.name)
