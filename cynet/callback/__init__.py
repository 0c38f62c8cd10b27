"""mx.callback: callbacks of training loops: log lines, checkpoints, early stopping, histories."""

from ..operator.namespaces import public_names as _public_names
from .averaging import *
from .fit import *
from .loop import *

from .rate_search import *
from .sweeps import *
from .tensorboard import *
from .tracking import *
from .metric_monitors import *
from . import common_parameters  # imported last: adds shared paragraphs to the docstrings above

__all__ = _public_names(globals())
