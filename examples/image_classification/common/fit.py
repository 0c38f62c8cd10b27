"""Training as the scripts of this folder do it: command-line options to one call of Module.fit."""

import argparse
import contextlib
import logging
import math
import random
import sys
import time
from pathlib import Path

import numpy as np
from tqdm.contrib.logging import logging_redirect_tqdm

import cynet as mx

from . import plot

INITIALIZERS = {
    "default": lambda: mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
    "xavier": lambda: mx.init.Xavier(),
    "msra": lambda: mx.init.MSRAPrelu(),
    "normal": lambda: mx.init.Normal(0.01),
    "uniform": lambda: mx.init.Uniform(0.07),
    "one": lambda: mx.init.One(),
    "zero": lambda: mx.init.Zero(),
}


def indices(text):
    """Numbers from text such as ``0,2``; a type of options."""
    return [int(part) for part in text.split(",") if part.strip()]


def positive(text):
    """A whole number of 1 or more; a type of options."""
    if int(text) < 1:
        raise ValueError
    return int(text)


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Help that says the default of an option that has one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def add_fit_args(parser):
    """Add the options of training; the names are those of MXNet's own example scripts."""
    group = parser.add_argument_group("training")
    group.add_argument("--network", default="mlp", help="network: a file in symbols/, e.g. lenet")
    group.add_argument("--num-layers", type=int, help="number of layers (resnet, vgg, lstm)")
    group.add_argument(
        "--dtype",
        choices=("float16", "float32"),
        default="float32",
        help="dtype of the computation (float16: resnet, with float32 copies of its weights)",
    )
    group.add_argument("--gpus", type=indices, help="GPUs to use, e.g. 0 or 0,2; none: the CPU")
    group.add_argument(
        "--kv-store", default="device", help="key-value store: local, device, dist_sync"
    )
    group.add_argument("--num-epochs", type=positive, default=20, help="number of epochs")
    group.add_argument("--batch-size", type=positive, default=64, help="batch size")
    group.add_argument("--lr", type=float, default=0.05, help="initial learning rate")
    group.add_argument(
        "--lr-factor",
        type=float,
        default=0.1,
        help="factor of the learning rate at each of --lr-step-epochs",
    )
    group.add_argument(
        "--lr-step-epochs",
        type=indices,
        default="10",
        help="epochs at which the rate falls, e.g. 30,60",
    )
    group.add_argument("--warmup-epochs", type=int, default=0, help="epochs of warm-up")
    group.add_argument(
        "--warmup-strategy",
        choices=("linear", "constant"),
        default="linear",
        help="shape of the warm-up",
    )
    group.add_argument(
        "--initializer",
        choices=sorted(INITIALIZERS),
        default="default",
        help="how weights begin; default: Xavier by fan-in, for relu",
    )
    group.add_argument("--optimizer", default="sgd", help="name of the optimizer")
    group.add_argument("--mom", type=float, default=0.9, help="momentum, if the optimizer has one")
    group.add_argument("--wd", type=float, default=0.0001, help="weight decay")
    group.add_argument("--disp-batches", type=positive, default=100, help="log every N batches")
    group.add_argument("--top-k", type=int, default=0, help="report top-k accuracy too")
    group.add_argument("--seed", type=int, default=0, help="seed of all random numbers")
    group.add_argument(
        "--monitor",
        type=int,
        default=0,
        metavar="N",
        help="log statistics of parameters and outputs every N batches",
    )
    group.add_argument(
        "--test-io", type=int, choices=(0, 1), default=0, help="1: measure reading, do not train"
    )
    group.add_argument("--gc-type", default="none", help="gradient compression: none, 2bit")
    group.add_argument(
        "--gc-threshold", type=float, default=0.5, help="threshold of 2-bit compression"
    )
    group.add_argument("--plot", metavar="FILE.png", help="draw loss and accuracy of each epoch")
    group = parser.add_argument_group("checkpoints")
    group.add_argument("--model-prefix", help="write PREFIX-symbol.json and PREFIX-0001.params ...")
    group.add_argument("--save-period", type=positive, default=1, help="save every N epochs")
    group.add_argument("--load-epoch", type=int, help="continue from this checkpoint")


def seed_all(seed):
    """Seed every generator a training run draws from: cynet's, and NumPy's, which shuffles."""
    random.seed(seed)
    np.random.seed(seed)
    mx.random.seed(seed)


def learning_rate(args, batches_per_epoch):
    """The learning rate to begin with and the scheduler of the steps still to come."""
    begin = args.load_epoch or 0
    steps = args.lr_step_epochs
    lr = args.lr * args.lr_factor ** sum(step <= begin for step in steps)
    ahead = [batches_per_epoch * (step - begin) for step in steps if step > begin]
    warmup = batches_per_epoch * max(args.warmup_epochs - begin, 0)
    if not warmup and (not ahead or args.lr_factor == 1):
        return lr, None
    scheduler = mx.lr_scheduler.MultiFactorScheduler(
        step=ahead or [2**31],  # never
        factor=args.lr_factor,
        base_lr=lr,
        warmup_steps=warmup,
        warmup_mode=args.warmup_strategy,
    )
    return lr, scheduler


def optimizer_params(args, batches_per_epoch):
    """The keyword arguments of the optimizer."""
    lr, scheduler = learning_rate(args, batches_per_epoch)
    params = {"learning_rate": lr, "wd": args.wd}
    if scheduler is not None:
        params["lr_scheduler"] = scheduler
    if args.optimizer in ("sgd", "nag", "dcasgd", "signum", "lbsgd"):
        params["momentum"] = args.mom
    if args.dtype == "float16":
        params["multi_precision"] = True
    return params


def load_checkpoint(args):
    """(arg_params, aux_params) of ``--load-epoch``, or (None, None)."""
    if args.load_epoch is None:
        return None, None
    if not args.model_prefix:
        raise SystemExit("--load-epoch needs --model-prefix: which checkpoint?")
    try:
        _, arg_params, aux_params = mx.model.load_checkpoint(args.model_prefix, args.load_epoch)
    except (OSError, mx.base.MXNetError) as error:
        raise SystemExit(f"--load-epoch {args.load_epoch}: {error}") from None
    return arg_params, aux_params


def check(args):
    """The key-value store, once it is sure that nothing in `args` will stop the training later."""
    if args.plot:
        plot.check_matplotlib()
        if not Path(args.plot).absolute().parent.is_dir():
            raise SystemExit(f"--plot {args.plot}: there is no such folder")
    if args.load_epoch is not None and args.load_epoch >= args.num_epochs:
        raise SystemExit(
            f"--load-epoch {args.load_epoch}: nothing is left to train with"
            f" --num-epochs {args.num_epochs}"
        )
    load_checkpoint(args)
    try:
        if args.model_prefix:
            mx.callback.do_checkpoint(args.model_prefix).check_before_training()
        mx.optimizer.create(args.optimizer, **optimizer_params(args, 1))
        kv = mx.kvstore.create(args.kv_store)
        if args.gc_type != "none":
            kv.set_gradient_compression({"type": args.gc_type, "threshold": args.gc_threshold})
        return kv
    except mx.base.MXNetError as error:
        raise SystemExit(str(error)) from None


def devices(args):
    """The devices of ``--gpus``, or the CPU."""
    return [mx.gpu(i) for i in args.gpus] if args.gpus else mx.cpu()


def test_reading(args, train):
    """Read an epoch without training, and report how fast that is."""
    speed = mx.callback.Speedometer(args.batch_size, args.disp_batches)
    start, count = time.perf_counter(), 0
    for count, batch in enumerate(train, 1):
        batch.data[0].wait_to_read()
        speed(mx.model.BatchEndParam(epoch=0, nbatch=count, eval_metric=None, locals=None))
    images = count * args.batch_size
    logging.info("read %d images, %.1f a second", images, images / (time.perf_counter() - start))


def report(history):
    """Log the validation accuracy of the last epoch, or that of training where there is none."""
    if not history.epochs:
        return
    last = history.epochs[-1]
    what, values = (
        ("validation", last["validation"]) if "validation" in last else ("training", last["train"])
    )
    logging.info(
        "%s accuracy after epoch %d: %.2f %%", what, last["epoch"], 100 * values["accuracy"]
    )


def fit(args, network, train, val, kv, params=(None, None)):
    """Train `network` as `args` say and return (module, history).

    Parameters
    ----------
    args : argparse.Namespace
    network : Symbol
    train, val : DataIter
        `train` has ``num_data``; `val` may be None.
    kv : KVStore
    params : (dict, dict)
        Weights and auxiliary states to begin with; those of ``--load-epoch`` come first.
    """
    batches = math.ceil((getattr(args, "num_examples", None) or train.num_data) / args.batch_size)
    if args.load_epoch is not None:
        params = load_checkpoint(args)
    arg_params, aux_params = params
    metric = mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), mx.metric.CrossEntropy()])
    if args.top_k > 1:
        metric.add(mx.metric.TopKAccuracy(top_k=args.top_k))
    history = plot.History(metric)

    # A metric that is not reset at each line: an epoch's value is that of all its batches.
    batch_end = [mx.callback.Speedometer(args.batch_size, args.disp_batches, auto_reset=False)]
    on_terminal = sys.stderr.isatty()
    if on_terminal:
        batch_end.append(mx.callback.ProgressBar(batches))
    epoch_end = [history.epoch_end]
    if args.model_prefix:
        epoch_end.append(mx.callback.do_checkpoint(args.model_prefix, args.save_period))

    module = mx.mod.Module(network, context=devices(args))
    with logging_redirect_tqdm() if on_terminal else contextlib.nullcontext():
        module.fit(
            train,
            eval_data=val,
            eval_metric=metric,
            begin_epoch=args.load_epoch or 0,
            num_epoch=args.num_epochs,
            kvstore=kv,
            optimizer=args.optimizer,
            optimizer_params=optimizer_params(args, batches),
            initializer=INITIALIZERS[args.initializer](),
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=args.load_epoch is None,
            batch_end_callback=batch_end,
            epoch_end_callback=epoch_end,
            eval_end_callback=history.eval_end,
            monitor=mx.mon.Monitor(args.monitor, pattern=".*") if args.monitor > 0 else None,
        )
    if args.plot:
        plot.plot(history, args.plot, f"{args.network}, batch {args.batch_size}")
        logging.info("wrote %s", args.plot)
    return module, history
