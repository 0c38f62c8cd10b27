"""Training loops: modules that bind, forward, backward, update and fit."""

from . import base_module, executor_group, module, parameter_update
from .base_module import BaseModule
from .module import Module

__all__ = ["BaseModule", "Module", "base_module", "executor_group", "module", "parameter_update"]
