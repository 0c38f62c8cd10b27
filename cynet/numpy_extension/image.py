"""mx.npx.image: the operators of images, on arrays of mx.np; and the names of mx.image."""

import inspect
from importlib import import_module

from ..ndarray import image as _legacy
from ..numpy._call import array_of, fill_out, ops

_OPERATOR_NAMES = [name for name in dir(_legacy) if not name.startswith("_")]  # of mx.nd.image


def _image_function(name):
    legacy, run = getattr(_legacy, name), getattr(ops, f"_image_{name}")
    words = [*inspect.signature(legacy).parameters][1:-3]  # without data, out, name and **kwargs

    def function(data, *args, out=None, name=None, **kwargs):
        given = dict(zip(words, args, strict=False)) | kwargs
        return fill_out(run(array_of(data, f"npx.image.{function.__name__}"), **given), out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``mx.nd.image.{name}``, of an array of mx.np."
    return function


globals().update({name: _image_function(name) for name in _OPERATOR_NAMES})
__all__ = _OPERATOR_NAMES


def __getattr__(name):
    return getattr(import_module(f"{__name__.partition('.')[0]}.image"), name)
