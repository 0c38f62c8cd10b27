"""mx.gluon.model_zoo: well-known networks by name, and files of their weights."""

from . import model_store, text, vision
from .vision import get_model
from . import common_parameters  # imported last: adds shared paragraphs to the docstrings above

__all__ = ["get_model", "model_store", "text", "vision"]
