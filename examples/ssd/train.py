"""Trains a single-shot detector on records of pictures and boxes; without records on shapes that
it draws itself."""

import logging
import math
import random
import sys
from pathlib import Path

from dataset import CLASSES, iterators
from metric import MultiBoxMetric
from symbols.ssd import NETWORKS, get_symbol_train

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


def parse_args(argv=None):
    """The command line; ``--help`` shows all options with their defaults."""
    parser = common.parser(
        __doc__, without=["workers", "eager", "gpu"], epochs=10, batch_size=16, lr=0.004
    )
    add = parser.add_argument
    add("--network", choices=sorted(NETWORKS), default="tiny", help="vgg16_reduced: SSD-300")
    add("--data-shape", type=common.positive, help="side of the images; none: the network's")
    add("--data-train", metavar="FILE.rec", help="records to train on, with FILE.idx beside them")
    add("--data-val", metavar="FILE.rec", help="records to validate on")
    add("--pictures", type=common.positive, default=240, help="how many are drawn to train on")
    add("--class-names", help="names of the classes, with commas between them; none: the shapes'")
    add("--rand-crop", type=float, default=0.3, help="probability of a crop")
    add("--rand-pad", type=float, default=0.3, help="probability of a border")
    add("--pretrained", metavar="FILE.params", help="weights to begin with, where they fit")
    add("--optimizer", default="adam", help="name of the optimizer")
    add("--wd", type=float, default=0.0005, help="weight decay")
    return parser.parse_args(argv)


def pretrained(path, network, images):
    """Weights and auxiliary states of a file that fit by name and shape, two dicts."""
    given = {each.name: each.shape for each in [*images.provide_data, *images.provide_label]}
    args, _, states = network.infer_shape(**given)
    loaded, found = mx.nd.load(path), []
    for kind, names, shapes in (
        ("arg", network.list_arguments(), args),
        ("aux", network.list_auxiliary_states(), states),
    ):
        arrays = {name: loaded.get(f"{kind}:{name}", loaded.get(name)) for name in names}
        wanted = dict(zip(names, shapes))
        found.append({n: a for n, a in arrays.items() if a is not None and a.shape == wanted[n]})
    logging.info("%d of %d arrays of %s fit", sum(map(len, found)), len(loaded), path)
    return found


def train(args, names, images, val):
    """Train as `args` say; returns what `fit` gives."""
    network = get_symbol_train(args.network, len(names))
    batches = math.ceil(len(images.seq) / args.batch_size)
    module = mx.mod.Module(network, label_names=("label",))
    params = pretrained(args.pretrained, network, images) if args.pretrained else (None, None)
    schedule = mx.lr_scheduler.CosineScheduler(args.epochs * batches, base_lr=args.lr)
    prefix = str(Path(args.out) / "ssd")
    return module.fit(
        images,
        eval_data=val,
        eval_metric=MultiBoxMetric(),
        validation_metric=mx.metric.MeanAveragePrecision(names),
        num_epoch=args.epochs,
        optimizer=args.optimizer,
        optimizer_params={"learning_rate": args.lr, "wd": args.wd, "lr_scheduler": schedule},
        initializer=mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
        arg_params=params[0],
        aux_params=params[1],
        allow_missing=True,
        batch_end_callback=common.bar(batches),
        epoch_end_callback=mx.callback.do_checkpoint(prefix, period=args.epochs),
    )


def main(argv=None):
    """Train, write a checkpoint, draw the curves, and report the precision of the last epoch."""
    args = parse_args(argv)
    args.data_shape = args.data_shape or NETWORKS[args.network][1]
    if args.data_train and not args.class_names:
        raise SystemExit("--data-train needs --class-names, in the order of the labels")
    names = args.class_names.split(",") if args.class_names else list(CLASSES)
    common.start(args)
    random.seed(args.seed)
    try:
        images, val = iterators(args)
        logging.info(
            "%d pictures of %d x %d for %s",
            len(images.seq),
            args.data_shape,
            args.data_shape,
            args.network,
        )
        logging.info("classes: %s", ", ".join(names))
        history = train(args, names, images, val)
    except (OSError, mx.base.MXNetError) as error:
        raise SystemExit(f"error: {error}") from None
    common.plot_fit(history, Path(args.out) / "ssd.png")
    if val is not None:
        precision = history.metrics["Validation-mAP"][-1]
        logging.info("mean average precision %.4f", precision)
        return precision


if __name__ == "__main__":
    main()
