"""Draws a small graph as SVG, where no program of Graphviz is there to do it.

Nodes stand in layers, each as near to what it is an operand of as it can be; an edge that spans several layers passes
through points in those between. Layers are put in an order with few crossings by the means of neighbours' places, and
then moved towards them (Sugiyama, Tagawa, Toda, 1981).
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

CHARACTER, LINE = 7.3, 22.0  # of a monospaced font of 12 px
BESIDE, BETWEEN = 14.0, 34.0  # pixels from node to node within a layer, and from layer to layer
SWEEPS = 8


@dataclass(eq=False)
class Box:
    """A node, or a point that an edge passes through: without cells.

    Attributes:
        cells: the texts of a record, or the only one of an ellipse.
        round: whether it is an ellipse.
        colours: of the ground, side by side.
    """

    cells: Sequence[str] = ()
    round: bool = False
    colours: Sequence[str] = ()
    before: list[Box] = field(default_factory=list)
    after: list[Box] = field(default_factory=list)
    depth: int = 0
    x: float = 0.0  # of the centre
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0


def svg(boxes: Mapping[str, Box], edges: Iterable[tuple[str, str]], down: bool) -> str:
    """The picture: from the left to the right, or from the top down."""
    for start, end in edges:
        boxes[start].after.append(boxes[end])
        boxes[end].before.append(boxes[start])
    for box in boxes.values():
        _measure(box, down)
    layers, lines = _layers(list(boxes.values()))
    _order(layers)
    width, height = _place(layers, down)
    shapes = [*(_line(line, down) for line in lines), *(_shape(box, down) for box in boxes.values())]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12" text-anchor="middle">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{"".join(shapes)}</svg>\n'
    )


def _measure(box: Box, down: bool) -> None:
    widths = [CHARACTER * len(cell) + 12 for cell in box.cells]
    stacked = down or box.round
    box.width = (max(widths) if stacked else sum(widths)) + (16 if box.round else 0)
    box.height = LINE * len(box.cells) if stacked else LINE


def _layers(boxes: list[Box]) -> tuple[list[list[Box]], list[list[Box]]]:
    """The layers with the points between, and what each edge passes through."""
    waiting = {id(box): len(box.after) for box in boxes}
    ready = [box for box in boxes if not box.after]
    while ready:
        box = ready.pop()
        for operand in box.before:
            operand.depth = max(operand.depth, box.depth + 1)
            waiting[id(operand)] -= 1
            if not waiting[id(operand)]:
                ready.append(operand)
    deepest = max(box.depth for box in boxes)
    layers: list[list[Box]] = [[] for _ in range(deepest + 1)]
    for box in reversed(boxes):
        layers[deepest - box.depth].append(box)
    lines = []
    for box in boxes:
        for end in list(box.after):
            line = [box, *(Box(depth=d) for d in range(box.depth - 1, end.depth, -1)), end]
            lines.append(line)
            if len(line) == 2:
                continue
            box.after.remove(end)
            end.before.remove(box)
            for here, there in pairwise(line):
                here.after.append(there)
                there.before.append(here)
                if there is not end:
                    layers[deepest - there.depth].append(there)
    return layers, lines


def _order(layers: list[list[Box]]) -> None:
    """Sorts each layer by the mean places of its neighbours, from both ends in turn."""
    places = {id(box): float(i) for layer in layers for i, box in enumerate(layer)}
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        for layer in layers if forward else reversed(layers):
            mean = {}
            for box in layer:
                near = [places[id(n)] for n in (box.before if forward else box.after)]
                mean[id(box)] = sum(near) / len(near) if near else places[id(box)]
            layer.sort(key=lambda box: mean[id(box)])
            places |= {id(box): float(i) for i, box in enumerate(layer)}


def _place(layers: list[list[Box]], down: bool) -> tuple[float, float]:
    """Sets the centres; returns the size of the picture."""
    across = {id(box): 0.0 for layer in layers for box in layer}
    for sweep in range(2 * SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            wanted = []
            for box in layer:
                near = [across[id(n)] for n in (*box.before, *box.after)]
                wanted.append(sum(near) / len(near) if near and sweep else across[id(box)])
            gaps = [(_extent(a, down) + _extent(b, down)) / 2 + BESIDE for a, b in pairwise(layer)]
            across |= {id(box): place for box, place in zip(layer, _apart(wanted, gaps), strict=True)}
    first = min(across[id(box)] - _extent(box, down) / 2 for layer in layers for box in layer) - 4
    last = max(across[id(box)] + _extent(box, down) / 2 for layer in layers for box in layer) + 4
    along = 4.0
    for layer in layers:
        thick = max(box.height if down else box.width for box in layer)
        for box in layer:
            box.x, box.y = across[id(box)] - first, along + thick / 2
            if not down:
                box.x, box.y = box.y, box.x
            if not box.cells:  # its edge passes straight through the layer
                box.width, box.height = (0.0, thick) if down else (thick, 0.0)
        along += thick + BETWEEN
    along += 4 - BETWEEN
    return (last - first, along) if down else (along, last - first)


def _extent(box: Box, down: bool) -> float:
    return box.width if down else box.height


def _apart(wanted: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Places near the wanted ones with these gaps between: halfway between moving all up and moving all down."""
    up, low = list(wanted), list(wanted)
    for i, gap in enumerate(gaps):
        up[i + 1] = max(up[i + 1], up[i] + gap)
    for i in reversed(range(len(gaps))):
        low[i] = min(low[i], low[i + 1] - gaps[i])
    return [(a + b) / 2 for a, b in zip(up, low, strict=True)]


def _line(line: list[Box], down: bool) -> str:

    def side(box: Box, sign: int) -> tuple[float, float]:
        return (box.x, box.y + sign * box.height / 2) if down else (box.x + sign * box.width / 2, box.y)

    text = "M{:.1f} {:.1f}".format(*side(line[0], 1))
    for here, there in pairwise(line):
        (x, y), (to_x, to_y) = side(here, 1), side(there, -1)
        mid_x, mid_y = (x + to_x) / 2, (y + to_y) / 2
        bend = f"{x:.1f} {mid_y:.1f} {to_x:.1f} {mid_y:.1f}" if down else f"{mid_x:.1f} {y:.1f} {mid_x:.1f} {to_y:.1f}"
        text += f" C{bend} {to_x:.1f} {to_y:.1f}"
        if not there.cells:
            text += " L{:.1f} {:.1f}".format(*side(there, 1))
    return f'<path d="{text}" fill="none" stroke="black" marker-end="url(#tip)"/>\n'


def _shape(box: Box, down: bool) -> str:
    if box.round:
        fill = box.colours[0] if box.colours else "white"
        return (
            f'<ellipse cx="{box.x:.1f}" cy="{box.y:.1f}" rx="{box.width / 2:.1f}" ry="{box.height / 2:.1f}" '
            f'fill="{fill}" stroke="black"/>\n{_text(box.cells[0], box.x, box.y)}'
        )
    left, top, parts = box.x - box.width / 2, box.y - box.height / 2, []
    for cell in box.cells:
        wide, high = (box.width, LINE) if down else (CHARACTER * len(cell) + 12, box.height)
        fill = box.colours[0] if box.colours else "white"
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="{fill}" '
            f'stroke="black"/>\n{_text(cell, left + wide / 2, top + high / 2)}'
        )
        left, top = (left, top + high) if down else (left + wide, top)
    return "".join(parts)


def _text(text: str, x: float, y: float) -> str:
    return f'<text x="{x:.1f}" y="{y + 4:.1f}">{html.escape(text)}</text>\n'
