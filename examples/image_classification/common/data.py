"""The data sets of the examples: MNIST, and the bundled digits if MNIST is not found."""

import logging
from pathlib import Path

import numpy as np

import cynet as mx

IMAGE_SHAPE = (1, 28, 28)  # shape of an image of both data sets
DIGITS = Path(__file__).parent.parent / "data" / "digits.npz"


def add_data_args(parser):
    """Add the options that say which data is read from where."""
    group = parser.add_argument_group("data")
    group.add_argument(
        "--dataset",
        choices=("auto", "mnist", "digits"),
        default="auto",
        help="auto: MNIST, or the bundled digits if it is neither on disk nor downloadable",
    )
    group.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder of MNIST's IDX files, plain or .gz (default: CYNET_DATA_DIR, "
        "else a cache folder)",
    )


def enlarge(images, size=20, frame=28):
    """Images (N, h, w) as (N, 1, frame, frame): linear interpolation to size x size, centred.

    Pixel centres keep their place: target pixel i lies at (i + 0.5) * h / size - 0.5 of the source,
    and beyond the outermost centres the edge value holds.
    """

    def weights(length):
        at = np.clip((np.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
        low = np.minimum(at.astype(int), length - 2)
        matrix = np.zeros((size, length), np.float32)
        matrix[np.arange(size), low] = 1 - (at - low)
        matrix[np.arange(size), low + 1] = at - low
        return matrix

    out = np.zeros((len(images), 1, frame, frame), np.float32)
    edge = (frame - size) // 2
    inner = slice(edge, edge + size)
    out[:, 0, inner, inner] = weights(images.shape[1]) @ images @ weights(images.shape[2]).T
    return out


def load_digits():
    """The bundled digits, in the form that `mx.test_utils.get_mnist` gives MNIST."""
    with np.load(DIGITS) as file:
        images = enlarge(file["images"].astype(np.float32) / 16)
        labels = file["labels"].astype(np.float32)
    validation = np.arange(len(labels)) % 5 == 4
    return {
        "train_data": images[~validation],
        "train_label": labels[~validation],
        "test_data": images[validation],
        "test_label": labels[validation],
    }


def load(args):
    """The arrays ``train_data, train_label, test_data, test_label`` that `args` asks for."""
    if args.data_dir and not Path(args.data_dir).is_dir():
        raise SystemExit(f"--data-dir {args.data_dir}: there is no such folder")
    if args.dataset == "digits":
        return load_digits()
    print("loading MNIST, from disk or the net ...", flush=True)
    try:
        return mx.test_utils.get_mnist(args.data_dir)
    except OSError as error:
        if args.dataset == "mnist" or args.data_dir:
            raise
        logging.warning("MNIST was not found (%s): using 1,797 bundled digits", error)
        return load_digits()


def iterators(args, kv):
    """Training and validation iterators; each worker of `kv` trains on its share of the images."""
    data = load(args)
    share = slice(kv.rank, None, kv.num_workers)
    train = mx.io.NDArrayIter(
        data["train_data"][share], data["train_label"][share], args.batch_size, shuffle=True
    )
    val = mx.io.NDArrayIter(data["test_data"], data["test_label"], args.batch_size)
    return train, val
