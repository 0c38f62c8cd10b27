"""Finds what a trained detector knows in image files, and draws it on them."""

import colorsys
import logging
import sys
from pathlib import Path

import numpy as np
from dataset import CLASSES
from symbols.ssd import NETWORKS, get_symbol

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common

MEAN, STD = np.array([123.68, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])


def parse_args(argv=None):
    """The command line; ``--help`` shows all options with their defaults."""
    others = ["epochs", "batch_size", "lr", "seed", "workers", "eager", "gpu"]
    parser = common.parser(__doc__, without=others)
    add = parser.add_argument
    add("images", nargs="+", metavar="IMAGE", help="files, or .rec files with pictures of a set")
    add("--network", choices=sorted(NETWORKS), default="tiny", help="the one that was trained")
    add("--prefix", default="out/ssd", help="prefix of the checkpoint")
    add("--epoch", type=int, help="epoch of the checkpoint; none: the newest that is there")
    add("--data-shape", type=common.positive, help="side of the images; none: the network's")
    add("--class-names", help="names of the classes, with commas between them; none: the shapes'")
    add("--threshold", type=float, default=0.5, help="least score of what is drawn")
    add("--nms-threshold", type=float, default=0.5, help="most overlap of two boxes of a class")
    add("--most", type=common.positive, default=8, help="pictures of a .rec file")
    return parser.parse_args(argv)


class Detector:
    """A checkpoint that detects; ``detector(image)`` gives rows (class, score, corners).

    Parameters
    ----------
    args : argparse.Namespace
    num_classes : int
    """

    def __init__(self, args, num_classes):
        self.side = args.data_shape or NETWORKS[args.network][1]
        network = get_symbol(args.network, num_classes, nms_threshold=args.nms_threshold)
        epoch = args.epoch
        if epoch is None:
            newest = mx.model.find_checkpoint(args.prefix, states=False)
            if newest is None:
                raise SystemExit(
                    f"error: there is no {args.prefix}-0001.params or a later one; train.py writes"
                    " it, and --prefix says where it is"
                )
            epoch = newest.epoch
        arg_params, aux_params = mx.model.load_params(args.prefix, epoch)
        self._module = mx.mod.Module(network, label_names=None)
        self._module.bind([("data", (1, 3, self.side, self.side))], for_training=False)
        self._module.set_params(arg_params, aux_params, allow_extra=True)

    def __call__(self, image, threshold=0.5):
        """Rows of an image (H, W, 3), the best score first; corners from 0 to 1."""
        small = mx.image.imresize(image, self.side, self.side).astype("float32")
        data = mx.nd.transpose((small - mx.nd.array(MEAN)) / mx.nd.array(STD), axes=(2, 0, 1))
        self._module.forward(mx.io.DataBatch([data.expand_dims(0)]), is_train=False)
        rows = self._module.get_outputs()[0].asnumpy()[0]
        return rows[(rows[:, 0] >= 0) & (rows[:, 1] >= threshold)]


def draw(image, rows, names):
    """The image (H, W, 3) as a NumPy array with boxes, names and scores on it."""
    import cv2

    pixels = image.asnumpy()
    zoom = max(1, 384 // max(pixels.shape))  # names stay readable on small pictures
    pixels = np.ascontiguousarray(pixels.repeat(zoom, 0).repeat(zoom, 1))
    height, width = pixels.shape[:2]
    for kind, score, *box in rows:
        hue = colorsys.hsv_to_rgb(kind / len(names), 0.9, 1)
        color = tuple(int(255 * c) for c in hue)
        left, top, right, bottom = (np.array(box) * [width, height, width, height]).astype(int)
        cv2.rectangle(pixels, (left, top), (right, bottom), color, 2)
        text = f"{names[int(kind)]} {score:.2f}"
        cv2.putText(
            pixels, text, (left + 2, max(top - 3, 10)), cv2.FONT_HERSHEY_SIMPLEX, 0.35, color, 1
        )
    return pixels


def pictures(paths, maximum):
    """(name, image) of files, and of the first pictures in files of records."""
    for path in map(Path, paths):
        if path.suffix != ".rec":
            yield path.stem, mx.image.imread(str(path))
            continue
        record = mx.recordio.MXRecordIO(str(path), "r")
        for number in range(maximum):
            content = record.read()
            if content is None:
                break
            yield f"{path.stem}_{number}", mx.image.imdecode(mx.recordio.unpack(content)[1])
        record.close()


def main(argv=None):
    """Detect in all images."""
    import cv2

    args = parse_args(argv)
    names = args.class_names.split(",") if args.class_names else list(CLASSES)
    common.start(args)
    try:
        detector = Detector(args, len(names))
        logging.info("classes: %s", ", ".join(names))
        for name, image in pictures(args.images, args.most):
            rows = detector(image, args.threshold)
            target = Path(args.out) / f"{name}-found.png"
            cv2.imwrite(str(target), draw(image, rows, names)[:, :, ::-1])
            found = ", ".join(f"{names[int(r[0])]} {r[1]:.2f}" for r in rows) or "nothing"
            logging.info("%s: %s", found, target)
    except (OSError, mx.base.MXNetError) as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
