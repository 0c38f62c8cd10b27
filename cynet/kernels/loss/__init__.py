"""Gradients of losses and of outputs that end a network."""
