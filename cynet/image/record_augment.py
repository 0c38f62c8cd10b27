"""Augmentation of an image in ImageRecordIter, in MXNet's order."""

import math

import numpy as np

from ..base.errors import ArgumentError, FormatError, shown
from ..base.opencv import N_INTERPOLATIONS, cv, resize_image
from ..ndarray import load
from .color_augment import _GRAY_WEIGHTS, _PCA_EIGENVALUES, _PCA_VECTORS
from .into_batch import clip_pixels, normalize_into
from .record_options import AUGMENT_OPTIONS

_MAX_ATTEMPTS = 10  # maximum attempts to find a crop of a random area
_HUE_RANGE = 180  # number of hues in OpenCV's uint8 images
# options that `random_resized_crop` excludes
_OTHER_CROP_OPTIONS = (  # not with random_resized_crop
    *("rand_crop", "min_crop_size", "max_crop_size"),
    *("min_random_scale", "max_random_scale"),
)


def check_inter_method(method):
    if method not in (*range(N_INTERPOLATIONS), 9, 10):
        raise ArgumentError(f"inter_method is 0 to 4, 9 or 10, got {method}")


def resize_by_method(image, width, height, interpolation, rng):
    """Resize an image by an `inter_method`."""
    if interpolation == 9:
        bigger = (height > image.shape[0]) + (width > image.shape[1])
        smaller = (height < image.shape[0]) + (width < image.shape[1])
        interpolation = 2 if bigger == 2 else 3 if smaller == 2 else 1
    elif interpolation == 10:
        interpolation = int(rng.integers(N_INTERPOLATIONS))
    return resize_image(image, width, height, interpolation)


def add_border(image, sides, fill):
    """Add `sides` pixels above, below, left and right of an image."""
    out = cv().copyMakeBorder(
        np.ascontiguousarray(image), *sides, cv().BORDER_CONSTANT, None, [float(fill)] * 4
    )
    return out.reshape(*out.shape[:2], image.shape[2])


def shift_hls(image, shift):
    """Add `shift` to the hue, lightness and saturation of an image."""
    turned = cv().cvtColor(np.ascontiguousarray(image), cv().COLOR_RGB2HLS)
    table = np.arange(256)[:, None] + np.array(shift)
    table[:, 0] %= _HUE_RANGE
    turned = cv().LUT(turned, table.clip(0, 255).astype(np.uint8)[None])
    return cv().cvtColor(turned, cv().COLOR_HLS2RGB)


class RecordAugmenter:  # random changes of an image
    """Augments uint8 pixels (H, W, C) by ``AUGMENT_OPTIONS``.

    All that is random is drawn from the generator of the call.
    """

    def __init__(self, options, data_shape):
        self.o = options
        self.channels, self.height, self.width = data_shape
        if options["aug_seq"] not in ("aug_default", ""):
            raise ArgumentError(f"aug_seq is 'aug_default', got {shown(options['aug_seq'])}")
        check_inter_method(options["inter_method"])
        least = 0.0 if options["min_aspect_ratio"] is None else options["min_aspect_ratio"]
        if options["random_resized_crop"] and (
            options["max_random_area"] < options["min_random_area"]
            or options["max_aspect_ratio"] < least
        ):
            raise ArgumentError("random_resized_crop: the largest is less than the smallest")
        if options["random_resized_crop"]:
            for name in _OTHER_CROP_OPTIONS:
                if options[name] != AUGMENT_OPTIONS[name].default:
                    raise ArgumentError(
                        f"random_resized_crop and {name}={shown(options[name])} exclude each other"
                    )
        self.has_affine = bool(
            options["max_rotate_angle"] > 0
            or options["rotate"] > 0
            or options["max_shear_ratio"] > 0
            or options["min_img_size"] > 0
            or options["max_img_size"] < 1e10
            or (
                not options["random_resized_crop"]
                and (
                    (options["max_random_scale"], options["min_random_scale"]) != (1, 1)
                    or options["max_aspect_ratio"] > 0
                )
            )
        )

    def __call__(self, image, rng):
        o = self.o
        if o["resize"] > 0:
            height, width = image.shape[:2]
            short = o["resize"] / min(height, width)
            image = self._resize_image(
                image,
                o["resize"] if width <= height else int(width * short),
                o["resize"] if height <= width else int(height * short),
                rng,
            )
        if self.has_affine:
            image = self._apply_affine_change(image, rng)
        if o["pad"] > 0:
            image = add_border(image, [o["pad"]] * 4, o["fill_value"])
        image = self._crop_image(image, rng)
        if self.channels == 3:
            image = self._jitter_colors(image, rng)
        return image

    def _resize_image(self, image, width, height, rng):
        return resize_by_method(image, width, height, self.o["inter_method"], rng)

    def _apply_affine_change(self, image, rng):
        """Rotate, shear, scale and stretch an image by one affine map around its center."""
        o = self.o
        height, width = image.shape[:2]
        shear = rng.uniform(-o["max_shear_ratio"], o["max_shear_ratio"])
        angle = int(rng.integers(-o["max_rotate_angle"], o["max_rotate_angle"] + 1))
        if o["rotate"] > 0:
            angle = o["rotate"]
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        scale, ratio = 1.0, 1.0
        if not o["random_resized_crop"]:
            scale = rng.uniform(o["min_random_scale"], o["max_random_scale"])
            if o["min_aspect_ratio"] is not None:
                ratio = rng.uniform(o["min_aspect_ratio"], o["max_aspect_ratio"])
            else:
                ratio = 1 + rng.uniform(-o["max_aspect_ratio"], o["max_aspect_ratio"])
        along_y = 2 * scale / (1 + ratio)
        along_x = ratio * along_y
        wanted = np.float32(scale) * np.float32([width, height])  # float64 may give one more
        sides = wanted.clip(o["min_img_size"], o["max_img_size"])
        new_w, new_h = (max(int(side), 1) for side in sides)
        matrix = np.array(
            [
                [along_y * cos - shear * sin * along_x, along_y * sin + shear * cos * along_x, 0.0],
                [-sin * along_x, cos * along_x, 0.0],
            ]
        )
        matrix[:, 2] = (sides - matrix[:, :2] @ [width, height]) / 2
        interpolation = o["inter_method"] if o["inter_method"] < N_INTERPOLATIONS else 1
        fill = [float(o["fill_value"])] * 4
        out = cv().warpAffine(
            image,
            matrix,
            (new_w, new_h),
            flags=interpolation,
            borderMode=cv().BORDER_CONSTANT,
            borderValue=fill,
        )
        return out.reshape(new_h, new_w, image.shape[2])

    def _crop_image(self, image, rng):
        o = self.o
        box = self._random_area_box(image, rng) if o["random_resized_crop"] else None
        if box is not None:
            x, y, w, h = box
        elif o["max_crop_size"] != -1 or o["min_crop_size"] != -1:
            least, maximum = o["min_crop_size"], o["max_crop_size"]
            if not 0 < least <= maximum <= min(image.shape[:2]):
                raise ArgumentError(
                    f"a crop from {least} to {maximum} does not fit into an image of "
                    f"{image.shape[:2]}"
                )
            w = h = int(rng.integers(least, maximum + 1))
            x, y = self._crop_position(image, w, h, rng)
        else:
            image = self._enlarge_to_cover(image, rng)
            w, h = self.width, self.height
            x, y = self._crop_position(image, w, h, rng)
        return self._resize_image(image[y : y + h, x : x + w], self.width, self.height, rng)

    def _enlarge_to_cover(self, image, rng):
        """Enlarge an image until it covers the crop: by its height, then by its width, each time
        with its aspect ratio at that time."""
        height, width = image.shape[:2]
        if height < self.height:
            width, height = max(width * self.height // height, 1), self.height
            image = self._resize_image(image, width, height, rng)
        if width < self.width:
            height = max(height * self.width // width, self.height)
            image = self._resize_image(image, self.width, height, rng)
        return image

    def _crop_position(self, image, w, h, rng):
        free_x, free_y = image.shape[1] - w, image.shape[0] - h
        if self.o["rand_crop"]:
            return int(rng.integers(free_x + 1)), int(rng.integers(free_y + 1))
        return free_x // 2, free_y // 2

    def _random_area_box(self, image, rng):
        """Draw a crop (x, y, width, height) of random area and aspect ratio; None if no draw fits:
        the ordinary crop is used then."""
        o = self.o
        height, width = image.shape[:2]
        if o["min_aspect_ratio"] is not None:
            ratios = o["min_aspect_ratio"], o["max_aspect_ratio"]
        else:
            ratios = 1 - o["max_aspect_ratio"], 1 + o["max_aspect_ratio"]
        for _ in range(_MAX_ATTEMPTS):
            area = rng.uniform(o["min_random_area"], o["max_random_area"]) * height * width
            ratio = rng.uniform(*ratios)
            w, h = (round(math.sqrt(max(area * r, 0.0))) for r in (ratio, 1 / (ratio or 1.0)))
            if rng.integers(2):
                w, h = h, w
            if 0 < w <= width and 0 < h <= height:
                return int(rng.integers(width - w + 1)), int(rng.integers(height - h + 1)), w, h
        return None

    def _jitter_colors(self, image, rng):
        o = self.o
        jitters = [key for key in ("brightness", "contrast", "saturation") if o[key] > 0]
        if jitters:
            # each jitter is an affine color map, and so is their product: one pass over the pixels
            image = np.ascontiguousarray(image)
            means = np.array(cv().mean(image)[:3])
            whole = np.eye(3, 4)
            for i in rng.permutation(len(jitters)):
                whole = self._jitter_channel(jitters[i], whole, means, rng)
            image = cv().transform(image, whole)
        ranges = [o["random_h"], o["random_l"], o["random_s"]]  # HLS: OpenCV's order
        if any(ranges):
            image = shift_hls(image, [rng.integers(-r, r + 1) for r in ranges])
        if o["pca_noise"] > 0:
            alpha = rng.normal(0, o["pca_noise"], 3)
            shift = np.array(_PCA_VECTORS) * alpha @ np.array(_PCA_EIGENVALUES)
            image = cv().add(np.ascontiguousarray(image), (*shift, 0))
        return image

    def _jitter_channel(self, channel, whole, means, rng):
        """Append a jitter to the affine color map `whole` (3, 4); `means`: mean of each color."""
        alpha = 1 + rng.uniform(-self.o[channel], self.o[channel])
        out = whole * alpha
        if channel == "contrast":
            out[:, 3] += (1 - alpha) * (_GRAY_WEIGHTS.ravel() @ (whole @ [*means, 1]))
        elif channel == "saturation":
            out += (1 - alpha) * (_GRAY_WEIGHTS.ravel() @ whole)
        return out


class Normalizer:  # writes normalized pixels into a batch
    """Writes pixels into a batch: mirrored, as (C, H, W), normalized by ``NORMALIZE_OPTIONS``.

    Of bytes only the mean is taken away, and only of int8, as MXNet does; the rest would leave
    nothing of them.
    """

    def __init__(self, options, data_shape):
        self.o = options
        channels = data_shape[0]
        letters = "rgba"[:channels]
        self.mean = np.array([options[f"mean_{c}"] for c in letters], np.float32).reshape(-1, 1, 1)
        std = np.array([options[f"std_{c}"] for c in letters], np.float32).reshape(-1, 1, 1)
        if not std.all():
            raise ArgumentError("std_r, std_g, std_b and std_a are not 0")
        self.factor = np.float32(options["scale"]) / std
        if options["mean_img"]:
            found = load(options["mean_img"])
            found = next(iter(found.values() if isinstance(found, dict) else found)).asnumpy()
            if found.shape != tuple(data_shape):
                raise FormatError(
                    f"{shown(options['mean_img'])} has the shape {found.shape}, data_shape is"
                    f" {tuple(data_shape)}"
                )
            self.mean = found.astype(np.float32)  # replaces the channels' means, as in MXNet
        self.zero, self.one = (np.full(channels, each, np.float32) for each in (0, 1))
        self.by_pixel = self.mean.shape[1] > 1

    def _mean_for(self, mirrored):
        """Return the mean, as a mirrored mean image for a mirrored image."""
        return self.mean[..., ::-1] if mirrored else self.mean

    def __call__(self, image, out, rng):
        o = self.o
        mirrored = bool(o["mirror"] or (o["rand_mirror"] and rng.integers(2)))
        step, channels = image.strides[1], image.shape[2]
        if channels > 1 and (abs(step) != channels or image.strides[2] != 1):
            image = np.ascontiguousarray(image)
        if out.dtype == np.int8 and self.mean.any():
            less = np.empty(out.shape, np.float32)
            normalize_into(image, mirrored, self.zero, self.one, less)
            np.rint(less - self._mean_for(mirrored), out=less)
            out[...] = less.clip(-128, 127, out=less)
            return
        if out.dtype != np.float32:
            maximum = 127 if out.dtype == np.int8 else 255
            clip_pixels(image, mirrored, maximum, out.view(np.uint8))
            return
        factor, more = self.factor, None
        if o["max_random_contrast"] > 0 or o["max_random_illumination"] > 0:
            by = o["max_random_contrast"]
            factor = factor * np.float32(1 + rng.uniform(-by, by))
            by = o["max_random_illumination"]
            more = np.float32(rng.uniform(-by, by)) * self.factor
        if self.by_pixel:
            normalize_into(image, mirrored, self.zero, self.one, out)
            out -= self._mean_for(mirrored)
            out *= factor
        else:
            normalize_into(image, mirrored, self.mean.ravel(), factor.ravel(), out)
        if o["max_random_illumination"] > 0:
            out += more
