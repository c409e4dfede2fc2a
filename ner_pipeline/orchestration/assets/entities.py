"""`entities`: publication.

The set is listed again first: if it has changed meanwhile, nothing is published and the old result
stands. Then each table is replaced by one atomic put, the manifest last (`storage.manifests`).
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg

from ner_pipeline.errors import StorageError, Superseded
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import MergedSet, PublishedSet
from ner_pipeline.orchestration.partitions import SET_VERSION_TAG, document_sets
from ner_pipeline.orchestration.published import published_version
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.orchestration.superseded import report_superseded
from ner_pipeline.settings import Settings
from ner_pipeline.storage.document_sets import DocumentSet, MemberRecord, list_set
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import Manifest, publish_table, put_manifest, read_manifest
from ner_pipeline.storage.objects import copy_object, delete_objects, list_objects

__all__ = ["entities"]


@dg.asset(partitions_def=document_sets, output_required=False, group_name="ner", kinds={"s3", "parquet"})
def entities(
    context: dg.AssetExecutionContext,
    merged_entities: MergedSet,
    storage: Storage,
    settings: dg.ResourceParam[Settings],
) -> Iterator[dg.Output[PublishedSet]]:
    """The published entities of the set: one Parquet object, replaced at once."""
    read = merged_entities.raw.plan.read
    with explained_faults(context):
        document_set = list_set(storage.client, storage.places.inbox, storage.description(read.key))
        if document_set.version != read.set_version:
            report_superseded(
                context, f"{read.name} is at version {document_set.version} now, this was {read.set_version}"
            )
            return
        try:
            manifest = _publish(storage, document_set, merged_entities, context.run_id)
        except Superseded as error:
            report_superseded(context, str(error))
            return
        try:
            _tidy(storage, merged_entities, manifest, context.run_id, timedelta(days=settings.work_days))
        except StorageError as error:
            context.log.warning(f"published, but not everything under work/ could be removed: {error}")
    yield dg.Output(
        PublishedSet(merged=merged_entities, manifest=manifest),
        metadata={
            "entities on S3": dg.MetadataValue.path(manifest.tables["entities"].uri),
            "dagster/uri": manifest.tables["entities"].uri,
            "dagster/partition_row_count": manifest.entities,
            **{f"documents {outcome}": count for outcome, count in manifest.documents.items()},
            "model": str(manifest.model),
            "device": manifest.model.device,
            "set version": manifest.set_version,
        },
        data_version=published_version(manifest.set_version, manifest.model.version),
        tags={SET_VERSION_TAG: manifest.set_version},
    )


def _publish(storage: Storage, document_set: DocumentSet, merged: MergedSet, run_id: str) -> Manifest:
    """Put the texts, outcomes, quarantine, entities and the manifest, in this order.

    The texts have a place of their own for each set version, so no reader of a former one is disturbed.
    """
    read = merged.raw.plan.read
    layout, baseline = storage.layout.of_set(read.key), read.baseline
    former = read_manifest(storage.client, layout)
    texts = copy_object(storage.client, read.documents, layout.documents(read.set_version))
    tables = {
        name: publish_table(
            storage.client,
            getattr(layout, name),
            storage.local_copy(merged.tables[name]),
            rows=merged.rows[name],
            condition=getattr(baseline, name),
        )
        for name in ("outcomes", "quarantine", "entities")
    }
    manifest = Manifest(
        partition_key=read.key,
        name=read.name,
        kind=read.kind,
        members=tuple(map(MemberRecord.of, document_set.members)),
        set_version=read.set_version,
        model=merged.model,
        documents=merged.documents,
        outcomes=merged.outcomes,
        entities=merged.rows["entities"],
        entities_by_label=merged.entities_by_label,
        tables=tables,
        documents_table=texts,
        former_set_version=_former_version(former, read.set_version),
        characters=read.characters,
        inference_seconds=sum(shard.seconds for shard in merged.raw.shards),
        run_id=run_id,
        published_at=datetime.now(UTC),
    )
    put_manifest(storage.client, layout, manifest, condition=baseline.manifest)
    return manifest


def _former_version(former: Manifest | None, set_version: str) -> str | None:
    """Give the set version whose result is replaced; a result made again keeps its predecessor."""
    if former is None:
        return None
    return former.former_set_version if former.set_version == set_version else former.set_version


def _tidy(storage: Storage, merged: MergedSet, manifest: Manifest, run_id: str, keep: timedelta) -> None:
    """Remove what only this run and this computation needed, and what others left behind long ago.

    The texts of the version before this one stay until the next publication: somebody may just be reading
    the former entities. So do the handovers of assets, which are small, so that the report can be made again.
    """
    read = merged.raw.plan.read
    layout = storage.layout.of_set(read.key)
    done_with = (S3Location.parse(merged.raw.plan.work).key, layout.run(run_id).key)
    horizon = datetime.now(UTC) - keep
    kept = {
        layout.documents(str(version)).key for version in (manifest.set_version, manifest.former_set_version)
    }
    work = [
        entry.key
        for entry in list_objects(storage.client, layout.all_work)
        if not entry.key.startswith(layout.asset_handovers.key)
        and (entry.key.startswith(done_with) or entry.last_modified < horizon)
    ]
    texts = [
        entry.key for entry in list_objects(storage.client, layout.all_documents) if entry.key not in kept
    ]
    delete_objects(storage.client, layout.results.bucket, work + texts)
