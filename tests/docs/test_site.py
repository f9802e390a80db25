"""The site: a page for each name of the API, and several versions side by side."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import site_version
import spirograd as sg

publish_doctree = pytest.importorskip("docutils.core").publish_doctree

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.append(str(DOCS))
api_pages = importlib.import_module("api_pages")
open_graph = importlib.import_module("open_graph")


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    writer = api_pages.Pages(tmp_path_factory.mktemp("api"))
    for module in api_pages.MODULES:
        writer.write_module(module)
    return writer


@pytest.fixture
def pages(writer: Any) -> Path:
    return Path(writer.folder)


def test_each_function_and_class_has_a_page(writer: Any, pages: Path) -> None:
    titles = {p.read_text(encoding="utf-8").splitlines()[2] for p in pages.glob("*/*.rst")}
    for module in (sg, sg.nn, sg.nn.functional, sg.optim, sg.linalg):
        for name in api_pages.names_of(module):
            assert writer.owner[id(getattr(module, name))] in titles, name
    assert {"spirograd.relu", "spirograd.tensor", "spirograd.Tensor", "spirograd.nn.Linear"} <= titles


def test_pages_differ_in_more_than_case(pages: Path) -> None:
    paths = [str(p.relative_to(pages)) for p in pages.rglob("*.rst")]
    assert len({p.lower() for p in paths}) == len(paths) > 1000


def test_an_object_has_one_page(pages: Path) -> None:
    assert sg.special.erf is sg.erf and (pages / "spirograd" / "erf.rst").exists()
    assert not (pages / "spirograd.special" / "erf.rst").exists()
    assert "~spirograd.erf\n" in (pages / "spirograd.special.rst").read_text(encoding="utf-8")


def test_methods_that_are_functions_lead_there(pages: Path) -> None:
    page = (pages / "spirograd" / "Tensor.rst").read_text(encoding="utf-8")
    assert "   ~spirograd.exp\n" in page and "backward" not in page.split(":exclude-members:")[1]


def test_the_index_has_each_module_once() -> None:
    index = (DOCS / "api.rst").read_text(encoding="utf-8")
    listed = [line.strip().removeprefix("api/") for line in index.splitlines() if line.startswith("   api/")]
    assert sorted(listed) == sorted(api_pages.MODULES)


def test_long_lists_are_grouped_by_kind(pages: Path) -> None:
    page = (pages / "spirograd.nn.rst").read_text(encoding="utf-8")
    kinds = {part.partition("\n")[0]: part for part in page.split(".. rubric:: ")[1:]}
    assert len(kinds) > 10 and max(part.count("\n   ") for part in kinds.values()) <= 40
    (convolutions,) = (part for part in kinds.values() if "   Conv2d\n" in part)
    assert "   ConvTranspose1d\n" in convolutions and "   Linear\n" not in convolutions
    short = (pages / "spirograd.viz.rst").read_text(encoding="utf-8")
    assert ".. rubric:: Functions\n" in short and short.count(".. rubric::") == 1


def test_every_module_with_a_page_has_names(pages: Path) -> None:
    for module in api_pages.MODULES:
        assert ".. autosummary::" in (pages / f"{module}.rst").read_text(encoding="utf-8"), module


def test_source_of_an_object() -> None:
    link = api_pages.source_of("py", {"module": "spirograd.nn", "fullname": "Linear"})
    file, _, line = link.removeprefix("python/spirograd/").partition("#L")
    source = Path(inspect.getsourcefile(sg.nn.Linear) or "").read_text(encoding="utf-8").splitlines()
    decorated = [text for text in source[int(line) - 1 :] if not text.startswith("@")]
    assert file == "nn/linear.py" and decorated[0].startswith("class Linear")
    assert api_pages.source_of("py", {"module": "spirograd", "fullname": "relu"}) is None


def test_pages_tell_their_title_and_first_paragraph() -> None:
    app = SimpleNamespace(config=SimpleNamespace(project="spirograd", html_baseurl="https://here/"))
    tree = publish_doctree('Title\n=====\n\nA "first" & short\nparagraph.\n\nAnother.\n')
    context = {"title": "<code>sg.fit</code> &amp; co", "pageurl": "https://here/fit.html", "metatags": "<meta>"}
    open_graph.describe(app, "fit", "page.html", context, tree)
    assert context["metatags"].splitlines() == [
        "<meta>",
        '<meta property="og:site_name" content="spirograd">',
        '<meta property="og:type" content="website">',
        '<meta property="og:title" content="sg.fit &amp; co">',
        '<meta property="og:description" content="A &quot;first&quot; &amp; short paragraph.">',
        '<meta property="og:url" content="https://here/fit.html">',
    ]
    context = {}
    open_graph.describe(app, "search", "search.html", context, publish_doctree("word " * 100))
    description = context["metatags"].splitlines()[4]
    assert description.count("word") == 39 and description.endswith('word…">')


def test_versions(tmp_path: Path) -> None:
    built, site = tmp_path / "built", tmp_path / "site"
    built.mkdir()
    (built / "index.html").write_text("pages")
    for name in ("main", "v0.9.0", "v0.10.0"):
        names = site_version.add(built, site, name)
    assert names == json.loads((site / "versions.json").read_text(encoding="utf-8")) == ["v0.10.0", "v0.9.0", "main"]
    assert (site / "v0.9.0" / "index.html").read_text(encoding="utf-8") == "pages"
    assert "url=v0.10.0/" in (site / "index.html").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="no name of a folder"):
        site_version.add(built, site, "../elsewhere")
