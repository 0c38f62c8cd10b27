"""What the softmax examples share: a check against the built-in, and a training run on digits."""

import logging
import sys
from pathlib import Path

import numpy as np

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


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
        mx.cpu(), grad_req={"scores": "write"}, scores=scores.shape, softmax_label=labels.shape
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


def main(softmax, description, name, argv=None):
    """Check `softmax`, train with it, and return the validation accuracy.

    Parameters
    ----------
    softmax : callable
        From the symbol of the scores to the symbol of the loss; its first output has the
        probabilities, its label is the variable ``softmax_label``.
    description : str
        Of the script.
    name : str
        Of the files that it writes.
    """
    parser = common.parser(
        description, without=["workers", "eager", "gpu"], batch_size=100, lr=0.1, epochs=10
    )
    common.add_dataset(parser)
    args = parser.parse_args(argv)
    common.start(args)
    (images, labels), (others, answers) = common.arrays(args.dataset)
    logging.info("%d images of %d x %d", len(images), *images.shape[2:])
    check(softmax, args.seed)
    logging.info("probabilities and gradients are those of SoftmaxOutput")
    train = mx.io.NDArrayIter(images, labels, args.batch_size, shuffle=True)
    module = mx.mod.Module(network(softmax))
    history = module.fit(
        train,
        eval_data=mx.io.NDArrayIter(others, answers, args.batch_size),
        eval_metric=FirstOutputAccuracy(),
        num_epoch=args.epochs,
        initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": args.lr, "momentum": 0.9},
        batch_end_callback=common.bar(-(-train.num_data // args.batch_size)),
    )
    prefix = Path(args.out) / name
    common.plot_fit(history, prefix.with_suffix(".png"))
    # the built-in has the same parameters: who loads the checkpoint needs nothing of this script
    mx.model.save_checkpoint(str(prefix), args.epochs, network(built_in), *module.get_params())
    logging.info("use it: net = mx.Predictor('%s', shapes=%s)", prefix, images.shape[1:])
    accuracy = history.metrics["Validation-accuracy"][-1]
    logging.info("validation accuracy: %.2f %%", 100 * accuracy)
    return accuracy


class FirstOutputAccuracy(mx.metric.Accuracy):
    """Accuracy of the first output; others are values of a loss."""

    def update(self, labels, preds):
        """Count a batch."""
        super().update(labels, preds[:1])
