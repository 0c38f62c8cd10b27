"""Trains a network of the model zoo on images in folders, one folder for each class.

Images are .npy files, (H, W, 3) or (H, W) of uint8, and what Pillow reads, where it is installed:
.png, .jpg and so on. Without --images ten folders of the digits that ship are written first.
"""

import logging
from pathlib import Path

import common
import numpy as np
from common import positive

import cynet as mx
from cynet import gluon
from cynet.gluon.contrib.estimator import EpochEnd, Estimator
from cynet.gluon.data.vision import transforms
from cynet.gluon.model_zoo import vision

SUFFIXES = (".npy", ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".webp")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's, for trained weights


def read(path):
    """The image of a file: (H, W, 3) of uint8."""
    if path.suffix == ".npy":
        image = np.load(path)
    else:
        try:
            from PIL import Image
        except ImportError:
            raise SystemExit(
                f"{path}: reading {path.suffix} needs Pillow: pip install pillow"
            ) from None
        with Image.open(path) as file:
            image = np.asarray(file.convert("RGB"))
    if image.ndim == 2:
        image = image[..., None]
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] not in (1, 3):
        raise SystemExit(
            f"{path}: an image is (H, W, 3) of uint8, this is {image.shape} {image.dtype}"
        )
    return np.broadcast_to(image, (*image.shape[:2], 3))


def sized(image, size, row=0.5, column=0.5):
    """A square of the image, its shorter side scaled to `size`; `row` and `column` from 0 to 1 say
    where the square lies on the longer one."""
    height, width = image.shape[:2]
    side = min(height, width)
    top, left = int((height - side) * row), int((width - side) * column)
    at = np.clip((np.arange(size) + 0.5) * side / size - 0.5, 0, side - 1)
    low = np.minimum(at.astype(int), max(side - 2, 0))
    high, part = np.minimum(low + 1, side - 1), (at - low).astype(np.float32)
    square = image[top : top + side, left : left + side].astype(np.float32)
    rows = square[low] + (square[high] - square[low]) * part[:, None, None]
    out = rows[:, low] + (rows[:, high] - rows[:, low]) * part[:, None]
    return out.round().astype(np.uint8)


class Images(gluon.data.Dataset):
    """Pairs (image (size, size, 3) of uint8, label) of files.

    Parameters
    ----------
    files : list of (path, label)
    size : int
    moved : bool
        Take a random square of each, for training.
    """

    def __init__(self, files, size, moved=False):
        self._files, self._size, self._moved = files, size, moved

    def __len__(self):
        return len(self._files)

    def __getitem__(self, i):
        path, label = self._files[i]
        place = np.random.rand(2) if self._moved else (0.5, 0.5)
        return mx.nd.array(sized(read(path), self._size, *place), dtype="uint8"), label


def files_in(folder):
    """(names of classes, list of (path, label)) of a folder that has a folder for each class."""
    classes = sorted(each.name for each in Path(folder).iterdir() if each.is_dir())
    files = [
        (path, label)
        for label, name in enumerate(classes)
        for path in sorted(Path(folder, name).iterdir())
        if path.suffix.lower() in SUFFIXES
    ]
    if len(classes) < 2 or not files:
        raise SystemExit(f"--images {folder}: there must be two folders of images or more in it")
    return classes, files


def write_digits(folder):
    """The digits that ship as folders of .npy files."""
    for part, (images, labels) in zip(("train", "val"), common.digits()):
        for i, (image, label) in enumerate(zip(images, labels)):
            place = Path(folder, str(label))
            place.mkdir(parents=True, exist_ok=True)
            np.save(place / f"{part}{i:04d}.npy", image[..., 0])


def network(name, classes, pretrained, ctx):
    """A network of the model zoo; with trained features where that is asked for."""
    net = vision.get_model(name, classes=classes)
    if pretrained:
        net.features = vision.get_model(name, pretrained=True, ctx=ctx).features
        net.output.initialize(mx.init.Xavier(), ctx=ctx)
    else:
        net.initialize(mx.init.Xavier(magnitude=2), ctx=ctx)
    return net


def predict(path, folder, name, size):
    """The class of one image, by the model that a run before has saved."""
    classes = Path(folder, "classes.txt").read_text().split("\n")
    net = gluon.SymbolBlock.imports(
        str(Path(folder, f"{name}-symbol.json")), "data", str(Path(folder, f"{name}-0000.params"))
    )
    steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    image = mx.nd.array(sized(read(Path(path)), size), dtype="uint8")
    chances = mx.nd.softmax(net(steps(image).expand_dims(0)))[0].asnumpy()
    best = int(chances.argmax())
    logging.info("%s: %s (%.0f %%)", path, classes[best], 100 * chances[best])
    return classes[best]


class Curve(EpochEnd):
    """Notes the estimator's metrics after each epoch."""

    def __init__(self, history):
        self.history = history

    def epoch_end(self, estimator, *args, **kwargs):
        loss, accuracy = estimator.train_metrics[1], estimator.val_metrics[0]
        self.history.add(loss.get()[1], accuracy.get()[1])


def main(argv=None):
    """Train; returns the validation accuracy, or with --predict the class."""
    parser = common.parser(__doc__, epochs=8, lr=0.003)
    parser.add_argument("--images", metavar="DIR", help="a folder with a folder for each class")
    parser.add_argument("--network", default="mobilenet0.25", help="a name of the model zoo")
    parser.add_argument("--size", type=positive, default=64, help="pixels of a side; most take 224")
    parser.add_argument("--pretrained", action="store_true", help="begin with ImageNet's weights")
    parser.add_argument("--flip", action="store_true", help="mirror images at random in training")
    parser.add_argument("--predict", metavar="IMAGE", help="say the class of this one, and no more")
    args = parser.parse_args(argv)
    if args.images is not None and not Path(args.images).is_dir():
        parser.error(f"--images: there is no folder {args.images}")
    ctx = common.start(args)
    if args.predict:
        return predict(args.predict, args.out, args.network, args.size)
    folder = args.images
    if folder is None:
        folder = Path(args.out, "digits")
        write_digits(folder)
    classes, files = files_in(folder)
    held_back = [i % 5 == 4 for i in range(len(files))]
    train = [each for each, held in zip(files, held_back) if not held]
    val = [each for each, held in zip(files, held_back) if held]
    logging.info("%d classes, %d images, %d for validation", len(classes), len(files), len(val))

    steps = [transforms.RandomFlipLeftRight()] if args.flip else []
    steps += [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    plain = transforms.Compose(steps[-2:])
    train = gluon.data.DataLoader(
        Images(train, args.size, moved=True).transform_first(transforms.Compose(steps)),
        args.batch_size,
        shuffle=True,
        last_batch="discard",
        num_workers=args.workers,
    )
    val = gluon.data.DataLoader(
        Images(val, args.size).transform_first(plain), args.batch_size, num_workers=args.workers
    )

    net = network(args.network, len(classes), args.pretrained, ctx)
    if not args.eager:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    estimator = Estimator(net, loss, trainer=trainer, context=ctx)
    estimator.logger.setLevel(logging.WARNING)  # `history` has the lines
    history = common.History("loss", "accuracy")
    estimator.fit(train, val, epochs=args.epochs, event_handlers=Curve(history))

    Path(args.out, "classes.txt").write_text("\n".join(classes))
    example = mx.nd.zeros((1, 3, args.size, args.size), ctx=ctx)
    common.finish(args, args.network, net, history, example)
    logging.info(
        "or: python %s --network %s --size %d --out %s --predict %s",
        __file__,
        args.network,
        args.size,
        args.out,
        files[4][0],
    )
    return history.rows[-1][1]


if __name__ == "__main__":
    main()
