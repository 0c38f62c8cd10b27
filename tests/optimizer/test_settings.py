"""What optimizers are made with: unknown names and wrong types are refused when they are made."""

import pytest

import cynet as mx
from cynet.base.errors import ArgumentTypeError
from cynet.optimizer.base import OPTIMIZERS


@pytest.mark.parametrize("name", ["sgd", "adam", "nag", "rmsprop", "adadelta", "ftrl", "signum"])
@pytest.mark.parametrize(
    "wrong, word",
    [
        ({"lr": 0.1}, "did you mean 'learning_rate'"),
        ({"learning_rte": 0.1}, "did you mean 'learning_rate'"),
        ({"weight_decay": 0.1}, "did you mean 'wd'"),
        ({"learning_rate": "0.1"}, r"learning_rate must be a number, got '0.1' \(str\)"),
        ({"learning_rate": [0.1]}, "learning_rate must be a number"),
        ({"wd": None}, "wd must be a number"),
        ({"rescale_grad": "x" * 5000}, "rescale_grad must be a number"),
        ({"clip_gradient": "1"}, "clip_gradient must be a number"),
        ({"lr_scheduler": 0.1}, "lr_scheduler must be a function"),
    ],
)
def test_refused(name, wrong, word):
    for make in (mx.optimizer.create, lambda name, **kw: OPTIMIZERS.get(name)(**kw)):
        with pytest.raises(ArgumentTypeError, match=word) as caught:
            make(name, **wrong)
        assert len(str(caught.value)) < 600


def test_numbers_of_a_subclass():
    with pytest.raises(ArgumentTypeError, match="momentum must be a number"):
        mx.optimizer.SGD(momentum="0.9")
    with pytest.raises(ArgumentTypeError, match="beta1"):
        mx.optimizer.Adam(0.1, "0.9")  # by position
    assert mx.optimizer.SGD(clip_gradient=None, learning_rate=None).lr == 0.01


def test_an_optimizer_of_the_user():
    class Own(mx.optimizer.Optimizer):
        """Takes what it likes."""

        def __init__(self, steps=1.5, **kwargs):
            super().__init__(**kwargs)
            self.steps = steps

    assert Own(steps="many", learning_rate=0.5).lr == 0.5
    with pytest.raises(ArgumentTypeError, match="did you mean 'steps'"):
        Own(step=3)
    with pytest.raises(ArgumentTypeError, match="wd must be a number"):
        Own(wd="much")


def test_fit_says_it_before_training():
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2))
    module = mx.mod.Module(net, label_names=[net.list_arguments()[-1]])
    module.bind([("data", (2, 3))], [(net.list_arguments()[-1], (2,))])
    module.init_params()
    with pytest.raises(ArgumentTypeError, match="learning_rate"):
        module.init_optimizer(optimizer_params={"lr": 0.1})
    with pytest.raises(ArgumentTypeError, match="optimizer_params must be a dict"):
        module.init_optimizer(optimizer_params=0.1)
    assert not module.optimizer_initialized
