"""mx.contrib.quantization: networks in integers of 8 bits, for prediction on CPUs."""

from .aware import convert, prepare_qat
from .calibration import (
    CalibrationCollector,
    LayerHistogramCollector,
    LayerOutputMinMaxCollector,
    combine_histogram,
)
from .calibration import LayerHistogramCollector as _LayerHistogramCollector
from .calibration import LayerOutputMinMaxCollector as _LayerOutputMinMaxCollector
from .fake import FakeQuantize
from .model import calib_graph, quantize_graph, quantize_model, quantize_model_mkldnn
from .net import quantize_net, quantize_net_v2

__all__ = [
    "CalibrationCollector",
    "FakeQuantize",
    "LayerHistogramCollector",
    "LayerOutputMinMaxCollector",
    "calib_graph",
    "combine_histogram",
    "convert",
    "prepare_qat",
    "quantize_graph",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_net",
    "quantize_net_v2",
]
