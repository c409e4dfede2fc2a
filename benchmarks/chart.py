"""The throughput of each way as a chart for the README, readable on a light and on a dark page.

    python -m benchmarks.chart

draws `docs/images/throughput.svg` from `.local/bench.json`. No figure in it is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.report import BENCH
from benchmarks.ways import BOUND

CHART = Path(__file__).parents[1] / "docs" / "images" / "throughput.svg"

GREY, BLUE = "#8b949e", "#2f81f7"
"""Both can be read on white and on black."""


def draw(bench: Mapping[str, Any], path: Path) -> None:
    """Draw a bar for each way, the slowest at the top."""
    ways = [way for way in bench["ways"] if way["name"] != BOUND]
    ways.sort(key=lambda way: -way["tokens_per_s"])
    rates = [way["tokens_per_s"] for way in ways]
    colours = [BLUE if way["name"].startswith("compiled") else GREY for way in ways]
    # The same figures give the same bytes, and text stays text.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "throughput", "text.color": GREY}):
        figure = Figure(figsize=(8, 0.42 * len(ways) + 0.5), layout="constrained")
        axes = figure.subplots()
        bars = axes.barh([way["name"] for way in ways], rates, color=colours, height=0.62)
        axes.bar_label(bars, [f"{rate:,}" for rate in rates], padding=4, fontsize=9)
        axes.set_title("tokens per second, text in to entities out", loc="left", fontsize=10)
        axes.margins(x=0.14)
        axes.xaxis.set_visible(False)
        axes.tick_params(colors=GREY, length=0)
        axes.spines[:].set_visible(False)
        figure.savefig(path, transparent=True, metadata={"Date": None})


def main() -> None:
    draw(json.loads(BENCH.read_text()), CHART)


if __name__ == "__main__":
    main()
