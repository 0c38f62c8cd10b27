"""mx.contrib.onnx: the older name of mx.onnx."""

from ..onnx import (
    export_model,
    get_model_metadata,
    get_operator_support,
    import_model,
    import_to_gluon,
)

# MXNet's older module also had these functions under names with an underscore
get_model_metadata_ = get_model_metadata  # MXNet's older name
import_model_ = import_model  # MXNet's older name
import_to_gluon_ = import_to_gluon  # MXNet's older name

__all__ = [
    "export_model",
    "get_model_metadata",
    "get_model_metadata_",
    "get_operator_support",
    "import_model",
    "import_model_",
    "import_to_gluon",
    "import_to_gluon_",
]
