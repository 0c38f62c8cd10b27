"""mx.image: reading, resizing, cropping and augmenting images, and iterators over images."""

from ..operator.namespaces import guard_public_names as _guarded_names
from .augmenter import *
from .color_augment import *
from .augment import *
from .detection import *
from .drawing import *
from .geometry import _get_interp_method as _get_interp_method
from .geometry import *
from .detection_iter import *
from .image_iter import *
from .rotate import *
from . import common_parameters  # imported last: inserts text into docstrings

__all__ = _guarded_names(globals())
