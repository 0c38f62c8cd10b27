"""mx.nd.op: every operator under its own name."""

from .functions import namespace

__getattr__, __dir__ = namespace(__name__, "")
