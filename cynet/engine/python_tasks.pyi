"""Python functions on their way through the engine."""

from ..context import Context

class PyRunContext:
    """Where a function runs: its device, the device's stream, the worker."""

    dev_type: int
    dev_id: int
    stream: int
    worker: int
    @property
    def ctx(self) -> Context:
        """The device, a Context."""

class OnComplete:
    """Says, once, that an asynchronous function is done: ``on_complete(error=None)``."""

    def __call__(self, error: BaseException | None = None) -> None: ...

def stop_at_exit() -> None: ...
