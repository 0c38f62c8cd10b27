"""What ranks compare of their optimizers: every setting of every one of them."""

import inspect

import pytest

import cynet as mx
from cynet.distributed.requests import Request, shorten_difference
from cynet.optimizer.base import OPTIMIZERS
from cynet.optimizer.terms import all_settings, brief_settings, describe_rank_differences

OTHERS = {
    "lr_scheduler": lambda: mx.lr_scheduler.PolyScheduler(9),
    "clip_gradient": lambda: 2.5,
    "clip_weights": lambda: 2.5,
    "learning_rate": lambda: 0.25,
}
LEFT_OUT = {"param_idx2name", "param_dict", "sym", "args", "kwargs", "self"}


def _changed():
    """(class, setting, another value) of each setting of each optimizer."""
    for klass in dict.fromkeys(OPTIMIZERS.table.values()):
        parameters = {}
        for owner in klass.__mro__:
            if "__init__" in vars(owner) and owner is not object:
                for name, each in inspect.signature(owner.__init__).parameters.items():
                    parameters.setdefault(name, each.default)
        for name, default in parameters.items():
            if name in LEFT_OUT or not klass.__module__.startswith("cynet."):
                continue
            if name in OTHERS:
                yield klass, name, OTHERS[name]()
            elif isinstance(default, bool):
                yield klass, name, not default
            elif isinstance(default, int):
                yield klass, name, default + 1
            elif isinstance(default, float):
                yield klass, name, default / 2 + 1e-3


CHANGED = [(klass, name, value) for klass, name, value in _changed()]


@pytest.mark.parametrize(
    "klass, name, value", CHANGED, ids=[f"{klass.__name__}-{name}" for klass, name, _ in CHANGED]
)
def test_every_setting_counts(klass, name, value):
    one, two = klass(), klass(**{name: value})
    found = describe_rank_differences([all_settings(one), all_settings(klass()), all_settings(two)])
    assert found and all(" on rank 0 and " in each and each.endswith("rank 2") for each in found)
    assert not describe_rank_differences([all_settings(one), all_settings(klass())])


def test_what_changes_between_steps():
    one, two = (mx.optimizer.Adam(learning_rate=0.5) for _ in range(2))
    assert brief_settings(one) == brief_settings(two)
    for name, value in (
        ("lr", 0.1),
        ("wd", 0.1),
        ("rescale_grad", 0.1),
        ("num_update", 7),
        ("clip_gradient", 0.1),
        ("beta1", 0.1),
    ):
        before = getattr(two, name)
        setattr(two, name, value)
        assert brief_settings(one) != brief_settings(two), name
        setattr(two, name, before)
    schedule = mx.lr_scheduler.FactorScheduler(1, base_lr=0.001)
    two = mx.optimizer.Adam(lr_scheduler=schedule)
    before = brief_settings(two)
    schedule.base_lr = 0.0005
    assert brief_settings(two) != before


def test_noise_of_other_seeds():
    """SGLD's steps are equal only where ranks draw the same numbers."""
    sgld, sgd = mx.optimizer.SGLD(), mx.optimizer.SGD()
    found = []
    for seed in (1, 2, 1):
        mx.random.seed(seed)
        found.append((brief_settings(sgld), brief_settings(sgd)))
    assert found[0] == found[2] != found[1] and found[0][1] == found[1][1]


def test_factors_of_single_weights():
    one, two = (mx.optimizer.SGD(param_idx2name={0: "a_weight"}) for _ in range(2))
    two.set_lr_mult({"a_weight": 0.5})
    assert describe_rank_differences([all_settings(one), all_settings(two)]) == [
        "lr_mult of a_weight is not set on rank 0 and 0.5 on rank 1"
    ]
    weight = mx.gluon.Parameter("w", shape=(1,), wd_mult=0.0)
    two = mx.optimizer.SGD(param_dict={"w": weight})
    assert describe_rank_differences([all_settings(one), all_settings(two)]) == [
        "wd_mult of w is not set on rank 0 and 0.0 on rank 1"
    ]


def test_a_class_of_the_user():
    class Own(mx.optimizer.SGD):
        def __init__(self, sharpness=1, **settings):
            super().__init__(**settings)
            self.sharpness, self._seen = sharpness, 0

    one, two = Own(), Own(2)
    two._seen = 5
    assert describe_rank_differences([all_settings(one), all_settings(two)]) == [
        "sharpness is 1 on rank 0 and 2 on rank 1"
    ]


def test_a_request_tells_which_terms_differ():
    one = Request("sum of 'w' (2,) float32").add_settings("optimizer=SGD; wd=0.0; num_update=1")
    two = Request("sum of 'w' (2,) float32").add_settings("optimizer=SGD; wd=0.1; num_update=1")
    none = Request("sum of 'w' (2,) float32")
    assert len({one.mark, two.mark, none.mark}) == 3
    assert shorten_difference(one.description, two.description) == (
        "sum of 'w' (2,) float32 for a step with wd=0.0",
        "sum of 'w' (2,) float32 for a step with wd=0.1",
    )
    none = shorten_difference(one.description, none.description)[1]
    assert none == "sum of 'w' (2,) float32 for a step with no optimizer"
    other = Request("sum of 'v' (2,) float32").add_settings("optimizer=SGD; wd=0.1; num_update=1")
    told = shorten_difference(one.description, other.description)
    assert told == ("sum of 'w' (2,) float32", "sum of 'v' (2,) float32")
