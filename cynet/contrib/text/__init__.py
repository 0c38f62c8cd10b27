"""mx.contrib.text: vocabularies, and vectors of tokens read from files."""

from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
