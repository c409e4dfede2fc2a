"""The one partitions definition: a document set is a partition of every asset.

Keys come from `storage.document_sets.partition_key` and nowhere else.
"""

import dagster as dg

__all__ = ["INTERRUPTED_TAG", "MODEL_VERSION_TAG", "SET_VERSION_TAG", "document_sets"]

document_sets = dg.DynamicPartitionsDefinition(name="document_sets")

SET_VERSION_TAG = "ner/set_version"
"""The tag of a run, and of what it materializes: which set version it is about."""

MODEL_VERSION_TAG = "ner/model_version"
"""The tag of a backfill run: which model version it brings a set to."""

INTERRUPTED_TAG = "ner/interrupted"
"""The tag of a run that failed because the services were ended: it is no attempt of its set."""
