"""mx.onnx: export of networks to ONNX files, and import from ONNX files.

The extra ``onnx`` brings the package that reads and writes the files: ``pip install
'cynet-mx[onnx]'``.
"""

from .export import export_model, get_operator_support
from .read import get_model_metadata, import_model, import_to_gluon

__all__ = [
    "export_model",
    "get_model_metadata",
    "get_operator_support",
    "import_model",
    "import_to_gluon",
]
