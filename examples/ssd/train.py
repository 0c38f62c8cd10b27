"""Trains a single-shot detector on records of pictures and boxes; without records on shapes that
it draws itself."""

import argparse
import logging
import math
import random
import sys
from pathlib import Path

import numpy as np
from dataset import CLASSES, iterators
from metric import MeanAveragePrecision, MultiBoxMetric
from options import Formatter, positive
from symbols.ssd import NETWORKS, get_symbol_train
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

import cynet as mx


def parse_args(argv=None):
    """The command line; ``--help`` shows all options with their defaults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Formatter)
    add = parser.add_argument
    add("--network", choices=sorted(NETWORKS), default="tiny", help="vgg16_reduced: SSD-300")
    add("--data-shape", type=positive, help="side of the images; none: the network's")
    add("--data-train", metavar="FILE.rec", help="records to train on, with FILE.idx beside them")
    add("--data-val", metavar="FILE.rec", help="records to validate on")
    add("--data-dir", default="shapes", help="folder of the drawn shapes, made if need be")
    add("--num-pictures", type=positive, default=400, help="how many are drawn to train on")
    add("--class-names", help="names of the classes, with commas between them; none: the shapes'")
    add("--rand-crop", type=float, default=0.3, help="probability of a crop")
    add("--rand-pad", type=float, default=0.3, help="probability of a border")
    add(
        "--pretrained",
        metavar="FILE.params",
        help="weights to begin with, where they fit",
    )
    add("--num-epochs", type=positive, default=20, help="epochs to train")
    add("--batch-size", type=positive, default=16, help="pictures of a batch")
    add("--optimizer", default="adam", help="name of the optimizer")
    add("--lr", type=float, default=0.002, help="learning rate; it falls along a half cosine")
    add("--wd", type=float, default=0.0005, help="weight decay")
    add("--disp-batches", type=positive, default=20, help="log every so many batches")
    add("--seed", type=int, default=0, help="seed of all random numbers")
    add("--prefix", default="ssd", help="write PREFIX-symbol.json and PREFIX-0020.params")
    add("--plot", metavar="FILE.png", help="draw losses and precision of each epoch")
    return parser.parse_args(argv)


def draw_history(history, path):
    """Losses on the left, mean average precision on the right, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    numbers = range(1, len(history) + 1)
    for name in ("cross-entropy", "smooth-l1"):
        axes[0].plot(numbers, [epoch[name] for epoch in history], marker="o", label=name)
    axes[1].plot(numbers, [epoch.get("mAP", float("nan")) for epoch in history], marker="s")
    axes[0].legend()
    for axis, title in zip(axes, ("loss in training", "mAP in validation")):
        axis.set(xlabel="epoch", title=title)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=100, format="png")
    pyplot.close(figure)


def check(args):
    """Refuse what would stop the training later; returns the names of the classes."""
    if args.plot:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise SystemExit("--plot needs matplotlib: pip install 'cynet-mx[viz]'") from None
        if not Path(args.plot).absolute().parent.is_dir():
            raise SystemExit(f"--plot {args.plot}: there is no such folder")
    if args.data_train and not args.class_names:
        raise SystemExit("--data-train needs --class-names, in the order of the labels")
    mx.callback.do_checkpoint(args.prefix).check_before_training()
    return args.class_names.split(",") if args.class_names else list(CLASSES)


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
    """Train as `args` say; returns (module, what each epoch reported)."""
    network = get_symbol_train(args.network, len(names))
    batches = math.ceil(len(images.seq) / args.batch_size)
    module = mx.mod.Module(network, label_names=("label",))
    losses, precision, history = MultiBoxMetric(), MeanAveragePrecision(names), []
    bar = tqdm(total=args.num_epochs * batches, unit=" batches", disable=None)
    speed = mx.callback.Speedometer(args.batch_size, args.disp_batches, auto_reset=False)

    def batch_end(param):
        speed(param)
        bar.update()

    def epoch_end(epoch, symbol, arg_params, aux_params):
        history.append(dict(losses.get_name_value()))

    def eval_end(param):
        history[-1].update(param.eval_metric.get_name_value())

    params = pretrained(args.pretrained, network, images) if args.pretrained else (None, None)
    schedule = mx.lr_scheduler.CosineScheduler(args.num_epochs * batches, base_lr=args.lr)
    with logging_redirect_tqdm():
        module.fit(
            images,
            eval_data=val,
            eval_metric=losses,
            validation_metric=precision,
            num_epoch=args.num_epochs,
            optimizer=args.optimizer,
            optimizer_params={"learning_rate": args.lr, "wd": args.wd, "lr_scheduler": schedule},
            initializer=mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
            arg_params=params[0],
            aux_params=params[1],
            allow_missing=True,
            batch_end_callback=batch_end,
            epoch_end_callback=[
                epoch_end,
                mx.callback.do_checkpoint(args.prefix, period=args.num_epochs),
            ],
            eval_end_callback=eval_end,
        )
    bar.close()
    return module, history


def main(argv=None):
    """Train, write a checkpoint, and report the precision of the last epoch."""
    args = parse_args(argv)
    args.data_shape = args.data_shape or NETWORKS[args.network][1]
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    names = check(args)
    for seed in (random.seed, np.random.seed, mx.random.seed):
        seed(args.seed)
    try:
        images, val = iterators(args)
        logging.info(
            "training %s on %d pictures of %d x %d with boxes of %s, validating on %s",
            args.network,
            len(images.seq),
            args.data_shape,
            args.data_shape,
            ", ".join(names),
            "none" if val is None else len(val.seq),
        )
        _, history = train(args, names, images, val)
    except (OSError, mx.base.MXNetError) as error:
        raise SystemExit(f"error: {error}") from None
    logging.info("wrote %s-symbol.json and %s-%04d.params", args.prefix, args.prefix,
                 args.num_epochs)  # fmt: skip
    if args.plot:
        draw_history(history, args.plot)
        logging.info("wrote %s", args.plot)
    for name, value in history[-1].items():
        logging.info("%s after epoch %d: %.4f", name, args.num_epochs, value)


if __name__ == "__main__":
    main()
