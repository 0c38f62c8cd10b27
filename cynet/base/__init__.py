"""mx.base: MXNetError, and names that scripts written for MXNet import from there."""

from . import built  # imported before any compiled module
from .errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    FileAccessError,
    FileError,
    FolderError,
    FormatError,
    KernelError,
    MissingFileError,
    MissingModuleError,
    MXNetError,
    NoFolderError,
    NotFoundError,
    NotImplementedForSymbol,
    NotSupportedForSparseNDArray,
    OperatorError,
    ShapeError,
)
from .legacy import *
from .legacy import __all__ as _legacy_names
from .legacy import _as_list, _Null
from . import aliases

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CynetError",
    "FileAccessError",
    "FileError",
    "FolderError",
    "FormatError",
    "KernelError",
    "MXNetError",
    "MissingFileError",
    "MissingModuleError",
    "NoFolderError",
    "NotFoundError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "OperatorError",
    "ShapeError",
    *_legacy_names,
]
