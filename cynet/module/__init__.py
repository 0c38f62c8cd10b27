"""Training loops: modules that bind, forward, backward, update and fit."""

from . import base_module, executor_group, parameter_update
from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .module import Module
from .python_module import PythonLossModule, PythonModule
from .sequential_module import SequentialModule
from . import common_parameters  # last: it puts text into docstrings

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
