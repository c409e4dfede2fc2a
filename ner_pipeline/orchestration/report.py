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
from ner_pipeline.storage.outcome_summary import DocumentAccount, ReasonCount

__all__ = [
    "MAX_CHART_BYTES",
    "NOTHING_COMPUTED",
    "bar_chart",
    "html_page",
    "label_table",
    "reason_table",
    "record_table",
    "shard_table",
    "throughput",
    "worst_table",
]

MAX_CHART_BYTES = 10 * 1024
"""Dagster keeps metadata in its database for ever, and sends all of it with every look at the page."""
NOTHING_COMPUTED = "nothing had to be computed"

MAX_BARS = 20
MAX_NAME_CHARS = 20
"""Longer names would leave no room for their bars."""
_WIDTH_INCHES = 3.6
"""The dialog in which Dagster shows the picture is 360 pixels wide, and does not scale it."""
_QUALITIES = ((100, 8), (100, 4), (80, 4), (60, 4), (45, 4))
"""Dots per inch, and colours. Eight are enough for smooth letters; true colour would take three times the
bytes, and so half the resolution."""

_BLOCKS = " ▏▎▍▌▋▊▉█"
_BAR_CELLS = 12


def record_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> dg.TableMetadataValue:
    """Make a table of plain cells; None becomes an empty one."""
    schema = dg.TableSchema(columns=[dg.TableColumn(column, "string") for column in columns])
    records = [dg.TableRecord({column: _cell(row.get(column)) for column in columns}) for row in rows]
    return dg.MetadataValue.table(records, schema=schema)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


def reason_table(counts: Iterable[ReasonCount]) -> dg.TableMetadataValue:
    """Make the table of outcomes and their reasons."""
    return record_table([dict(count) for count in counts], ["outcome", "reason", "documents"])


def label_table(counts: Mapping[str, int]) -> dg.TableMetadataValue:
    """Make the table of labels, the commonest first, each with a bar.

    Dagster shows pictures after a click only; these bars are seen at once.
    """
    largest, total = max(counts.values(), default=0), sum(counts.values())
    rows = [
        {"label": label, "entities": count, "share": f"{_percent(count / total)} {_bar(count / largest)}"}
        for label, count in _commonest_first(counts)
        if count
    ]
    return record_table(rows, ["label", "entities", "share"])


def _commonest_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _percent(part: float) -> str:
    """Give a percentage of three characters; a browser collapses spaces, but not this one."""
    text = f"{part:.0%}" if part >= 0.01 else "<1%"
    return text.rjust(3, "\N{FIGURE SPACE}")


def _bar(part: float) -> str:
    """Draw a part of the whole length in eighths of a character, at least one."""
    full, eighths = divmod(max(1, round(part * _BAR_CELLS * 8)), 8)
    return _BLOCKS[8] * full + _BLOCKS[eighths].strip()


def worst_table(worst: Sequence[DocumentAccount]) -> dg.MetadataValue[Any]:
    """Make the table of the documents that somebody should look at, or say in a word that there are none."""
    if not worst:
        return dg.MetadataValue.text("none")
    rows = [
        {
            "document": account.place,
            "outcome": f"{account.outcome}: {account.reason}",
            "detail": f"{account.detail} ({account.action})",
        }
        for account in worst
    ]
    return record_table(rows, ["document", "outcome", "detail"])


def shard_table(shards: Sequence[ShardDone]) -> dg.MetadataValue[Any]:
    """Make the table of the dearest shards, or say that there was none."""
    if not shards:
        return dg.MetadataValue.text(NOTHING_COMPUTED)
    dearest = sorted(shards, key=lambda shard: -shard.seconds)[:10]
    rows = [
        {
            "shard": shard.shard,
            "texts": shard.texts,
            "characters": shard.characters,
            "seconds": f"{shard.seconds:.2f}",
            "result": "computed" if shard.computed_now else "stood already",
        }
        for shard in dearest
    ]
    return record_table(rows, ["shard", "texts", "characters", "seconds", "result"])


def throughput(shards: Sequence[ShardDone]) -> float | None:
    """Characters a second over the shards; None when nothing had to be computed."""
    seconds = sum(shard.seconds for shard in shards)
    return sum(shard.characters for shard in shards) / seconds if seconds else None


def bar_chart(counts: Mapping[str, int], title: str) -> str:
    """Draw counts as a bar chart; give Markdown with the picture in it, of at most `MAX_CHART_BYTES`."""
    largest = _commonest_first(counts)[:MAX_BARS]
    if not largest:
        return "*nothing to draw*"
    for resolution, colours in _QUALITIES:
        picture = base64.b64encode(_draw(largest, resolution, colours)).decode()
        markdown = f"![{title}](data:image/png;base64,{picture})"
        if len(markdown) <= MAX_CHART_BYTES:
            return markdown
    return "*the chart is too large to be kept*"


def _draw(bars: Sequence[tuple[str, int]], resolution: int, colours: int) -> bytes:
    """Draw without pyplot, which would keep a global state and look for a display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH_INCHES, 0.2 + 0.22 * len(bars)), dpi=resolution, layout="constrained")
    axes = figure.subplots()
    places = range(len(bars), 0, -1)
    drawn = axes.barh(places, [count for _, count in bars], color="#4f43dd", height=0.7)
    axes.set_yticks(places, [_short(name) for name, _ in bars], fontsize=7.5)
    axes.bar_label(drawn, padding=3, fontsize=7.5, fmt="{:,.0f}")
    axes.tick_params(length=0)
    axes.xaxis.set_visible(False)
    axes.spines[:].set_visible(False)
    axes.margins(x=0.14, y=0.01)
    drawing = io.BytesIO()
    figure.savefig(drawing, format="png")
    return _with_few_colours(drawing, colours)


def _short(name: str) -> str:
    """Cut a long name. Names come from a model: a dollar sign must not be taken for mathematics."""
    cut = name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…"
    return cut.replace("$", r"\$")


def _with_few_colours(drawing: io.BytesIO, colours: int) -> bytes:
    from PIL import Image

    picture = io.BytesIO()
    with Image.open(drawing) as image:
        image.convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(picture, "PNG", optimize=True)
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
