"""What the softmax examples share: a check against the built-in, and a training run on digits."""

import argparse
import logging
import sys
import time
from pathlib import Path

import numpy as np

import cynet as mx

sys.path.insert(0, str(Path(__file__).parents[1] / "image_classification"))
from common import data
from common.fit import Formatter, positive


def network(softmax):
    """A multilayer perceptron with `softmax` on top."""
    net = mx.sym.Flatten(mx.sym.Variable("data"))
    for i, num_hidden in enumerate((128, 64), 1):
        net = mx.sym.FullyConnected(net, num_hidden=num_hidden, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
    return softmax(mx.sym.FullyConnected(net, num_hidden=10, name="fc3"))


def built_in(scores):
    """The built-in softmax loss."""
    return mx.sym.SoftmaxOutput(scores, name="softmax")


def run_once(softmax, scores, labels):
    """(probabilities, gradient of the scores) of one forward and backward."""
    net = softmax(mx.sym.Variable("scores"))
    executor = net.simple_bind(
        mx.cpu(),
        grad_req={"scores": "write"},
        scores=scores.shape,
        softmax_label=labels.shape,
    )
    executor.forward(is_train=True, scores=scores, softmax_label=labels)
    executor.backward()
    return executor.outputs[0].asnumpy(), executor.grad_dict["scores"].asnumpy()


def check(softmax, seed):
    """Compare probabilities and gradients with the built-in's, on random scores."""
    rng = np.random.default_rng(seed)
    scores = mx.nd.array(rng.normal(size=(50, 10)) * 3)
    labels = mx.nd.array(rng.integers(0, 10, 50))
    for found, expected in zip(
        run_once(softmax, scores, labels), run_once(built_in, scores, labels)
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def main(softmax, description, argv=None):
    """Check `softmax`, train with it, and print the validation accuracy.

    Parameters
    ----------
    softmax : callable
        From the symbol of the scores to the symbol of the loss; its first output has the
        probabilities, its label is the variable ``softmax_label``.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=Formatter)
    data.add_data_args(parser)
    parser.add_argument("--num-epochs", type=positive, default=5, help="epochs to train")
    parser.add_argument("--batch-size", type=positive, default=100, help="images of a batch")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers")
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stdout)
    print(description, flush=True)
    check(softmax, args.seed)
    print("probabilities and gradients are those of SoftmaxOutput", flush=True)

    np.random.seed(args.seed)
    mx.random.seed(args.seed)
    train, val = data.iterators(args, mx.kvstore.create("local"))
    module = mx.mod.Module(network(softmax), context=mx.cpu())
    print(f"training on {train.num_data} digits, epochs: {args.num_epochs}", flush=True)
    start = time.perf_counter()
    module.fit(  # shows its epochs on stderr, since nothing is logged
        train,
        optimizer_params={"learning_rate": args.lr, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        eval_metric=FirstOutputAccuracy(),
        num_epoch=args.num_epochs,
    )
    seconds = (time.perf_counter() - start) / args.num_epochs
    accuracy = module.score(val, FirstOutputAccuracy())[0][1]
    print(f"{seconds:.2f} s an epoch")
    print(f"validation accuracy after epoch {args.num_epochs}: {100 * accuracy:.2f} %")


class FirstOutputAccuracy(mx.metric.Accuracy):
    """Accuracy of the first output; others are values of a loss."""

    def update(self, labels, preds):
        """Count a batch."""
        super().update(labels, preds[:1])
