"""The one partitions definition: a document set is a partition of every asset.

Keys come from `storage.document_sets.partition_key` and nowhere else.
"""

import dagster as dg

__all__ = ["SET_VERSION_TAG", "document_sets"]

document_sets = dg.DynamicPartitionsDefinition(name="document_sets")

SET_VERSION_TAG = "ner/set_version"
"""The tag of a run, and of what it materializes: which set version it is about."""
