"""Gradients that are written as operators: what gradients of gradients go through."""

from .ways import rule_of
