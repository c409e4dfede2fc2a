"""What Dagster does about our errors: try again, or stop with one clear message.

Faults of S3 and of the worker pool are tried again with a growing delay; everything else would fail
the same way again. Run retries are off: beyond these few seconds the repair schedule is the only way
back, so that two of them never restart one partition at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from ner_pipeline.errors import NerPipelineError

__all__ = ["explained_faults"]

Context = dg.OpExecutionContext | dg.AssetExecutionContext | dg.AssetCheckExecutionContext

MAX_RETRIES = 4
MAX_DELAY_S = 30


@contextmanager
def explained_faults(context: Context) -> Iterator[None]:
    """Run the body of an op or asset; let Dagster see our errors for what they are."""
    try:
        yield
    except NerPipelineError as error:
        if error.transient:
            op_context = (
                context if isinstance(context, dg.OpExecutionContext) else context.op_execution_context
            )
            delay = min(MAX_DELAY_S, 2**op_context.retry_number)
            context.log.warning(f"{error}; trying again in {delay} s at the earliest")
            raise dg.RetryRequested(max_retries=MAX_RETRIES, seconds_to_wait=delay) from error
        raise dg.Failure(description=str(error), allow_retries=False) from error
