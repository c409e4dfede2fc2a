"""What people see of a published set: tables and a chart for the asset's page, and an HTML page.

Pure: rows in, values out. Nothing is read or written here.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from ner_pipeline.orchestration.handover import ShardDone

__all__ = [
    "MAX_CHART_BYTES",
    "bar_chart",
    "html_page",
    "reason_table",
    "record_table",
    "shard_table",
    "throughput",
]

MAX_CHART_BYTES = 10 * 1024
"""Dagster keeps metadata in its database for ever, and sends all of it with every look at the page."""
MAX_BARS = 20
_RESOLUTIONS = (100, 80, 60, 45, 30)


def record_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> dg.TableMetadataValue:
    """Make a table of plain cells; None becomes an empty one."""
    schema = dg.TableSchema(columns=[dg.TableColumn(column, "string") for column in columns])
    records = [dg.TableRecord({column: _cell(row.get(column)) for column in columns}) for row in rows]
    return dg.MetadataValue.table(records, schema=schema)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


def reason_table(outcomes: Iterable[tuple[str, str, int]]) -> dg.TableMetadataValue:
    """Make the table of outcomes and their reasons."""
    rows = [{"outcome": outcome, "reason": reason, "documents": count} for outcome, reason, count in outcomes]
    return record_table(rows, ["outcome", "reason", "documents"])


def shard_table(shards: Sequence[ShardDone]) -> dg.TableMetadataValue:
    """Make the table of the dearest shards."""
    dearest = sorted(shards, key=lambda shard: -shard.seconds)[:10]
    rows = [
        {
            "shard": shard.shard,
            "texts": shard.texts,
            "characters": shard.characters,
            "seconds": f"{shard.seconds:.2f}",
            "in this run": "computed" if shard.computed_now else "stood already",
        }
        for shard in dearest
    ]
    return record_table(rows, ["shard", "texts", "characters", "seconds", "in this run"])


def throughput(shards: Sequence[ShardDone]) -> float | None:
    """Characters a second over the shards; None when nothing had to be computed."""
    seconds = sum(shard.seconds for shard in shards)
    return sum(shard.characters for shard in shards) / seconds if seconds else None


def bar_chart(counts: Mapping[str, int], title: str) -> str:
    """Draw counts as a bar chart; give Markdown with the picture in it, of at most `MAX_CHART_BYTES`."""
    largest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_BARS]
    if not largest:
        return "*nothing to draw*"
    for resolution in _RESOLUTIONS:
        picture = base64.b64encode(_draw(largest, title, resolution)).decode()
        markdown = f"![{title}](data:image/png;base64,{picture})"
        if len(markdown) <= MAX_CHART_BYTES:
            return markdown
    return "*the chart is too large to be kept*"


def _draw(bars: Sequence[tuple[str, int]], title: str, resolution: int) -> bytes:
    """Draw without pyplot, which would keep a global state and look for a display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 0.6 + 0.24 * len(bars)), dpi=resolution, layout="constrained")
    axes = figure.subplots()
    # Names come from a model; a dollar sign in one must not be taken for mathematics.
    names = [name.replace("$", r"\$") for name, _ in reversed(bars)]
    drawn = axes.barh(names, [count for _, count in reversed(bars)], color="#4f43dd", height=0.7)
    axes.bar_label(drawn, padding=3, fontsize=7, fmt="{:,.0f}")
    axes.set_title(title, fontsize=9, loc="left")
    axes.tick_params(labelsize=7, length=0)
    axes.xaxis.set_visible(False)
    axes.spines[:].set_visible(False)
    axes.margins(x=0.14)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", pil_kwargs={"optimize": True})
    return picture.getvalue()


def html_page(
    title: str, facts: Mapping[str, Any], labels: Mapping[str, int], samples: Sequence[dict[str, Any]]
) -> str:
    """Make the page for people: facts, counts, and sample documents with their entities marked.

    Args:
        samples: `text`, `ents` (dicts of start, end, label, within the text) and `title` of each.
    """
    from spacy import displacy

    # displaCy escapes the text, but neither titles nor labels.
    safe = [
        {**sample, "title": html.escape(sample["title"]), "ents": _safe_labels(sample)} for sample in samples
    ]
    marked = displacy.render(safe, style="ent", manual=True, page=False, jupyter=False) if safe else ""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{_STYLE}</style></head><body>",
            f"<h1>{html.escape(title)}</h1>",
            _html_table(facts),
            "<h2>Entities by label</h2>",
            _html_table(labels),
            "<h2>Samples</h2>",
            marked or "<p>No document has an entity.</p>",
            "</body></html>",
        ]
    )


def _safe_labels(sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**entity, "label": html.escape(entity["label"])} for entity in sample["ents"]]


def _html_table(rows: Mapping[str, Any]) -> str:
    cells = (
        f"<tr><th>{html.escape(str(key))}</th><td>{html.escape(_cell(value))}</td></tr>"
        for key, value in rows.items()
    )
    return f"<table>{''.join(cells)}</table>"


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem;
       padding: 0 1rem; color: #1c1b2e }
table { border-collapse: collapse }
th { text-align: left; font-weight: 500; padding-right: 2rem; color: #555 }
th, td { border-bottom: 1px solid #e6e4f2; padding-top: .2rem; padding-bottom: .2rem; vertical-align: top }
.entities { white-space: pre-wrap; overflow-wrap: anywhere; margin-bottom: 2rem }
"""
