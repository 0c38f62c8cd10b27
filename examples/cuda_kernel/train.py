"""Trains LeNet on MNIST with layers whose forward and backward are CUDA kernels (layers.py)."""

import argparse
import logging
import sys
import time
from pathlib import Path

import numpy as np
from layers import BiasSwish, Reorganise, Softmax

import cynet as mx

sys.path.append(str(Path(__file__).parent.parent / "image_classification"))
from common import data
from common.fit import Formatter, indices, positive


def parse_args(argv=None):
    """The command line; ``--help`` shows all options with their defaults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Formatter)
    parser.add_argument("--gpus", type=indices, help="GPUs to use, e.g. 0 or 0,2; none: the CPU")
    parser.add_argument("--batch-size", type=positive, default=100, help="images of a batch")
    parser.add_argument("--num-epochs", type=positive, default=2, help="epochs to train")
    parser.add_argument("--lr", type=float, default=0.02, help="learning rate")
    parser.add_argument("--disp-batches", type=positive, default=100, help="log every so many")
    parser.add_argument("--num-examples", type=positive, help="train on so many images only")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random numbers")
    parser.add_argument(
        "--softmax",
        choices=("kernel", "built-in"),
        default="kernel",
        help="the layer of layers.py, or mx.sym.SoftmaxOutput",
    )
    data.add_data_args(parser)
    return parser.parse_args(argv)


def network(softmax="kernel", num_classes=10):
    """LeNet with a reorganisation instead of the first pooling and fused activations."""
    net = mx.sym.var("data")
    net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=12, no_bias=True, name="conv1")
    net = BiasSwish()(data=net, name="act1")
    net = Reorganise(stride=2)(data=net, name="reorg")
    net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=32, no_bias=True, name="conv2")
    net = BiasSwish()(data=net, name="act2")
    net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name="pool2")
    net = mx.sym.FullyConnected(mx.sym.flatten(net), num_hidden=120, no_bias=True, name="fc1")
    net = BiasSwish()(data=net, name="act3")
    net = mx.sym.FullyConnected(net, num_hidden=num_classes, name="fc2")
    if softmax == "kernel":
        return Softmax()(data=net, name="softmax")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def main(argv=None):
    """Train, then predict and score the validation images."""
    args = parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    np.random.seed(args.seed)
    mx.random.seed(args.seed)
    arrays = data.load(args)
    train = mx.io.NDArrayIter(
        arrays["train_data"][: args.num_examples],
        arrays["train_label"][: args.num_examples],
        args.batch_size,
        shuffle=True,
    )
    val = mx.io.NDArrayIter(arrays["test_data"], arrays["test_label"], args.batch_size)
    devices = [mx.gpu(i) for i in args.gpus] if args.gpus else mx.cpu()
    logging.info(
        "training LeNet on %d images, with layers written in CUDA; they are compiled first",
        train.num_data,
    )
    module = mx.mod.Module(network(args.softmax), context=devices)
    start = time.perf_counter()
    module.fit(
        train,
        eval_data=val,
        eval_metric="acc",
        optimizer="sgd",
        optimizer_params={"learning_rate": args.lr, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        batch_end_callback=mx.callback.Speedometer(args.batch_size, args.disp_batches),
        num_epoch=args.num_epochs,
    )
    logging.info("%.1f seconds, epochs: %d", time.perf_counter() - start, args.num_epochs)
    probability = module.predict(mx.io.NDArrayIter(arrays["test_data"], None, args.batch_size))
    logging.info(
        "predicted %s, rows add up to %.4f",
        probability.shape,
        probability.asnumpy().sum(axis=1).mean(),
    )
    accuracy = mx.metric.Accuracy()
    module.score(val, accuracy)
    logging.info("validation accuracy: %.2f %%", 100 * accuracy.get()[1])


if __name__ == "__main__":
    main()
