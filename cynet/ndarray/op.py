"""mx.nd.op: every operator under its own name."""

from .functions import make_getattr

__getattr__, __dir__ = make_getattr(__name__, "")
