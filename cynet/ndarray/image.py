"""mx.nd.image: the operators whose names start with _image_."""

from .functions import make_getattr

__getattr__, __dir__ = make_getattr(__name__, "_image_")
