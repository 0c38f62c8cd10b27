"""Errors of Gluon: they also inherit from the Python classes that MXNet scripts catch."""

from ..base.errors import CynetError, MismatchError, StateError

__all__ = ["DeferredInitializationError", "MismatchError", "StaleGradientError", "StateError"]


class DeferredInitializationError(StateError):
    """A parameter waits for its shape, which the first forward pass gives."""


class StaleGradientError(CynetError, UserWarning):
    """A gradient is stale: no backward has set it since the last step."""
