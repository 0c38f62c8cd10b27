"""Cases of the operators of images; random ones with ranges of one number."""

import colorsys

import numpy as np
from scipy import ndimage

from .case import Case, Input

GREY = np.array([0.299, 0.587, 0.114])
COMPONENTS = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
) * [55.46, 4.794, 1.148]
DTYPES = ("float32", "float64", "uint8")
CLOSE = {"float32": (1e-4, 1e-3), "float64": (1e-4, 1e-3), "float16": (5e-3, 0.3)}


def whole(change):
    """The same for a batch, in the image's dtype: integers are truncated."""

    def changed(data, **params):
        images = data[None] if data.ndim == 3 else data
        out = np.stack([change(x.astype("float64"), **params) for x in images])
        out = out.reshape(data.shape)
        return np.clip(out, 0, 255).astype("uint8") if data.dtype == "uint8" else out

    return changed


@whole
def brightness(x, min_factor, max_factor):
    return x * min_factor


@whole
def contrast(x, min_factor, max_factor):
    grey = x @ GREY if x.shape[-1] == 3 else x
    return x * min_factor + (1 - min_factor) * grey.mean()


@whole
def saturation(x, min_factor, max_factor):
    return x * min_factor + (1 - min_factor) * (x @ GREY)[..., None]


@whole
def hue(x, min_factor, max_factor):
    out = np.zeros_like(x)
    for place in np.ndindex(x.shape[:2]):
        h, lightness, s = colorsys.rgb_to_hls(*x[place] / 255)
        out[place] = np.multiply(colorsys.hls_to_rgb((h + min_factor) % 1, lightness, s), 255)
    return out


@whole
def lighting(x, alpha):
    return x + COMPONENTS @ alpha


def to_tensor(data):
    return (np.moveaxis(data, -1, -3) / 255).astype("float32")


def to_tensor_grad(heads, data):
    return [np.moveaxis(heads[0], -3, -1) / 255]


def normalize(data, mean=0.0, std=1.0):
    mean, std = (np.float32(v).reshape(-1, 1, 1) for v in (mean, std))
    return (data - mean) / std


def crop(data, x, y, width, height):
    return data[..., y : y + height, x : x + width, :]


def nearest(data, size, interp):
    scale = [size[1] / data.shape[-3], size[0] / data.shape[-2]]
    rows, columns = (
        np.minimum((np.arange(n) / s).astype(int), m - 1)
        for n, s, m in zip(size[::-1], scale, data.shape[-3:-1])
    )
    return data[..., rows[:, None], columns, :]


def bilinear(data, size):
    """At the middles of pixels, the border repeated."""
    axes = data.shape[-3:-1]
    at = [(np.arange(n) + 0.5) * m / n - 0.5 for n, m in zip(size[::-1], axes)]
    grid = np.meshgrid(*at, indexing="ij")
    planes = np.moveaxis(data, -1, -3).reshape(-1, *axes)
    made = [ndimage.map_coordinates(p, grid, order=1, mode="nearest") for p in planes]
    made = np.reshape(made, (*data.shape[:-3], data.shape[-1], *size[::-1]))
    return np.moveaxis(made, -3, -1)


_PIXELS = Input((4, 5, 3), (0, 255))
_BATCH = Input((2, 3, 4, 3), (0, 255))
_GREY = Input((3, 4, 1), (0, 255))
_BOX = {"x": 1, "y": 0, "width": 2, "height": 3}


def _factor(op, reference, factor, *images):
    both = {"min_factor": factor, "max_factor": factor}
    return [
        Case(op, [x], reference, both, grad=False, back=(0,), dtypes=DTYPES, tolerance=CLOSE)
        for x in images
    ]


CASES = [
    Case(
        "_image_to_tensor",
        [_PIXELS],
        to_tensor,
        reference_grad=to_tensor_grad,
        back=(0,),
        dtypes=("float32",),
    ),
    Case(
        "_image_to_tensor",
        [_BATCH],
        to_tensor,
        reference_grad=to_tensor_grad,
        back=(0,),
        dtypes=("uint8", "float32"),
    ),
    Case("_image_normalize", [(3, 4, 2)], normalize, {"mean": 0.25, "std": 2}, back=(0,)),
    Case(
        "_image_normalize",
        [(2, 3, 2, 4)],
        normalize,
        {"mean": (0.25, 0.5, 0.75), "std": (1, 2, 4)},
        back=(0,),
    ),
    Case("_image_normalize", [(1, 3, 2)], normalize, back=(0,)),
    Case("_image_crop", [(4, 5, 3)], crop, _BOX),
    Case("_image_crop", [(2, 3, 4, 1)], crop, _BOX),
    Case("_image_flip_left_right", [(3, 5, 3)], lambda x: x[..., ::-1, :], back=(0,)),
    Case("_image_flip_left_right", [(2, 3, 4, 1)], lambda x: x[..., ::-1, :], back=(0,)),
    Case("_image_flip_top_bottom", [(3, 4, 3)], lambda x: x[::-1], back=(0,)),
    Case("_image_flip_top_bottom", [(2, 3, 2, 3)], lambda x: x[:, ::-1], back=(0,)),
    *_factor("_image_random_brightness", brightness, 1.5, _PIXELS, _BATCH, _GREY),
    *_factor("_image_random_contrast", contrast, 0.5, _PIXELS, _BATCH, _GREY),
    *_factor("_image_random_contrast", contrast, 1.75, _PIXELS),
    *_factor("_image_random_saturation", saturation, 0.5, _PIXELS, _BATCH),
    *_factor("_image_random_saturation", lambda x, **k: x, 0.5, _GREY),
    *_factor("_image_random_hue", lambda x, **k: x, 0.5, _GREY),
    *[
        Case(
            "_image_random_hue",
            [x],
            hue,
            {"min_factor": f, "max_factor": f},
            grad=False,
            dtypes=("float32", "float64"),
            tolerance=CLOSE,
        )
        for f, x in ((0.25, _PIXELS), (0.9, _PIXELS), (1.4, _BATCH))
    ],
    *[
        Case(
            "_image_adjust_lighting",
            [x],
            lighting,
            {"alpha": (0.1, 0.2, -0.3)},
            grad=False,
            back=(0,),
            dtypes=("float32", "float64"),
            tolerance=CLOSE,
        )
        for x in (_PIXELS, _BATCH)
    ],
    Case("_image_resize", [_PIXELS], nearest, {"size": (7, 3), "interp": 0}, grad=False),
    Case("_image_resize", [_BATCH], bilinear, {"size": (9, 8)}, grad=False, tolerance=CLOSE),
]
