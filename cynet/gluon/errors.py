"""Errors of Gluon: they also inherit from the Python classes that MXNet scripts catch."""

from ..base.errors import CynetError, MismatchError, StateError

__all__ = ["DeferredInitializationError", "MismatchError", "StaleGradientError", "StateError"]


class DeferredInitializationError(StateError):
    """A parameter is not initialized yet: the first forward pass determines its shape."""


class StaleGradientError(CynetError, UserWarning):
    """A gradient is stale: no backward has set it since the last step."""
