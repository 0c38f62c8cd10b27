"""Parameters of ImageRecordIter and variants: MXNet 1.9.1's names, defaults and ranges."""

import ast
from typing import NamedTuple

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, listed, shown
from ..base.files import file_name
from ..io.rows_iter import parse_flag, resolve_data_part


class Option(NamedTuple):  # an iterator's parameter: default, type, description
    """A parameter: its default, its type, and its description."""

    default: object
    kind: type
    doc: str


def _parse_integer(value):
    """Convert an integer or its string; refuse fractions."""
    number = int(value)
    if not isinstance(value, (str, bytes)) and number != value:
        raise ArgumentError(value)
    return number


def _parse_text(value):
    if not isinstance(value, str):
        raise ArgumentTypeError(value)
    return value


def _parse_path(value):
    """Convert a file name; None and an empty name mean no file."""
    return "" if value is None or value == "" else file_name(value)


def _dtype_name(value):
    return np.dtype(value).name


def _tuple_parser(number_type):
    """Make a parser of tuples of numbers from one value, several, or text: ``"(3, 224, 224)"``."""

    def parse_values(given):
        if isinstance(given, str):
            given = ast.literal_eval(given)
        if isinstance(given, (int, float)):
            given = (given,)
        found = tuple(number_type(each) for each in given)
        if not found:
            raise ArgumentError("no values")
        return found

    return parse_values


def _enum_parser(*words):
    def parse_choice(given):
        if given not in words:
            raise ArgumentError(given)
        return given

    return parse_choice


READ_OPTIONS = {  # how records are read: files, batches, threads
    "path_imgrec": Option("", _parse_path, "file of records; several with ; between, or a folder"),
    "path_imgidx": Option(
        "", _parse_path, "its index; without one the file is looked through first"
    ),
    "path_imglist": Option("", _parse_path, "list file whose labels replace those of the records"),
    "label_width": Option(1, _parse_integer, "numbers of a label"),
    "data_shape": Option(
        None, _tuple_parser(_parse_integer), "(channels, height, width); 1, 3 or 4 channels"
    ),
    "batch_size": Option(None, _parse_integer, "images of a batch"),
    "preprocess_threads": Option(4, _parse_integer, "threads that decode and augment"),
    "prefetch_buffer": Option(4, _parse_integer, "batches that are made ahead"),
    "num_parts": Option(
        1, _parse_integer, "parts that the file is cut into; a KVStore: one for each rank"
    ),
    "part_index": Option(0, _parse_integer, "which of them is read"),
    "round_batch": Option(
        True, parse_flag, "the next epoch begins behind what filled the last batch"
    ),
    "shuffle": Option(False, parse_flag, "another order each epoch"),
    "seed": Option(0, _parse_integer, "of the order"),
    "seed_aug": Option(None, _parse_integer, "of what augmenters draw; None: `seed`"),
    "shuffle_chunk_size": Option(
        0, _parse_integer, "taken, and not needed: all records are shuffled"
    ),
    "shuffle_chunk_seed": Option(0, _parse_integer, "added to `seed` for the order"),
    "verbose": Option(True, parse_flag, "log how many images there are"),
    "dtype": Option(None, _dtype_name, "float32, uint8 or int8; None: the iterator's"),
    "ctx": Option("gpu", _parse_text, "taken, and not needed"),
    "device_id": Option(0, _parse_integer, "taken, and not needed: batches are on the CPU"),
    "data_name": Option("data", _parse_text, "name of the images"),
    "label_name": Option("softmax_label", _parse_text, "name of the labels"),
    "skip_damaged": Option(False, parse_flag, "leave out and count images that cannot be read"),
}
AUGMENT_OPTIONS = {  # random changes of images
    "aug_seq": Option("aug_default", _parse_text, "the one list of augmenters that there is"),
    "resize": Option(-1, _parse_integer, "length of the shorter side at first"),
    "rand_crop": Option(False, parse_flag, "a crop anywhere; else in the middle"),
    "random_resized_crop": Option(False, parse_flag, "a crop of random area and ratio of sides"),
    "max_rotate_angle": Option(0, _parse_integer, "turned by up to so many degrees"),
    "max_aspect_ratio": Option(0.0, float, "width / height changed by up to it, or up to it"),
    "min_aspect_ratio": Option(None, float, "least width / height"),
    "max_shear_ratio": Option(0.0, float, "sheared by up to it"),
    "max_crop_size": Option(-1, _parse_integer, "largest side of a square crop"),
    "min_crop_size": Option(-1, _parse_integer, "smallest side of a square crop"),
    "max_random_scale": Option(1.0, float, "largest factor of both sides"),
    "min_random_scale": Option(1.0, float, "smallest factor of both sides"),
    "max_random_area": Option(1.0, float, "largest part of `random_resized_crop`"),
    "min_random_area": Option(1.0, float, "smallest part of `random_resized_crop`"),
    "max_img_size": Option(1e10, float, "largest side after turning and scaling"),
    "min_img_size": Option(0.0, float, "smallest side after turning and scaling"),
    "brightness": Option(0.0, float, "range of the jitter"),
    "contrast": Option(0.0, float, "range of the jitter"),
    "saturation": Option(0.0, float, "range of the jitter"),
    "pca_noise": Option(0.0, float, "standard deviation along principal components"),
    "random_h": Option(0, _parse_integer, "range added to the hue, of 180"),
    "random_s": Option(0, _parse_integer, "range added to the saturation, of 255"),
    "random_l": Option(0, _parse_integer, "range added to the lightness, of 255"),
    "rotate": Option(-1, _parse_integer, "turned by so many degrees"),
    "fill_value": Option(255, _parse_integer, "color of what lies outside of the image"),
    "inter_method": Option(1, _parse_integer, "0 to 4, 9 or 10, as of mx.image.imresize"),
    "pad": Option(0, _parse_integer, "a border of so many pixels"),
}
NORMALIZE_OPTIONS = {  # mirroring, mean, scale
    "mirror": Option(False, parse_flag, "every image mirrored"),
    "rand_mirror": Option(False, parse_flag, "every second one mirrored"),
    "mean_img": Option("", _parse_path, "file of an array to take away; made if it is not there"),
    "mean_r": Option(0.0, float, "taken away from red"),
    "mean_g": Option(0.0, float, "taken away from green"),
    "mean_b": Option(0.0, float, "taken away from blue"),
    "mean_a": Option(0.0, float, "taken away from the fourth channel"),
    "std_r": Option(1.0, float, "divides red"),
    "std_g": Option(1.0, float, "divides green"),
    "std_b": Option(1.0, float, "divides blue"),
    "std_a": Option(1.0, float, "divides the fourth channel"),
    "scale": Option(1.0, float, "multiplies all"),
    "max_random_contrast": Option(0.0, float, "range of a factor around 1"),
    "max_random_illumination": Option(0.0, float, "range of what is added"),
}
BOX_READ_OPTIONS = READ_OPTIONS | {  # of images with boxes
    "label_width": Option(-1, _parse_integer, "numbers of every label; -1: as each one has them"),
    "label_pad_width": Option(0, _parse_integer, "length of a label; 0 or -1: that of the longest"),
    "label_pad_value": Option(-1.0, float, "what fills up a label"),
}
NON_BOX_OPTIONS = ("mirror", "rand_mirror", "max_random_contrast", "max_random_illumination")
BOX_NORMALIZE_OPTIONS = {  # of images with boxes
    name: option for name, option in NORMALIZE_OPTIONS.items() if name not in NON_BOX_OPTIONS
} | {f"std_{c}": Option(0.0, float, "divides this channel; 0: it does not") for c in "rgba"}
_PER_CROP = "; one for each kind of crop, or one for all"  # ends descriptions of crop options
BOX_AUGMENT_OPTIONS = {  # random changes of images with boxes
    "aug_seq": Option("det_aug_default", _parse_text, "the one list of augmenters that there is"),
    "resize": Option(-1, _parse_integer, "length of the shorter side at first"),
    "rand_crop_prob": Option(0.0, float, "probability of a crop"),
    "num_crop_sampler": Option(1, _parse_integer, "kinds of crops"),
    "min_crop_scales": Option((0.0,), _tuple_parser(float), "least side, of 1" + _PER_CROP),
    "max_crop_scales": Option((1.0,), _tuple_parser(float), "largest side, of 1" + _PER_CROP),
    "min_crop_aspect_ratios": Option(
        (1.0,), _tuple_parser(float), "least width / height" + _PER_CROP
    ),
    "max_crop_aspect_ratios": Option(
        (1.0,), _tuple_parser(float), "largest width / height" + _PER_CROP
    ),
    "min_crop_overlaps": Option(
        (0.0,), _tuple_parser(float), "least part of crop and object" + _PER_CROP
    ),
    "max_crop_overlaps": Option((1.0,), _tuple_parser(float), "largest part of both" + _PER_CROP),
    "min_crop_sample_coverages": Option(
        (0.0,), _tuple_parser(float), "least part of crop" + _PER_CROP
    ),
    "max_crop_sample_coverages": Option(
        (1.0,), _tuple_parser(float), "largest part of crop" + _PER_CROP
    ),
    "min_crop_object_coverages": Option(
        (0.0,), _tuple_parser(float), "least part of object" + _PER_CROP
    ),
    "max_crop_object_coverages": Option(
        (1.0,), _tuple_parser(float), "largest part of it" + _PER_CROP
    ),
    "max_crop_trials": Option(
        (25,), _tuple_parser(_parse_integer), "after so many another kind" + _PER_CROP
    ),
    "crop_emit_mode": Option(
        "center", _enum_parser("center", "overlap"), "'center' or 'overlap': what must be in a crop"
    ),
    "emit_overlap_thresh": Option(0.3, float, "for 'overlap': which part of an object"),
    "rand_pad_prob": Option(0.0, float, "probability of a border"),
    "max_pad_scale": Option(1.0, float, "largest factor of both sides by it"),
    "max_random_hue": Option(0, _parse_integer, "range added to the hue, of 180"),
    "random_hue_prob": Option(0.0, float, "probability of that"),
    "max_random_saturation": Option(0, _parse_integer, "range added to the saturation, of 255"),
    "random_saturation_prob": Option(0.0, float, "probability of that"),
    "max_random_illumination": Option(0, _parse_integer, "range added to the lightness, of 255"),
    "random_illumination_prob": Option(0.0, float, "probability of that"),
    "max_random_contrast": Option(0.0, float, "range of a factor around 1"),
    "random_contrast_prob": Option(0.0, float, "probability of that"),
    "rand_mirror_prob": Option(0.0, float, "probability of a mirror image"),
    "fill_value": Option(127, _parse_integer, "color of the border"),
    "inter_method": Option(1, _parse_integer, "0 to 4, 9 or 10, as of mx.image.imresize"),
    "resize_mode": Option(
        "force",
        _enum_parser("force", "fit", "shrink"),
        "'force': to data_shape; 'fit': until one side is that; 'shrink': that, not enlarged",
    ),
}


def read_options(name, table, given):
    """Return the values of all options of a table, given some of them.

    Raises ArgumentTypeError when there is no such option, or one that is required is missing.
    Raises ArgumentError when a value is of no use; the message names the option.
    """
    unknown = sorted(given.keys() - table.keys())
    if unknown:
        raise ArgumentTypeError(f"{name} has no parameters {listed(unknown)}")
    if "num_parts" in given:
        parts = resolve_data_part(given["num_parts"], given.get("part_index", 0), name)
        given = {**given, "num_parts": parts[0], "part_index": parts[1]}
    values = {}
    for key, option in table.items():
        value = given.get(key, option.default)
        if value is None and option.default is None and key in ("data_shape", "batch_size"):
            raise ArgumentTypeError(f"{name} needs {key}")
        try:
            values[key] = (
                option.kind(value) if value is not None or option.kind is _parse_path else None
            )
        except (TypeError, ValueError, OverflowError, SyntaxError, MemoryError, RecursionError):
            raise ArgumentError(f"{name}: {key}={shown(value)}: {option.doc}") from None
    return values
