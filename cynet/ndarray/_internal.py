"""mx.nd._internal: every operator under its own name, private ones too."""

from .functions import namespace

__getattr__, __dir__ = namespace(__name__, "")
