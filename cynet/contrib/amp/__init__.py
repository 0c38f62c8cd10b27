"""mx.contrib.amp: automatic mixed precision of float16 or bfloat16 with float32."""

from ...operator.namespaces import guard_public_names as _guarded_names
from . import amp
from .amp import init as init
from .convert import *
from .lists.listing import *
from .loss_scaler import *

__all__ = ["amp", *_guarded_names(globals())]
