"""Limits of every request with a body, checked before it is read: its length, its encoding, and the
number of values of a JSON text."""

from __future__ import annotations

from typing import Any

from ..base.errors import shown
from .errors import Refused

_MAX_JSON_VALUES = 1 << 17  # values in a small JSON body: Python needs some 40 bytes for each


def read_body(environ: dict[str, Any], maximum: int) -> bytes:
    """Read the body of a request, of `maximum` bytes at most."""
    coding = environ.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if coding not in ("", "identity"):
        raise Refused(415, f"a body in the encoding {shown(coding)}; send it as it is")
    text = environ.get("CONTENT_LENGTH") or ""
    if not (text.isascii() and text.isdecimal()):
        raise Refused(411, "say Content-Length")
    length = int(text[:20])  # a length of more digits is too large anyway
    if length > maximum:
        raise Refused(413, f"a body of {length} bytes, at most {maximum} are taken")
    body = environ["wsgi.input"].read(length)
    if len(body) < length:
        raise Refused(400, f"the body has {len(body)} bytes, Content-Length said {length}")
    return body


def media_type(environ: dict[str, Any]) -> str:
    """Return the media type of a body, without its parameters."""
    return environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()


def check_json_size(text: bytes, max_body: int, instead: str) -> bytes:
    """Return a JSON text, or refuse one with too many values; `instead` names another format."""
    count, maximum = estimate_value_count(text), max_value_count(max_body)
    if count > maximum:
        raise Refused(
            413,
            f"a JSON body of some {count} values, at most {maximum} are taken; {instead} may have"
            " more",
        )
    return text


def estimate_value_count(body: bytes) -> int:
    """Estimate the number of values in a JSON text without parsing it."""
    return body.count(b",") + 2 * (body.count(b"[") + body.count(b"{")) + body.count(b'"')


def max_value_count(max_body: int) -> int:
    """Return the maximum of values in a JSON body; they need about 5 times the limit of a body."""
    return max(_MAX_JSON_VALUES, max_body // 8)
