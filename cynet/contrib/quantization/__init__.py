"""mx.contrib.quantization: networks in integers of 8 bits, for prediction on CPUs."""

from .calibration import (
    CalibrationCollector,
    LayerHistogramCollector,
    LayerOutputMinMaxCollector,
    combine_histogram,
)
from .calibration import LayerHistogramCollector as _LayerHistogramCollector
from .calibration import LayerOutputMinMaxCollector as _LayerOutputMinMaxCollector
from .model import calib_graph, quantize_graph, quantize_model, quantize_model_mkldnn
from .net import quantize_net, quantize_net_v2

__all__ = [
    "CalibrationCollector",
    "LayerHistogramCollector",
    "LayerOutputMinMaxCollector",
    "calib_graph",
    "combine_histogram",
    "quantize_graph",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_net",
    "quantize_net_v2",
]
