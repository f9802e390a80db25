"""Sphinx: `sphinx-build -W -n -b html docs build/docs`, with the installed package."""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path
from typing import Any

import spirograd

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import api_pages  # noqa: E402
import open_graph  # noqa: E402

project = "spirograd"
author = "spirograd contributors"
project_copyright = author
version = release = spirograd.__version__
repository = "https://github.com/spirograd/spirograd"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["examples"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "spirograd"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_baseurl = "https://spirograd.github.io/spirograd/"
html_copy_source = html_show_sourcelink = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options: dict[str, Any] = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0072b2"},
    "source_repository": repository,
    "source_branch": "main",
    "source_directory": "docs/",
}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# What a reader types, without prompts and output.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Notebooks hold their outputs: tools/notebooks.py runs them and compares.
nb_execution_mode = "off"

autosummary_generate = False  # api_pages.py writes the pages
autodoc_member_order = "groupwise"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_type_aliases = {name: name for name in ("DeviceLike", "DTypeLike", "npt.ArrayLike")}
# Types that have no page here, and prose before a colon, which napoleon takes for a type.
nitpick_ignore_regex = [
    ("py:obj", r"spirograd\.library\.register_fake"),  # a method of the same name stands before it
    (
        "py:class",
        r"(collections|numpy|npt|np|onnx|os|pathlib|typing)\..*|File|'?D(evice|Type)Like'?|TypeAliasForwardRef|"
        r"Params|Factor|Size|Activation|Averages?|~P|Kind|.*\.(ComplexHook|_Handles|[FMR])|.* .*",
    ),
]

# Placeholders, until there is a repository and a site of these names.
linkcheck_ignore = [r"https://(github\.com/spirograd|spirograd\.github\.io)/.*"]
linkcheck_anchors = False


def inventory(name: str, site: str) -> dict[str, tuple[str, str]]:
    """The names of another project's site, for links to them; nothing where it cannot be reached."""
    kept = HERE.parent / "build" / f"{name}.inv"
    if not kept.exists():
        try:
            with urllib.request.urlopen(f"{site}objects.inv", timeout=5) as answer:
                data = answer.read()
        except OSError:
            return {}
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(data)
    return {name: (site, str(kept))}


intersphinx_mapping = {
    **inventory("numpy", "https://numpy.org/doc/stable/"),
    **inventory("torch", "https://docs.pytorch.org/docs/stable/"),
}


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    source = api_pages.source_of(domain, info)
    return source and f"{repository}/blob/main/{source}"


def setup(app: Any) -> None:
    app.connect("builder-inited", api_pages.write)
    app.connect("html-page-context", open_graph.describe)
    app.connect("html-page-context", api_pages.prepare, priority=400)  # before the theme draws its menu
