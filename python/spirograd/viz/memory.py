"""Memory over time."""

from __future__ import annotations

import os
from typing import Any

from ..base.docstrings import described_by
from ..base.keywords import naming_keywords
from .style import COLOURS, PALE, PICTURE, axes_of

__all__ = ["plot_memory"]


@naming_keywords
@described_by(PICTURE)
def plot_memory(prof: Any, path: str | os.PathLike[str] | None = None, title: str = "Memory in use") -> Any:
    """Draws the memory that tensors and runs held while a profile ran, with the regions of `record_function` as bands.

    Args:
        prof: a `profiler.profile` that has ended; with profile_memory=True each allocation is a step.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: nothing ran, so that there is no memory to draw.
    """
    timeline = prof.memory_timeline()
    if not timeline:
        raise ValueError("plot_memory: the profile has no memory; run something inside it, with profile_memory=True")
    figure, axes = axes_of(title, "time, ms", "memory, MiB")
    regions = [e for e in prof.events() if e.category == "user_annotation" and e.cpu_parent is None]
    names = list(dict.fromkeys(e.name for e in regions))
    for region in regions:
        shade = PALE[(names.index(region.name) + 1) % len(PALE)]
        axes.axvspan(region.start / 1e3, region.end / 1e3, color=shade, alpha=0.5, linewidth=0)
        if region.duration > 0.012 * len(region.name) * prof.wall:  # there is room for it
            axes.annotate(
                region.name,
                ((region.start + region.end) / 2e3, 1),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="bottom",
                fontsize=8,
            )
    for i, (device, steps) in enumerate(timeline.items()):
        times = [time / 1e3 for time, _ in steps] + [prof.wall / 1e3]
        sizes = [size / 2**20 for _, size in steps]
        colour, peak = COLOURS[i % len(COLOURS)], max(sizes)
        axes.step(
            times,
            [*sizes, sizes[-1]],
            where="post",
            color=colour,
            linewidth=1.5,
            label=f"{device}, {peak:.0f} MiB at most",
        )
        axes.fill_between(times, [*sizes, sizes[-1]], step="post", color=colour, alpha=0.15, linewidth=0)
        axes.axhline(peak, color=colour, linestyle=":", linewidth=1.0)
    axes.set_xlim(0, prof.wall / 1e3)
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize=11, pad=18 if regions else 6)
    axes.legend(frameon=False, loc="lower right")
    if path is not None:
        figure.savefig(path)
    return figure
