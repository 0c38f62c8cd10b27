"""Metrics: running figures of how good predictions are, by name or by class."""

from .base import CompositeEvalMetric, EvalMetric, alias, check_label_shapes, create, register
from .by_class import AUC, ConfusionMatrix, MeanIoU, Precision, Recall
from .classification import F1, MCC, PCC, Accuracy, TopKAccuracy
from .custom import CustomMetric, np
from .detection import MeanAveragePrecision
from .loss import Caffe, Loss, Torch
from .probability import CalibrationError, CrossEntropy, NegativeLogLikelihood, Perplexity
from .regression import MAE, MSE, R2, RMSE, PearsonCorrelation
from .texts import BLEU, WordErrorRate
from . import common_parameters  # last: it puts text into docstrings

__all__ = [
    "AUC",
    "BLEU",
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "R2",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CalibrationError",
    "CompositeEvalMetric",
    "ConfusionMatrix",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "MeanAveragePrecision",
    "MeanIoU",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "Precision",
    "Recall",
    "TopKAccuracy",
    "Torch",
    "WordErrorRate",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]
