"""Metrics: running figures of how good predictions are, by name or by class."""

from .base import CompositeEvalMetric, EvalMetric, alias, check_label_shapes, create, register
from .by_class import AUC, ConfusionMatrix, Precision, Recall
from .classification import F1, MCC, PCC, Accuracy, TopKAccuracy
from .custom import CustomMetric, np
from .loss import Caffe, Loss, Torch
from .probability import CrossEntropy, NegativeLogLikelihood, Perplexity
from .regression import MAE, MSE, RMSE, PearsonCorrelation

__all__ = [
    "AUC",
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "ConfusionMatrix",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "Precision",
    "Recall",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]
