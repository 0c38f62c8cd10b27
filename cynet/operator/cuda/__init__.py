"""GPU forms of operators: lists of kernel launches that native code runs."""

from .registry import FORMS, build, register_form, create_gpu_operator, has_form
from .launch import DeviceOperator

__all__ = ["FORMS", "DeviceOperator", "build", "create_gpu_operator", "has_form", "register_form"]
