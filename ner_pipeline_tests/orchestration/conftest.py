"""The small world of `ner_pipeline_tests.world`, for every test of the orchestration."""

from ner_pipeline_tests.world import instance, queue, retry_at_once, worker_fault, world

__all__ = ["instance", "queue", "retry_at_once", "worker_fault", "world"]
