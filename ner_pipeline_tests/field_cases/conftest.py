"""The small world of `ner_pipeline_tests.world`, for the field cases that begin with an upload."""

from ner_pipeline_tests.world import instance, queue, retry_at_once, world

__all__ = ["instance", "queue", "retry_at_once", "world"]
