"""The picture of a step on the front page is what `graph()` and `plan()` say today."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("graphviz", reason="the picture needs graphviz")
pytest.importorskip("pygraphviz", exc_type=ImportError, reason="and pygraphviz")
import step_picture


@pytest.mark.needs("the order of GCC")
def test_the_picture_shows_the_step() -> None:
    picture = step_picture.PICTURE.read_text(encoding="utf-8")
    source = step_picture.draw(step_picture.step()).source
    edges = re.findall(r"^\t(\w+) -> (\w+)$", source, re.MULTILINE)
    drawn = re.findall(r"<title>(\w+)&#45;&gt;(\w+)</title>", picture)
    assert edges and sorted(drawn) == sorted(edges), "run tools/step_picture.py"
    for frame, rest in re.findall(r"subgraph (cluster\d+) \{(.*?)\n\t\}", source, re.DOTALL):
        label = re.search(r'label="([^"]+)"', rest)
        assert label and f"<title>{frame}</title>" in picture and f">{label[1]}</text>" in picture
    for number, operation in re.findall(r"^\t\t(n\d+) \[label=(\w+)\]$", source, re.MULTILINE):
        node = re.search(rf"<title>{number}</title>.*?<text [^>]*>([^<]*)</text>", picture, re.DOTALL)
        assert node and node[1] == operation, f"{number} is {operation}; run tools/step_picture.py"
