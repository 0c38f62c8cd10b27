"""Deferred initialization of parameters, which the first call with arrays completes."""

import contextlib

from ... import autograd
from ...base.errors import CynetError
from ..errors import DeferredInitializationError
from ..parameter.shapes import has_known_sizes
from ..tracing import tracing


def finish_deferred_init(block, params, args):
    """Infer shapes from the arguments of a call and finish the initialization of `params`."""
    if any(each._data is None and each._deferred_init for each in params):
        block._deferred_infer_shape(*args)
        for each in params:
            each._finish_deferred_init()


def finish_all_deferred_inits(block, graphs, args, kwargs):
    """Infer the parameter shapes of a Block and its children; run it where inference fails."""
    params = list(block.collect_params().values())
    with contextlib.suppress(CynetError):
        block._deferred_infer_shape(*args, **kwargs)
    for each in params:
        if has_known_sizes(each._shape):  # raises errors of the parameter's initializer
            each._finish_deferred_init()
    if any(each._data is None and each._deferred_init for each in params):
        with autograd.pause(), tracing(), contextlib.suppress(DeferredInitializationError):
            graphs.run_without_graph((args, kwargs))
