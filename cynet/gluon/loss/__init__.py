"""mx.gluon.loss: losses, one number per sample."""

from ...operator.namespaces import public_names as _public_names
from .base import *
from .base import _apply_weighting as _apply_weighting
from .base import _reshape_like as _reshape_like
from .classification import *
from .embedding import *
from .margin import *
from .imbalance import *
from .regression import *
from .sequence import *
from . import common_parameters  # imported last: adds shared paragraphs to the docstrings above

__all__ = _public_names(globals())
