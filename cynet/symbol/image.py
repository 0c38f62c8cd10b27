"""mx.sym.image: the operators whose names start with ``_image_``."""

from .register import module_hooks

__getattr__, __dir__ = module_hooks(__name__, "_image_")
