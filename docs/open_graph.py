"""What other sites show of a page that they link to: its title and its first paragraph (the Open Graph protocol)."""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes

MOST = 200  # characters of a description


def describe(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Adds the tags to the head of a page."""
    first = next(iter(tree.findall(nodes.paragraph)), None) if tree is not None else None
    text = " ".join(first.astext().split()) if first is not None else app.config.project
    told = {
        "site_name": app.config.project,
        "type": "website",
        "title": html.unescape(re.sub(r"<[^>]*>", "", context.get("title") or app.config.project)),
        "description": text if len(text) <= MOST else text[: MOST - 1].rpartition(" ")[0] + "…",
        "url": context.get("pageurl") or app.config.html_baseurl,
    }
    tags = [f'<meta property="og:{name}" content="{html.escape(value)}">' for name, value in told.items()]
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])
