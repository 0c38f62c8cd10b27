"""What operators on quantized arrays compute, in NumPy, with integers of 64 bits and float64."""

import numpy as np

STEPS = {"uint8": 255, "int8": 127}


def reach(low, high):
    return max(abs(float(np.asarray(low).ravel()[0])), abs(float(np.asarray(high).ravel()[0])))


def one(value):
    return np.array([value], "float32")


def steps(dtype, finer=False):
    return STEPS[str(dtype)] + 0.5 * finer


def unit(data, low, high, finer=False):
    """What a step of an array counts for."""
    return reach(low, high) / steps(data.dtype, finer)


def rounded(values, dtype):
    """Rounded to even, within the limits of `dtype`."""
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)


def quantize_v2(data, low, high, dtype):
    """Floats by `_contrib_quantize_v2`, in float32 as there."""
    scale = np.float32(steps(dtype, True)) / np.float32(max(abs(low), abs(high)))
    return rounded(data.astype("float32") * scale, dtype)


def conv(data, weight, stride=(1, 1), pad=(0, 0), dilate=(1, 1), groups=1):
    """The sums of a convolution of two spatial axes, int64."""
    data, weight = data.astype(np.int64), weight.astype(np.int64)
    data = np.pad(data, ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    n, _, height, width = data.shape
    filters, channels, kh, kw = weight.shape
    out_h = (height - dilate[0] * (kh - 1) - 1) // stride[0] + 1
    out_w = (width - dilate[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((n, filters, out_h, out_w), np.int64)
    for f in range(filters):
        first = f // (filters // groups) * channels
        for i in range(kh):
            for j in range(kw):
                window = data[:, first : first + channels, i * dilate[0] :, j * dilate[1] :]
                window = window[:, :, :: stride[0], :: stride[1]][:, :, :out_h, :out_w]
                out[:, f] += np.einsum("nchw,c->nhw", window, weight[f, :, i, j])
    return out
