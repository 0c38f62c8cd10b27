"""Why a request was not answered, beside what is wrong with it."""

from ..base.errors import CynetError, StateError


class BusyError(StateError):
    """More rows wait than a Predictor may hold; try again later."""


class WaitedError(CynetError, TimeoutError):
    """A request waited longer than its time-out for its turn."""
