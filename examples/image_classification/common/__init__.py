"""What the training scripts of this folder share: data, fit, plot."""
