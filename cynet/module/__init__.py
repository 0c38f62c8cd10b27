"""mx.mod: modules, which bind a network to arrays and train it."""

from . import base_module, executor_group, parameter_update
from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .module import Module
from .python_module import PythonLossModule, PythonModule
from .sequential_module import SequentialModule
from . import common_parameters  # imported last: inserts text into docstrings

__all__ = [
    "BaseModule",
    "BucketingModule",
    "Module",
    "PythonLossModule",
    "PythonModule",
    "SequentialModule",
    "base_module",
    "executor_group",
    "parameter_update",
]
