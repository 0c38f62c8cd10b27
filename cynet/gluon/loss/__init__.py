"""mx.gluon.loss: losses, one number a sample."""

from .base import Loss, _apply_weighting, _reshape_like
from .classification import (
    KLDivLoss,
    SigmoidBCELoss,
    SigmoidBinaryCrossEntropyLoss,
    SoftmaxCELoss,
    SoftmaxCrossEntropyLoss,
)
from .embedding import CosineEmbeddingLoss, SDMLLoss, TripletLoss
from .margin import HingeLoss, LogisticLoss, SquaredHingeLoss
from .imbalance import DiceLoss, SigmoidFocalLoss, SoftmaxFocalLoss
from .regression import HuberLoss, L1Loss, L2Loss, PoissonNLLLoss
from .sequence import CTCLoss

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "DiceLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SigmoidFocalLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SoftmaxFocalLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]
