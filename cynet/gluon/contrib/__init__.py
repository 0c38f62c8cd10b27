"""mx.gluon.contrib: more layers, cells and samplers, and Estimator."""

from . import cnn, data, estimator, nn, rnn

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]
