"""mx.gluon.model_zoo: networks that are known by name, and files of their weights."""

from . import model_store, vision

__all__ = ["model_store", "vision"]
