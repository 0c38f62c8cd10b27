"""Metrics: running measures of the quality of predictions, created by name or class."""

from ..operator.namespaces import public_names as _public_names
from .base import *
from .by_class import *
from .classification import *
from .custom import *
from .detection import *
from .loss import *
from .probability import *
from .regression import *
from .texts import *
from . import common_parameters  # imported last: adds shared paragraphs to the docstrings above

__all__ = _public_names(globals())
