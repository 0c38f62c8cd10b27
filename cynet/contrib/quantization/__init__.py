"""mx.contrib.quantization: int8 networks for prediction on CPUs."""

from ...operator.namespaces import guard_public_names as _guarded_names
from .aware import *
from .calibration import *
from .calibration import LayerHistogramCollector as _LayerHistogramCollector
from .calibration import LayerOutputMinMaxCollector as _LayerOutputMinMaxCollector
from .fake import *
from .model import *
from .net import *

__all__ = _guarded_names(globals())
