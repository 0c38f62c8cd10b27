"""mx.gluon.model_zoo: networks that are known by name, and files of their weights."""

from . import model_store, text, vision
from .vision import get_model
from . import common_parameters  # last: it puts text into docstrings

__all__ = ["get_model", "model_store", "text", "vision"]
