"""Optimizer states as bytes: what comes back, and that no damage gets through."""

import json
import pickle
import struct

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, FormatError
from cynet.base.files import SEAL_BYTES, append_checksum


def trained(name="adam", **options):
    update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))
    weights = [mx.nd.ones(3), mx.nd.ones((2, 2))]
    for _ in range(3):
        update([0, 1], [mx.nd.full((3,), 0.5), mx.nd.full((2, 2), 2)], weights)
    return update, weights


def step(update, weights):
    update([0, 1], [mx.nd.ones(3), mx.nd.ones((2, 2))], weights)
    return [weight.asnumpy() for weight in weights]


def copies(weights):
    return [weight.copy() for weight in weights]


def test_momentum_goes_on():
    update, weights = trained("sgd", momentum=0.9)
    other = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    other.set_states(update.get_states())
    for mine, theirs in zip(step(update, copies(weights)), step(other, copies(weights))):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", ["adam", "nadam", "rmsprop", "sgd"])
def test_the_whole_optimizer_goes_on(name):
    options = {
        "lr_scheduler": mx.lr_scheduler.MultiFactorScheduler([2, 5], 0.5),
        "param_idx2name": {0: "a_weight", 1: "a_bias"},
        "wd": 0.1,
    }
    update, weights = trained(name, **options)
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(update.get_states(dump_optimizer=True))
    assert type(other.optimizer) is type(update.optimizer)
    assert other.optimizer.num_update == 3
    assert other.optimizer.learning_rate == update.optimizer.learning_rate
    mine, theirs = copies(weights), copies(weights)
    for _ in range(4):
        for a, b in zip(step(update, mine), step(other, theirs)):
            np.testing.assert_array_equal(a, b)


def test_empty_states_and_str_keys():
    update = mx.optimizer.get_updater(mx.optimizer.SGD())
    update.set_states(update.get_states())
    assert update.states == {}
    update("fc_weight", mx.nd.ones(2), mx.nd.ones(2))
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(update.get_states())
    assert other.states == {"fc_weight": None}


def test_pickles_are_refused():
    with pytest.raises(FormatError, match="pickle"):
        mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(pickle.dumps({0: None}))


def test_every_truncation_is_refused():
    update, _ = trained()
    content = update.get_states(dump_optimizer=True)
    for length in range(len(content)):
        with pytest.raises((FormatError, mx.base.MXNetError), match="optimizer states"):
            mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(content[:length])
    assert set(update.states) == {0, 1}


def changed(content, change):
    """The states with another header."""
    (length,) = struct.unpack("<Q", content[8:16])
    header = json.loads(content[16 : 16 + length])
    change(header)
    text = json.dumps(header).encode()
    head = content[:8] + struct.pack("<Q", len(text)) + text
    return b"".join(append_checksum([head + content[16 + length : -SEAL_BYTES]]))


@pytest.mark.parametrize(
    "change, telling",
    [
        (lambda h: h.pop("states"), "'optimizer' is missing"),
        (lambda h: h.pop("optimizer"), "'optimizer' is missing"),
        (lambda h: h.update(states=3), "must be a list of pairs, found 3"),
        (lambda h: h["states"].append([0, None]), "got 0"),
        (lambda h: h["states"].append([2, 99]), "99 does not name"),
        (lambda h: h["states"].append([2, -1]), "-1 does not name"),
        (lambda h: h["states"].append([2, True]), "True does not name"),
        (lambda h: h["states"].append([2, "x"]), "'x' does not name"),
        (lambda h: h["states"].append([[1], None]), r"got \[1\]"),
        (lambda h: h["states"].append([2, [[[[[[[[[[0]]]]]]]]]]]), r"\[\[0\]\] does not name"),
        (lambda h: h["optimizer"].update(name="os"), "named 'os'"),
        (lambda h: h["optimizer"].update(name=3), "named 3"),
        (lambda h: h["optimizer"].pop("counts"), "Adam"),
        (lambda h: h["optimizer"]["settings"].update({"__class__": 3}), "no setting '__class__'"),
        (
            lambda h: h["optimizer"].update(lr_scheduler={"name": "math", "settings": {}}),
            "named 'math'",
        ),
        (
            lambda h: h["optimizer"].update(lr_scheduler={"name": "absent", "settings": {}}),
            "named 'absent'",
        ),
    ],
)
def test_damaged_headers_are_refused(change, telling):
    update, _ = trained()
    before = update.get_states(dump_optimizer=True)
    content = changed(update.get_states(dump_optimizer=True), change)
    with pytest.raises(FormatError, match=telling):
        update.set_states(content)
    assert update.get_states(dump_optimizer=True) == before


def test_other_damage_is_refused(rng):
    update, _ = trained()
    content = bytearray(update.get_states(dump_optimizer=True))
    for bad in (b"", b"x" * 40, b"CYNSTAT1" + b"\xff" * 8 + b"x"):
        with pytest.raises(FormatError, match="optimizer states"):
            update.set_states(bad)
    with pytest.raises(ArgumentTypeError, match="optimizer states are bytes, got str"):
        update.set_states("text")
    for _ in range(300):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), 3):
            damaged[at] = rng.integers(256)
        try:
            mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(bytes(damaged))
        except mx.base.MXNetError:
            continue


def settings(name, **values):
    """Change settings of the optimizer (name None) or of its schedule."""
    return lambda o: (o if name is None else o[name])["settings"].update(values)


def without(part, name):
    return lambda o: (o if part is None else o[part])["settings"].pop(name)


@pytest.mark.parametrize(
    "change, message",
    [
        (without(None, "lr"), "SGD has no lr"),
        (settings(None, momentum="x"), "SGD.momentum must be a finite number, got 'x'"),
        (settings(None, momentum=True), "SGD.momentum must be a finite number"),
        (settings(None, momentum=float("nan")), "SGD.momentum must be a finite number, got nan"),
        (settings(None, momentum=10**400), "SGD.momentum must be a finite number"),
        (settings(None, wd=[1]), r"SGD.wd must be a finite number, got \[1\]"),
        (settings(None, rescale_grad=None), "SGD.rescale_grad must be a finite number, got None"),
        (settings(None, clip_gradient="1"), "SGD.clip_gradient must be a finite number or None"),
        (settings(None, multi_precision=2), "SGD.multi_precision must be True or False, got 2"),
        (settings(None, _get_lrs=1), "SGD has no setting '_get_lrs'"),
        (settings(None, update=None), "SGD has no setting 'update'"),
        (settings(None, unknown=1), "SGD has no setting 'unknown'"),
        (settings(None, num_update=-5), r"SGD.num_update must be an int from 0 to 2\*\*63 - 1"),
        (settings(None, num_update=2**64), r"SGD.num_update must be an int from 0 to 2\*\*63 - 1"),
        (settings(None, num_update=1.5), r"SGD.num_update must be an int from 0 to 2\*\*63 - 1"),
        (lambda o: o.update(counts=[[0, [[0, 1e999]]]]), "'counts' has inf for 0"),
        (lambda o: o.update(counts=[[0, [[0, -1]]]]), "'counts' has -1 for 0"),
        (lambda o: o.update(counts=[[[], []]]), r"'counts': expected keys, each once, got \[\]"),
        (lambda o: o.update(counts=3), "'counts' must be a list of pairs, found 3"),
        (lambda o: o.update(idx2name=[[0, 1]]), "'idx2name' has 1 for 0"),
        (lambda o: o.update(lr_mult=[["a", "2"]]), "'lr_mult' has '2' for 'a'"),
        (lambda o: o.update(settings=[]), "the settings of SGD are"),
        (without("lr_scheduler", "count"), "FactorScheduler has no count"),
        (settings("lr_scheduler", step=0), "FactorScheduler.step must be an int from 1"),
        (settings("lr_scheduler", factor=2), "factor must be a number from -1 to 1"),
        (settings("lr_scheduler", warmup_mode="x"), "warmup_mode must be one of 'linear', 'const"),
        (settings("lr_scheduler", get_warmup_lr=1), "has no setting 'get_warmup_lr'"),
        (lambda o: o.update(lr_scheduler={"name": "LRScheduler2"}), "no schedule is named"),
    ],
)
def test_settings_are_checked(change, message):
    schedule = mx.lr_scheduler.FactorScheduler(10, 0.5)
    update, _ = trained("sgd", momentum=0.9, lr_scheduler=schedule)
    content = changed(update.get_states(dump_optimizer=True), lambda h: change(h["optimizer"]))
    before = update.optimizer
    with pytest.raises(FormatError, match=message):
        update.set_states(content)
    assert update.optimizer is before and set(update.states) == {0, 1}


@pytest.mark.parametrize(
    "schedule, change, message",
    [
        (mx.lr_scheduler.MultiFactorScheduler([2, 5]), {"step": []}, "a list of rising ints"),
        (mx.lr_scheduler.MultiFactorScheduler([2, 5]), {"step": [5, 2]}, "a list of rising ints"),
        (mx.lr_scheduler.PolyScheduler(9, 0.1), {"max_steps": 1}, "max_steps must be 9, got 1"),
        (
            mx.lr_scheduler.PolyScheduler(9, 0.1),
            {"power": -1},
            "power must be a finite number >= 0",
        ),
        (
            mx.lr_scheduler.CosineScheduler(9, 0.1),
            {"max_update": 0},
            "max_update must be an int from 1",
        ),
        (mx.lr_scheduler.OneCycleScheduler(9, 0.1), {"pct_start": 2}, "pct_start must not be 2"),
        (mx.lr_scheduler.CyclicScheduler(3, 0.1, 0.2), {"step_size": 0}, "step_size must be an"),
    ],
)
def test_settings_of_other_schedules(schedule, change, message):
    update, _ = trained("adam", lr_scheduler=schedule)
    content = update.get_states(dump_optimizer=True)
    update.set_states(content)
    with pytest.raises(FormatError, match=message):
        update.set_states(
            changed(content, lambda h: settings("lr_scheduler", **change)(h["optimizer"]))
        )


OWN = sorted(
    {k for _, k in mx.optimizer.base.OPTIMIZERS.items() if k.__module__.startswith("cynet.")},
    key=lambda k: k.__name__,
)


@pytest.mark.parametrize("klass", OWN, ids=lambda k: k.__name__)
def test_every_setting_of_every_optimizer_is_declared(klass):
    """What an optimizer holds comes back, and none of its settings may be of another type."""
    optimizer = klass(wd=0.25, clip_gradient=2)
    update = mx.optimizer.get_updater(optimizer)
    content = update.get_states(dump_optimizer=True)
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(content)
    held = {k: v for k, v in vars(optimizer).items() if isinstance(v, (bool, int, float, str))}
    assert {k: vars(other.optimizer)[k] for k in held} == held
    for name in held:
        with pytest.raises(FormatError, match=rf"{klass.__name__}.{name} must be"):
            other.set_states(
                changed(content, lambda h, n=name: h["optimizer"]["settings"].update({n: "x"}))
            )


def test_an_optimizer_of_the_users_own():
    @mx.optimizer.register
    class Own(mx.optimizer.SGD):
        kind = "plain"

        def __init__(self, gamma=1, **kwargs):
            super().__init__(**kwargs)
            self.gamma, self.kind = gamma, "mine"

    update = mx.optimizer.get_updater(Own(gamma=np.float32(0.5), momentum=0.9))
    content = update.get_states(dump_optimizer=True)
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(content)
    assert (other.optimizer.gamma, other.optimizer.kind) == (0.5, "mine")
    for change in ({"update": 1}, {"learning_rate": 1}, {"__class__": 1}, {"a b": 1}):
        with pytest.raises(FormatError, match="Own has no setting"):
            other.set_states(
                changed(content, lambda h, c=change: h["optimizer"]["settings"].update(c))
            )


def test_files(tmp_path):
    """Read in place; pairs of a header; special content."""
    update, _ = trained("adam")
    path = tmp_path / "x.states"
    path.write_bytes(update.get_states(dump_optimizer=True))
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.load(path)
    assert type(other.optimizer) is mx.optimizer.Adam
    for mine, theirs in zip(update.states[1], other.states[1]):
        np.testing.assert_array_equal(mine.asnumpy(), theirs.asnumpy())
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(FormatError, match=r"x.states"):
        other.load(path)
    with pytest.raises(FileNotFoundError, match="none"):
        other.load(tmp_path / "none")


@pytest.mark.parametrize(
    "state, message",
    [
        ((mx.nd.ones(2),), r"is \(float32 \(2,\)\), expected \(float32 \(3,\), float32 \(3,\)\)"),
        (mx.nd.ones(3), r"is float32 \(3,\), expected \("),
        (None, r"is None, expected \("),
        ((mx.nd.ones(3), None), r"is \(float32 \(3,\), None\), expected"),
        ((mx.nd.ones(3), mx.nd.ones(3, dtype="float64")), r"float64 \(3,\)\), expected"),
    ],
)
@pytest.mark.parametrize("name", ["adam", "dcasgd"])
def test_states_of_another_form_are_refused_when_used(state, message, name):
    options = {"momentum": 0.9} if name == "dcasgd" else {}
    update = mx.optimizer.get_updater(mx.optimizer.create(name, **options))
    source = mx.optimizer.get_updater(mx.optimizer.SGD())
    source.states = {0: state}
    update.set_states(source.get_states())
    with pytest.raises(ArgumentError, match=rf"the loaded state of weight 0.*{message}"):
        update(0, mx.nd.ones(3), mx.nd.ones(3))


@pytest.mark.parametrize(
    "before, after, wanted",
    [
        (0.0, 0.9, [0.99, 0.98]),  # the state that was loaded is none, and stays
        (0.9, 0.0, [0.99, 0.98]),  # the loaded one is not used
        (0.9, 0.9, [0.981, 0.9539]),  # goes on
    ],
)
def test_states_without_momentum_go_on_with_one_and_the_reverse(before, after, wanted):
    source = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.01, momentum=before))
    source(0, mx.nd.ones(3), mx.nd.ones(3))
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.01, momentum=after))
    update.set_states(source.get_states())
    weight = mx.nd.ones(3)
    for value in wanted:
        update(0, mx.nd.ones(3), weight)
        np.testing.assert_allclose(weight.asnumpy(), value, rtol=1e-6)


def narrow(name, **options):
    """An Updater of halves after three steps, and its weights."""
    options = {"learning_rate": 0.1, "multi_precision": True, **options}
    update = mx.optimizer.get_updater(mx.optimizer.create(name, **options))
    weights = [mx.nd.full((3,), 1.0, dtype="float16"), mx.nd.full((2,), 2.0)]
    grads = [mx.nd.full((3,), 0.3, dtype="float16"), mx.nd.full((2,), 0.3)]
    for _ in range(3):
        update([0, 1], grads, weights)
    return update, weights, grads


def as_older(update, dump_optimizer):
    """The bytes that a version with the float32 copy in front wrote."""
    states = dict(update.states)
    if update.optimizer._copy_is_last:
        update.states[0] = update.states[0][::-1]
    content = update.get_states(dump_optimizer)[:-SEAL_BYTES]
    update.states = states
    return b"".join(append_checksum([b"CYNSTAT2" + content[8:]]))


@pytest.mark.parametrize("dump_optimizer", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("name", ["sgd", "nag", "lars", "signum"])
def test_older_files_have_float32_copies_in_front(name, momentum, dump_optimizer):
    update, weights, grads = narrow(name, momentum=momentum)
    found = []
    for content in (update.get_states(dump_optimizer), as_older(update, dump_optimizer)):
        loaded, _, _ = narrow(name, momentum=momentum)
        loaded.set_states(content)
        assert loaded.get_states(dump_optimizer) == update.get_states(dump_optimizer)
        own = copies(weights)
        for _ in range(2):
            loaded([0, 1], grads, own)
        found.append([each.asnumpy() for each in own])
    np.testing.assert_equal(*found)


def test_older_states_of_an_own_order_are_refused():
    class Mine(mx.optimizer.SGD):
        def create_state(self, index, weight):
            return mx.nd.zeros_like(weight), mx.nd.zeros_like(weight)

        def update(self, index, weight, grad, state):
            weight -= grad

    update, _, _ = narrow("sgd", momentum=0.9)
    other = mx.optimizer.get_updater(Mine(multi_precision=True))
    with pytest.raises(FormatError, match="Mine.create_state is not cynet's"):
        other.set_states(as_older(update, False))
