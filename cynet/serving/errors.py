"""Reasons why a valid request was not answered."""

from ..base.errors import CynetError, StateError


class BusyError(StateError):  # too many rows wait
    """More rows wait than a Predictor may hold; try again later."""


class WaitedError(CynetError, TimeoutError):  # a request's time-out passed
    """A request waited longer than its time-out for its turn."""


class Refused(Exception):  # an HTTP answer other than 200
    """An answer other than 200: its status and a sentence."""

    def __init__(self, status: int, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status, self.headers = status, headers
