"""Predictions for many callers: Predictor, and the application that offers one over HTTP."""

from .predictor import Predictor
from .web import Application
