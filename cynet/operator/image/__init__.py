"""Images (H, W, C) and batches of them (N, H, W, C): sizes, parts, mirrors, colors, tensors."""

from . import colors, crop, flip, normalize, resize, to_tensor
