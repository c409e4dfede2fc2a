"""What a run does when its set has moved on: it stops without a fault, and says so.

Nothing is published and the old result stands. Whoever has superseded this run publishes: the sensor
asks for a run of the new version, or the other run has won the conditional put.
"""

from __future__ import annotations

import dagster as dg

__all__ = ["report_superseded"]


def report_superseded(context: dg.AssetExecutionContext, reason: str) -> None:
    """Note it on the asset and in the log; the assets downstream are skipped."""
    context.log.warning(f"Superseded, nothing is published: {reason}")
    context.log_event(
        dg.AssetObservation(
            asset_key=context.asset_key, partition=context.partition_key, metadata={"superseded": reason}
        )
    )
