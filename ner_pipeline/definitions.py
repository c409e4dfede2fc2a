"""The one place where all is wired.

`build_defs` is the seam for tests and for deployments; `defs` is what `workspace.yaml` loads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from dagster_aws.s3 import S3Resource

from ner_pipeline.orchestration.assets.documents import documents, incoming_documents
from ner_pipeline.orchestration.assets.entities import entities
from ner_pipeline.orchestration.assets.entity_report import entity_report
from ner_pipeline.orchestration.assets.merged_entities import merged_entities
from ner_pipeline.orchestration.assets.raw_entities import raw_entities
from ner_pipeline.orchestration.checks import all_checks
from ner_pipeline.orchestration.handover import handover_io_manager
from ner_pipeline.orchestration.jobs import process_document_set
from ner_pipeline.orchestration.resources import Extraction, SharedS3Resource, Storage
from ner_pipeline.orchestration.schedules import backfill_schedule, build_repair_schedule
from ner_pipeline.orchestration.sensors import build_inbox_sensor, cancel_sensor, failure_sensor
from ner_pipeline.settings import Settings

__all__ = ["build_defs", "defs"]


def build_defs(
    *,
    settings: Settings | None = None,
    s3: S3Resource | None = None,
    extra_checks: Sequence[dg.AssetChecksDefinition] = (),
    resource_overrides: Mapping[str, Any] | None = None,
    executor: dg.ExecutorDefinition | None = None,
) -> dg.Definitions:
    """Wire assets, checks, sensors, schedules, the job and the resources.

    Args:
        settings: by default those of the environment.
        s3: by default plain boto3, which reads AWS_ENDPOINT_URL, profiles, roles and credentials itself.
        extra_checks: further asset checks; a blocking one on `merged_entities` holds publication back.
        resource_overrides: resources to put in the place of ours, by key.
        executor: by default a run computes in its own process, whose worker pool uses the cores; a
            deployment may spread the steps over machines instead.
    """
    settings = settings or Settings.load()
    constant_settings = dg.ResourceDefinition.hardcoded_resource(settings)
    s3 = s3 or SharedS3Resource()
    resources: dict[str, Any] = {
        "s3": s3,
        "settings": settings,
        "storage": Storage(s3=s3, settings=constant_settings),
        "extraction": Extraction(settings=constant_settings),
        "io_manager": handover_io_manager,
        **(resource_overrides or {}),
    }
    return dg.Definitions(
        assets=[incoming_documents, documents, raw_entities, merged_entities, entities, entity_report],
        asset_checks=[*all_checks, *extra_checks],
        jobs=[process_document_set],
        sensors=[build_inbox_sensor(settings.tick_seconds), failure_sensor, cancel_sensor],
        schedules=[build_repair_schedule(settings.repair_cron), backfill_schedule],
        resources=resources,
        executor=executor or dg.in_process_executor,
    )


defs = build_defs()
