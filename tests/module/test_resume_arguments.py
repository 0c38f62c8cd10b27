"""fit(resume=) asked for something else than its file was begun with; what it says of resuming."""

import logging

import numpy as np
import pytest

import cynet as mx
from cynet.module.resume import _EXCLUDED_SETTINGS, apply_changed_settings, training_settings
from cynet.optimizer.base import OPTIMIZERS
from cynet.optimizer.settings import accepted_setting_names

OTHER = {  # values that differ from every default
    "rescale_grad": 0.7,
    "wd": 0.03,
    "clip_gradient": 0.9,
    "begin_num_update": 3,
    "momentum": 0.33,
    "beta1": 0.77,
    "beta2": 0.78,
    "epsilon": 3e-5,
    "rho": 0.66,
    "lamda": 0.02,
    "lamda1": 0.3,
    "beta": 2.5,
    "gamma1": 0.55,
    "gamma2": 0.56,
    "clip_weights": 8.0,
    "eps": 2e-5,
    "float_stable_eps": 2e-5,
    "schedule_decay": 0.01,
    "wd_lh": 0.2,
    "eta": 0.4,
    "warmup_epochs": 7,
    "batch_scale": 3,
    "updates_per_epoch": 17,
    "begin_epoch": 2,
    "num_epochs": 50,
    "lower_bound": 0.1,
    "upper_bound": 9.0,
    "aggregate_num": 2,
    "warmup_strategy": "sqrt",
    "correct_bias": False,
    "temperature": 0.3,
    "min_scale": 2e-3,
    "clip_threshold": 1.5,
    "decay_rate": -0.6,
    "ns_steps": 7,
    "adjust": "match_rms_adamw",
}
FREE = {"learning_rate"}  # what counts as it is asked for now


def other(default, name):
    return not default if isinstance(default, bool) else OTHER[name]


def defaults(klass):
    import inspect

    found = {}
    for each in klass.__mro__:
        if "__init__" in vars(each) and each is not object:
            for p in list(inspect.signature(each.__init__).parameters.values())[1:]:
                found.setdefault(p.name, p.default)
    return found


CASES = [
    (name, argument)
    for name in sorted({each.__name__.lower() for each in OPTIMIZERS.table.values()})
    if name in OPTIMIZERS and OPTIMIZERS.get(name).__module__.startswith("cynet.")
    for argument in accepted_setting_names(OPTIMIZERS.get(name))
    if argument not in _EXCLUDED_SETTINGS
]


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_every_argument_of_every_optimizer(name, argument):
    """A rate counts as it is asked for now, everything else is refused by name with both values."""
    klass = OPTIMIZERS.get(name)
    value = 0.123 if argument == "learning_rate" else other(defaults(klass)[argument], argument)
    begun, wanted = klass(), klass(**{argument: value})
    old, now = training_settings(begun, None), training_settings(wanted, None)
    assert apply_changed_settings("a.training", old, klass(), old, begun) == []
    if argument == "learning_rate":
        kept = klass()
        assert apply_changed_settings("a.training", old, kept, now, wanted) == [
            f"learning_rate 0.123 instead of {begun.learning_rate}"
        ]
        assert kept.learning_rate == 0.123
        return
    with pytest.raises(mx.MXNetError, match="one, or begin a training of another name") as told:
        apply_changed_settings("a.training", old, klass(), now, wanted)
    assert f"a.training: the file was begun with {klass.__name__}'s {argument}" in str(told.value)
    values = old["settings"][argument], now["settings"][argument]
    assert all(repr(each) in str(told.value) for each in values) and values[0] != values[1]


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def fit(path, epochs, optimizer="sgd", params=None, size=4, **options):
    data = mx.io.NDArrayIter(np.ones((8, 4), "float32"), np.arange(8) % 3, size)
    module = mx.mod.Module(network(), logger=options.pop("logger", logging))
    options = {"verbose": False, **options}
    history = module.fit(
        data,
        num_epoch=epochs,
        resume=path,
        optimizer=optimizer,
        optimizer_params=params or {"learning_rate": 0.1},
        **options,
    )
    return module, history


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"optimizer": "adam"}, r"begun with optimizer 'SGD', asked for is 'Adam'"),
        ({"params": {"momentum": 0.9}}, r"SGD's momentum 0\.0, asked for is 0\.9"),
        ({"params": {"wd": 0.5}}, r"SGD's wd 0\.0, asked for is 0\.5"),
        ({"params": {"clip_gradient": 1.0}}, r"SGD's clip_gradient None, asked for is 1\.0"),
        ({"size": 2}, r"SGD's rescale_grad 0\.25, asked for is 0\.5"),
    ],
)
def test_refused(tmp_path, options, what):
    path = tmp_path / "run"
    fit(path, 1)
    before = (tmp_path / "run.training").read_bytes()
    with pytest.raises(ValueError, match=what):
        fit(path, 2, **options)
    assert (tmp_path / "run.training").read_bytes() == before


def rate(module):
    return module._optimizer.learning_rate


def test_another_rate_counts(tmp_path, caplog):
    path = tmp_path / "run"
    fit(path, 1, params={"learning_rate": 0.1, "momentum": 0.9})
    caplog.set_level(logging.INFO)
    module, _ = fit(path, 2, params={"learning_rate": 0.7, "momentum": 0.9})
    assert rate(module) == 0.7 and module._optimizer.momentum == 0.9
    assert module._updater.states[0] is not None  # the momentum so far
    assert "fit: resume: from here on with learning_rate 0.7 instead of 0.1" in caplog.text
    caplog.clear()
    module, _ = fit(path, 3, params={"learning_rate": 0.7, "momentum": 0.9})
    assert rate(module) == 0.7 and "instead of" not in caplog.text
    module, _ = fit(path, 4, params={"learning_rate": 0.1, "momentum": 0.9})
    assert rate(module) == 0.1


def test_a_rate_that_a_callback_has_set_stays(tmp_path, caplog):
    class Set(mx.callback.FitCallback):
        def epoch_end(self, state):
            if state.epoch == 0:
                state.optimizer.set_learning_rate(0.02)

    path = tmp_path / "run"
    fit(path, 1, callbacks=[Set()])
    caplog.set_level(logging.INFO)
    for epochs in (2, 3):
        module, _ = fit(path, epochs, callbacks=[Set()])
        assert rate(module) == 0.02 and "instead of" not in caplog.text
    module.fit(  # once more in one process: the optimizer is the one that has worked
        mx.io.NDArrayIter(np.ones((8, 4), "float32"), np.arange(8) % 3, 4),
        num_epoch=4,
        resume=path,
        optimizer_params={"learning_rate": 0.1},
        callbacks=[Set()],
    )
    assert rate(module) == 0.02
    module, _ = fit(path, 5, callbacks=[Set()])
    assert rate(module) == 0.02
    module, _ = fit(path, 6, params={"learning_rate": 0.3}, callbacks=[Set()])
    assert rate(module) == 0.3


def test_another_schedule_counts(tmp_path, caplog):
    path = tmp_path / "run"

    def params(last):
        return {"lr_scheduler": mx.lr_scheduler.PolyScheduler(last, base_lr=1.0, pwr=1)}

    fit(path, 2, params=params(4))
    caplog.set_level(logging.INFO)
    module, _ = fit(path, 2, params=params(4))
    assert rate(module) == 0.0 and "instead of" not in caplog.text
    module, _ = fit(path, 4, params=params(8))
    assert "lr_scheduler" in caplog.text and module._optimizer.lr_scheduler.max_update == 8
    assert rate(module) == 0.0
    module, _ = fit(path, 5)  # none
    assert rate(module) == 0.1 and module._optimizer.lr_scheduler is None


def test_clip_global_norm_counts(tmp_path, caplog):
    path = tmp_path / "run"
    fit(path, 1)
    caplog.set_level(logging.INFO)
    fit(path, 2, clip_global_norm=1.0)
    assert "clip_global_norm 1.0 instead of None" in caplog.text


def test_a_file_that_does_not_say_what_was_asked(tmp_path, monkeypatch):
    """Older ones: what the file has is compared."""
    from cynet.module import resume

    path = tmp_path / "run"
    write = resume.write_training

    def without(path, form, meta, *others):
        write(path, form, {k: v for k, v in meta.items() if k != "asked"}, *others)

    with monkeypatch.context() as patch:
        patch.setattr(resume, "write_training", without)
        fit(path, 1)
    with pytest.raises(ValueError, match=r"SGD's momentum 0\.0, asked for is 0\.5"):
        fit(path, 2, params={"momentum": 0.5})
    module, history = fit(path, 2, params={"learning_rate": 0.4})
    assert rate(module) == 0.4 and history.epochs == [0, 1]


def test_the_log_says_where_it_goes_on(tmp_path, caplog, capsys):
    path = tmp_path / "run"
    caplog.set_level(logging.INFO)
    fit(path, 1)
    assert "resume" not in caplog.text
    fit(path, 3)
    where = f"fit: resume: {path}.training has 1 epoch: training goes on with Epoch[1], up to num"
    assert where in caplog.text
    fit(path, 3)
    assert "has 3 epochs: nothing is left to do for num_epoch=3" in caplog.text
    fit(path, 2)
    assert "has 3 epochs: nothing is left to do for num_epoch=2" in caplog.text
    assert capsys.readouterr().err == ""
    fit(path, 3, verbose=True)
    assert "nothing is left to do for num_epoch=3" in capsys.readouterr().err


def test_the_log_says_that_a_callback_had_ended_it(tmp_path, caplog):
    class Stop(mx.callback.FitCallback):
        def epoch_end(self, state):
            raise mx.callback.StopTraining("enough of that")

    caplog.set_level(logging.INFO)
    fit(tmp_path / "run", 5, callbacks=[Stop()])
    caplog.clear()
    fit(tmp_path / "run", 5, callbacks=[Stop()])
    assert "nothing is left to do, training has ended: enough of that" in caplog.text


def test_a_module_without_states_says_so_before_it_trains(tmp_path):
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(network()), take_labels=True)
    data = mx.io.NDArrayIter(np.ones((8, 4), "float32"), np.arange(8) % 3, 4)
    seen = []
    with pytest.raises(mx.MXNetError, match="no optimizer states of its own"):
        chain.fit(data, num_epoch=1, resume=tmp_path / "a", batch_end_callback=seen.append)
    assert seen == []
