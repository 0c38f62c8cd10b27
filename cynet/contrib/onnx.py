"""mx.contrib.onnx: mx.onnx under its older name."""

from ..onnx import (
    export_model,
    get_model_metadata,
    get_operator_support,
    import_model,
    import_to_gluon,
)

__all__ = [
    "export_model",
    "get_model_metadata",
    "get_operator_support",
    "import_model",
    "import_to_gluon",
]
