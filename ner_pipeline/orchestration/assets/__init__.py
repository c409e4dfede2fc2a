"""The asset graph: from an upload to published entities.

    incoming_documents ─> documents ─> raw_entities ─> merged_entities ─> entities ─> entity_report

One module for each asset. What an asset computes is written in functions that know no Dagster; the
asset itself reads its handover, calls them, and hands over. `definitions` puts them together.
"""
