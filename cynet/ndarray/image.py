"""mx.nd.image: the operators whose names start with _image_."""

from .functions import namespace

__getattr__, __dir__ = namespace(__name__, "_image_")
