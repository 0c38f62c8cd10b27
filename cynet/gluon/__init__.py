"""mx.gluon: networks as Python objects, trained step by step or as graphs."""

from . import block, contrib, data, loss, model_zoo, nn, parameter, rnn, trainer, utils
from .anomaly import AnomalyError, detect_anomaly
from .averaging import EMA, SWA
from .autocast import autocast
from .block import Block, HybridBlock, SymbolBlock
from .lbfgs import LBFGS
from .lookahead import Lookahead
from .sam import SAM
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict, tensor_types
from .per_sample import per_sample_gradients
from .rate_search import find_learning_rate
from .recompute import checkpoint
from .resume import load_training, save_training
from .trainer import Trainer
from . import common_parameters  # imported last: adds shared paragraphs to the docstrings above

__all__ = [
    "EMA",
    "LBFGS",
    "SAM",
    "SWA",
    "AnomalyError",
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Lookahead",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "autocast",
    "block",
    "checkpoint",
    "contrib",
    "data",
    "detect_anomaly",
    "find_learning_rate",
    "load_training",
    "loss",
    "model_zoo",
    "nn",
    "parameter",
    "per_sample_gradients",
    "rnn",
    "save_training",
    "tensor_types",
    "trainer",
    "utils",
]
