"""Cases of the neural-network operators: the calls of tests/fixtures/nn.py.

Values and gradients are compared with MXNet's in tests/operator/nn/test_against_mxnet.py; here they
go through everything else, and their gradients are compared with numeric ones.
"""

import functools

import numpy as np

from tests.fixtures import nn

from .case import Case, Input

# operators whose gradient is not the derivative of their output; nor is that of the normalizations
# when they give mean and variance too, whose gradients are not looked at
LOSSES = {
    "SoftmaxOutput",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "SVMOutput",
    "MakeLoss",
    "make_loss",
}
DISCRETE = ("int", "length", "wild")


def as_input(spec, wide=False):
    """The Input of a shape or (shape, kind)."""
    shape, kind = (spec, "normal") if isinstance(spec[0], int) else spec
    dtype = "int32" if kind.startswith("length") else None
    return Input(shape, functools.partial(draw, spec), dtype, wide)


def draw(spec, rng, shape):
    """nn.draw by a NumPy Generator."""
    return nn.draw(nn.np.random.RandomState(rng.integers(2**31)), spec)


def as_case(number, made):
    """The Case of one of nn's."""
    n = len(made["inputs"])
    smooth = [i for i in range(n) if not kind(made["inputs"][i]).startswith(DISCRETE)]
    norm = made["op"] == "BatchNorm"
    loss = made["op"] in LOSSES or "output_mean_var" in made["params"]
    return Case(
        made["op"],
        [as_input(spec, i > 0 and norm) for i, spec in enumerate(made["inputs"])],
        None,
        made["params"],
        aux=[as_input(spec, norm) for spec in made["aux"]],
        grad=False if loss or made["op"] == "BlockGrad" else gradient_of(made, smooth),
        reference_grad=(lambda *args, **params: [None] * n) if loss else None,
        is_train=made["train"],
        note=f"{number}",
    )


def gradient_of(made, smooth):
    """Inputs with a gradient: not gamma of a BatchNorm that takes it as 1, nor images that only
    have a size."""
    if made["op"] == "BatchNorm" and made["params"].get("fix_gamma", True):
        return (0, 2)
    if made["op"] == "Crop":
        return (0,)
    return tuple(smooth)


def kind(spec):
    """The second word of an input, or 'normal'."""
    return "normal" if isinstance(spec[0], int) else spec[1]


def guessed(made):
    """Whether inference gives the second input's shape: other shapes of it are taken too."""
    shapes = [spec if isinstance(spec[0], int) else spec[0] for spec in made["inputs"]]
    if made["op"] == "SoftmaxOutput":  # labels may be probabilities, or have the positions' axes
        return len(shapes[1]) == (2 if "multi_output" in made["params"] else len(shapes[0]) - 1)
    return made["params"].get("act_type") != "prelu" or shapes[1] != (1,)


def selu(x, act_type):
    """MXNet's gradient of it is not the derivative, so its values are no reference."""
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))


def mean_slope(x, act_type, lower_bound, upper_bound):
    """rrelu in prediction."""
    return np.where(x > 0, x, (lower_bound + upper_bound) / 2 * x)


MORE = [
    Case("LeakyReLU", [(3, 4)], selu, {"act_type": "selu"}, back=(0,)),
    Case(
        "LeakyReLU",
        [(3, 4)],
        mean_slope,
        {"act_type": "rrelu", "lower_bound": 0.1, "upper_bound": 0.3},
        is_train=False,
    ),
    Case("Dropout", [(3, 4)], lambda x, **params: x, {"p": 0.3}, is_train=False),
    Case("Dropout", [(3, 4)], lambda x, **params: x, {"p": 0.3, "axes": (1,)}, is_train=False),
    # The numbers drawn in training: tests/operator/nn/test_dropout.py, test_leaky_relu.py.
    Case("Dropout", [(5, 7)], None, {"p": 0.3}, note="train"),
    Case("Dropout", [(9, 37)], None, {"p": 0.6}, note="train"),
    Case("Dropout", [(3, 4, 5)], None, {"p": 0.3, "axes": (1,)}, note="train"),
    Case("Dropout", [(3, 4)], None, {"p": 0.5, "mode": "always"}, is_train=False),
    Case("LeakyReLU", [(4, 9)], None, {"act_type": "rrelu"}, note="train"),
]
CASES = MORE + [as_case(number, made) for number, made in enumerate(nn.CASES) if guessed(made)]
