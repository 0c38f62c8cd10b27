"""Recurrent layers."""

from . import rnn
