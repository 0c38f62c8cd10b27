"""GPU forms of operators: lists of kernel launches that native code runs."""

from .registry import FORMS, build, register_form, gpu_operator, has_form
from .launch import DeviceOperator

__all__ = ["FORMS", "DeviceOperator", "build", "gpu_operator", "has_form", "register_form"]
