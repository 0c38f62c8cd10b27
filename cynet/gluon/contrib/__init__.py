"""mx.gluon.contrib: more layers, cells and samplers, and Estimator."""

from . import data, estimator, nn, rnn

__all__ = ["data", "estimator", "nn", "rnn"]
