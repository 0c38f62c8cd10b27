"""mx.model: checkpoints, helpers that training scripts import, and FeedForward."""

from ..base.legacy import _multiple_callbacks
from ..callback import BatchEndParam
from ..io.checkpoint import find_checkpoint, load_checkpoint, load_params, save_checkpoint
from ..module.parameter_update import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
)
from .card import load_card, save_card
from .feed_forward import FeedForward

__all__ = [
    "BatchEndParam",
    "FeedForward",
    "_create_kvstore",
    "_initialize_kvstore",
    "_multiple_callbacks",
    "_update_params",
    "_update_params_on_kvstore",
    "find_checkpoint",
    "load_card",
    "load_checkpoint",
    "load_params",
    "save_card",
    "save_checkpoint",
]
