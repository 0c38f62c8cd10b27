"""mx.contrib.text: vocabularies, and token vectors read from files."""

from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
