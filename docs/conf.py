"""Sphinx: `sphinx-build -W -n -b html docs build/docs`, with the installed package."""

from __future__ import annotations

import spirograd

project = "spirograd"
author = "spirograd contributors"
project_copyright = author
version = release = spirograd.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["examples"]

html_theme = "furo"
html_title = "spirograd"
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_theme_options = {"light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0072b2"}}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Notebooks are kept without outputs, and run for the pages.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_output_stderr = "remove"

autodoc_member_order = "groupwise"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_type_aliases = {name: name for name in ("DeviceLike", "DTypeLike", "npt.ArrayLike")}
# Types that have no page here, and prose before a colon, which napoleon takes for a type.
nitpick_ignore_regex = [
    (
        "py:class",
        r"(collections|numpy|npt|np|onnx|os|pathlib|typing)\..*|File|'?D(evice|Type)Like'?|TypeAliasForwardRef|"
        r"Params|Factor|Size|Activation|Averages?|~P|.*\.[FMR]|.* .*",
    )
]
