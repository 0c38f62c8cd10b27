"""mx.gluon: networks as Python objects, trained step by step or as graphs."""

from . import block, contrib, data, loss, model_zoo, nn, parameter, rnn, trainer, utils
from .block import Block, HybridBlock, SymbolBlock
from .parameter import (
    Constant,
    DeferredInitializationError,
    Parameter,
    ParameterDict,
    tensor_types,
)
from .trainer import Trainer
from . import missing  # the last one: it looks at all others

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "block",
    "contrib",
    "data",
    "loss",
    "model_zoo",
    "nn",
    "parameter",
    "rnn",
    "tensor_types",
    "trainer",
    "utils",
]
