"""Images from files of records, and random ones to see what training costs without reading."""

from pathlib import Path

import numpy as np

import cynet as mx

# Random changes of images, in three levels; each level has those below it.
_LEVELS = (
    {"random_crop": 1, "random_mirror": 1},
    {"max_random_h": 36, "max_random_s": 50, "max_random_l": 50},
    {"max_random_rotate_angle": 10, "max_random_shear_ratio": 0.1, "max_random_aspect_ratio": 0.25},
)
_SYNTHETIC_BATCHES = 500


def numbers(text):
    """Floats from text such as ``123.68,116.78,103.94``; a type of options."""
    return [float(part) for part in text.split(",")]


def shape(text):
    """(channels, height, width) from text such as ``3,224,224``; a type of options."""
    found = tuple(int(part) for part in text.split(","))
    if len(found) != 3 or found[0] not in (1, 3, 4) or min(found) < 1:
        raise ValueError
    return found


def add_image_args(parser):
    """Add the options that say what the network sees; they must be the same wherever it is used."""
    group = parser.add_argument_group("images")
    group.add_argument(
        "--image-shape", type=shape, default="3,224,224", help="channels, height, width"
    )
    group.add_argument(
        "--rgb-mean",
        type=numbers,
        default="123.68,116.779,103.939",
        help="mean of each channel, subtracted",
    )
    group.add_argument(
        "--rgb-std",
        type=numbers,
        default="1,1,1",
        help="standard deviation of each channel, divided by",
    )
    return group


def add_data_args(parser):
    """Add the options that say which records are read."""
    add_image_args(parser)
    group = parser.add_argument_group("records")
    group.add_argument("--data-train", metavar="FILE.rec", help="training records")
    group.add_argument(
        "--data-train-idx", default="", metavar="FILE.idx", help="index of --data-train"
    )
    group.add_argument("--data-val", metavar="FILE.rec", help="validation records")
    group.add_argument("--data-val-idx", default="", metavar="FILE.idx", help="index of --data-val")
    group.add_argument("--num-classes", type=int, default=1000, help="number of classes")
    group.add_argument("--num-examples", type=int, help="images per epoch (default: all)")
    group.add_argument(
        "--data-nthreads", type=int, default=4, help="threads that read and decode images"
    )
    group.add_argument(
        "--benchmark",
        type=int,
        choices=(0, 1),
        default=0,
        help="1: train on random images, to measure speed",
    )


def add_augmentation_args(parser):
    """Add the options that say how images are changed at random."""
    group = parser.add_argument_group("augmentation")
    add = group.add_argument
    add("--random-crop", type=int, choices=(0, 1), default=0, help="1: crop at a random place")
    add("--random-mirror", type=int, choices=(0, 1), default=0, help="1: mirror half of the images")
    add("--pad-size", type=int, default=0, help="pad each side by this many pixels")
    add("--fill-value", type=int, default=127, help="gray value of padding")
    add("--max-random-h", type=int, default=0, help="largest random change of the hue (0-180)")
    add(
        "--max-random-s",
        type=int,
        default=0,
        help="largest random change of the saturation (0-255)",
    )
    add("--max-random-l", type=int, default=0, help="largest random change of the lightness")
    add("--min-random-aspect-ratio", type=float, help="smallest width / height")
    add("--max-random-aspect-ratio", type=float, default=0, help="largest width / height")
    add("--max-random-rotate-angle", type=int, default=0, help="largest rotation, in degrees")
    add("--max-random-shear-ratio", type=float, default=0, help="largest shear")
    add("--max-random-scale", type=float, default=1, help="largest factor of the size")
    add("--min-random-scale", type=float, default=1, help="smallest factor of the size")
    add("--max-random-area", type=float, default=1, help="largest share of the area in a crop")
    add("--min-random-area", type=float, default=1, help="smallest share of the area in a crop")
    add("--max-crop-size", type=int, default=-1, help="largest side of a crop; -1: no limit")
    add("--min-crop-size", type=int, default=-1, help="smallest side of a crop; -1: no limit")
    add("--brightness", type=float, default=0, help="random brightness, +- this share")
    add("--contrast", type=float, default=0, help="random contrast, +- this share")
    add("--saturation", type=float, default=0, help="random saturation, +- this share")
    add("--pca-noise", type=float, default=0, help="standard deviation of PCA color noise")
    add(
        "--random-resized-crop",
        type=int,
        choices=(0, 1),
        default=0,
        help="1: crop a random area with a random aspect ratio",
    )


def set_augmentation_level(parser, level):
    """Make the options of the first `level` levels the defaults: 1 crops and mirrors, 2 changes
    colors, 3 turns and stretches."""
    for options in _LEVELS[:level]:
        parser.set_defaults(**options)


class SyntheticIter(mx.io.DataIter):
    """The same random images again and again.

    Parameters
    ----------
    image_shape : tuple of int
    num_classes, batch_size, batches : int
    """

    def __init__(self, image_shape, num_classes, batch_size, batches):
        super().__init__(batch_size)
        rng = np.random.default_rng(0)
        data = mx.nd.array(rng.uniform(-1, 1, (batch_size, *image_shape)))
        label = mx.nd.array(rng.integers(0, num_classes, batch_size))
        self.provide_data = [mx.io.DataDesc("data", data.shape)]
        self.provide_label = [mx.io.DataDesc("softmax_label", label.shape)]
        self.num_data = batches * batch_size
        self._same, self._batches, self._given = mx.io.DataBatch([data], [label], 0), batches, 0

    def reset(self):
        self._given = 0

    def next(self):
        if self._given == self._batches:
            raise StopIteration
        self._given += 1
        return self._same


def _channels(args, what):
    given = getattr(args, what)
    channels = args.image_shape[0]
    if len(given) not in (1, channels):
        raise SystemExit(f"--{what.replace('_', '-')} has {len(given)} numbers, not {channels}")
    given = given * channels if len(given) == 1 else given
    return dict(zip((f"{what[4:]}_{c}" for c in "rgba"), given))


def reader(args, option, path, index="", **options):
    """An ImageRecordIter with the options of the images; a file that is none ends the program."""
    if not Path(path).is_file():
        raise SystemExit(f"{option} {path}: there is no such file (cynet.tools.im2rec makes one)")
    try:
        return mx.io.ImageRecordIter(
            path_imgrec=path,
            path_imgidx=index,
            data_shape=args.image_shape,
            batch_size=args.batch_size,
            preprocess_threads=args.data_nthreads,
            **_channels(args, "rgb_mean"),
            **_channels(args, "rgb_std"),
            **options,
        )
    except (OSError, mx.base.MXNetError) as error:
        raise SystemExit(f"{option} {path}: {error}") from None


def iterators(args, kv):
    """Training and validation iterators; the latter is None where there are no images for it."""
    if args.benchmark:
        batches = _SYNTHETIC_BATCHES
        if args.num_examples:
            batches = max(args.num_examples // args.batch_size, 1)
        return SyntheticIter(args.image_shape, args.num_classes, args.batch_size, batches), None
    if not args.data_train:
        raise SystemExit("--data-train FILE.rec: which images? (--benchmark 1: random ones)")
    share = {"num_parts": kv.num_workers, "part_index": kv.rank}
    train = reader(
        args,
        "--data-train",
        args.data_train,
        args.data_train_idx,
        shuffle=True,
        seed=args.seed,
        rand_crop=bool(args.random_crop),
        rand_mirror=bool(args.random_mirror),
        pad=args.pad_size,
        fill_value=args.fill_value,
        random_h=args.max_random_h,
        random_s=args.max_random_s,
        random_l=args.max_random_l,
        min_aspect_ratio=args.min_random_aspect_ratio,
        max_aspect_ratio=args.max_random_aspect_ratio,
        max_rotate_angle=args.max_random_rotate_angle,
        max_shear_ratio=args.max_random_shear_ratio,
        max_random_scale=args.max_random_scale,
        min_random_scale=args.min_random_scale,
        max_random_area=args.max_random_area,
        min_random_area=args.min_random_area,
        max_crop_size=args.max_crop_size,
        min_crop_size=args.min_crop_size,
        brightness=args.brightness,
        contrast=args.contrast,
        saturation=args.saturation,
        pca_noise=args.pca_noise,
        random_resized_crop=bool(args.random_resized_crop),
        **share,
    )
    val = None
    if args.data_val:
        val = reader(
            args, "--data-val", args.data_val, args.data_val_idx, round_batch=False, **share
        )
    return train, val
