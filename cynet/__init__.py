"""cynet: the classic MXNet 1.x programming model, small and fast. Write ``import cynet as mx``."""

from typing import TYPE_CHECKING

# Re-exported modules and names, in the order of the floors in docs/architecture/README.md.
from .base import config, errors  # floor 0; base checks first that cynet is compiled
from . import base
from . import context
from .context import Context, cpu, cpu_pinned, current_context, gpu
from .base.as_mxnet import install_as_mxnet
from .base.errors import CynetError, MXNetError
from . import engine, storage  # layer 1
from .kernels.threading.threads import get_num_threads, set_num_threads  # layer 2
from . import operator  # layer 3
from . import attribute, name, ndarray  # layer 4
from . import ndarray as nd
from . import symbol
from . import symbol as sym
from .attribute import AttrScope
from .ndarray import waitall
from . import autograd  # layer 5
from . import random
from . import random as rnd
from . import libinfo
from .libinfo import __version__ as __version__

if TYPE_CHECKING:  # modules are imported at first use: see libinfo.py
    from .operator.custom import simple as simple_op
    from . import executor
    from .executor import bind as binding
    from .executor import Executor as Executor
    from .graph import infer
    from . import callback, initializer, io, lr_scheduler, metric, monitor  # layer 6
    from . import initializer as init
    from .io import checkpoint
    from . import distributed, kvstore, optimizer
    from . import kvstore as kv
    from . import monitor as mon
    from .monitor import debug_nans as debug_nans
    from . import optimizer as opt
    from . import model, module  # layer 7
    from . import module as mod
    from . import contrib, executor_manager, gluon, image, log, misc, onnx, profiler, recordio
    from . import rnn, rtc, runtime, test_utils, util
    from . import image as img
    from . import visualization
    from . import visualization as viz
    from . import numpy, numpy_extension, serving
    from . import numpy as np
    from . import numpy_extension as npx
    from .gluon.block import compile as compile
    from .serving import Predictor as Predictor
    from .util import is_np_shape as is_np_shape
    from .util import np_shape as np_shape
    from .util import set_np_shape as set_np_shape
    from .util import use_np_shape as use_np_shape

__all__ = [
    "AttrScope",
    "Context",
    "CynetError",
    "Executor",
    "MXNetError",
    "Predictor",
    "attribute",
    "autograd",
    "base",
    "binding",
    "callback",
    "checkpoint",
    "config",
    "context",
    "cpu",
    "cpu_pinned",
    "current_context",
    "debug_nans",
    "distributed",
    "engine",
    "errors",
    "executor",
    "executor_manager",
    "get_num_threads",
    "gpu",
    "init",
    "initializer",
    "install_as_mxnet",
    "io",
    "kv",
    "kvstore",
    "libinfo",
    "lr_scheduler",
    "metric",
    "mod",
    "model",
    "module",
    "mon",
    "monitor",
    "name",
    "nd",
    "ndarray",
    "operator",
    "opt",
    "optimizer",
    "random",
    "rnd",
    "rtc",
    "serving",
    "set_num_threads",
    "simple_op",
    "storage",
    "sym",
    "symbol",
    "test_utils",
    "visualization",
    "viz",
    "waitall",
]
