"""The first page of a server: its models, their cards, the paths; JSON, or HTML for a browser."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from .bodies import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .models import Models

_PATHS = {  # path -> its purpose
    "POST /predict": "rows as JSON, .npy or an image",
    "GET /health": "whether requests are taken",
    "GET /metrics": "counters for Prometheus",
    "/v2": "the Open Inference Protocol",
}


def about_page(models: Models, cards: Mapping[str, Any], paths: Mapping[str, str] = _PATHS) -> Any:
    """Return the content of the page."""
    found = []
    for each in models:
        signature = each.predictor.signature()
        entry: dict[str, Any] = {"name": each.name, "version": each.version}
        for part in ("inputs", "outputs"):
            entry[part] = [
                {"name": t.name, "dtype": str(t.dtype), "shape": list(t.shape)}
                for t in getattr(signature, part)
            ]
        if each.name in cards:
            entry["card"] = cards[each.name]
        found.append(entry)
    return {"models": found, "paths": dict(paths)}


def page_to_json(page: Any) -> bytes:
    """Return the page as JSON, for programs."""
    return write_json(page)


def page_to_html(page: Any) -> bytes:
    """Return the page as HTML, for people."""
    parts = ["<!DOCTYPE html><html lang=en><meta charset=utf-8><title>cynet</title>"]
    parts.append("<body style='font-family:sans-serif;max-width:50em;margin:2em auto'>")
    for model in page["models"]:
        parts.append(f"<h1>{html.escape(model['name'])}</h1><table>")
        card = dict(model.get("card", {}))
        rows = [("version", card.get("version", model["version"]))]
        rows += [(n, card[n]) for n in ("note", "made", "parameters") if card.get(n)]
        rows += [(name, f"{value:.4g}") for name, value in card.get("metrics", {}).items()]
        for part in ("inputs", "outputs"):
            rows += [(part[:-1], f"{t['name']}: {t['dtype']} {t['shape']}") for t in model[part]]
        for name, value in rows:
            cells = html.escape(str(name)), html.escape(str(value))
            parts.append("<tr><td>{}&emsp;</td><td>{}</td></tr>".format(*cells))
        parts.append("</table>")
    parts.append("<h2>Paths</h2><table>")
    for name, what in page["paths"].items():
        parts.append(f"<tr><td><code>{name}</code>&emsp;</td><td>{what}</td></tr>")
    parts.append("</table>")
    return "".join(parts).encode()
