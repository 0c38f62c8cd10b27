"""Errors of Gluon: those of cynet that scripts of MXNet catch by Python's classes, too."""

from ..base.errors import CynetError, MismatchError, StateError

__all__ = ["DeferredInitializationError", "MismatchError", "StaleGradientError", "StateError"]


class DeferredInitializationError(StateError):
    """A parameter waits for its shape, which the first forward pass gives."""


class StaleGradientError(CynetError, UserWarning):
    """A gradient is that of an earlier step; a UserWarning that is raised, as MXNet does."""
