"""MXNet's optimizer states, read without what pickles run: training goes on as there."""

import os
import pickle
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.optimizer import mxnet_states as unpickle
from cynet.tools import convert
from tests.fixtures import mxnet_states as made

FOUND = np.load(Path(made.__file__).with_suffix(".npz"))
CASES = {case[0]: case[1:] for case in made.cases()}


def stepped(update, case, dtype, keys=(0, 1)):
    """The weights after the third step."""
    weights = [mx.nd.array(FOUND[f"{case}/before {i}"], dtype=dtype) for i in range(2)]
    for i, gradient in enumerate(made.arrays(3, dtype)):
        update(keys[i], mx.nd.array(gradient, dtype=dtype), weights[i])
    return [each.asnumpy() for each in weights]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", ["pickle", "bare"])
def test_training_goes_on_as_in_mxnet(case, form, tmp_path):
    """With the optimizer in the file, and with one that was made anew where its counts are known
    or are no matter."""
    name, settings, schedule, dtype = CASES[case]
    if form == "bare" and (schedule or name in COUNTING):
        return  # the counts are in the other form alone
    source, target = tmp_path / "mxnet.states", tmp_path / "ours.states"
    source.write_bytes(FOUND[f"{case}/{form}"].tobytes())
    assert convert.main(["--unpickle", str(source), str(target)]) == 0
    fresh = made.optimizer(mx, name, settings, schedule)
    update = mx.optimizer.get_updater(fresh)
    update.load(str(target))
    if form == "pickle":
        assert update.optimizer is not fresh and type(update.optimizer) is type(fresh)
    tolerance = {"rtol": 5e-6, "atol": 1e-7} if dtype == "float32" else {"rtol": 2e-3}
    for i, found in enumerate(stepped(update, case, dtype)):
        np.testing.assert_allclose(found, FOUND[f"{case}/after {i}"], **tolerance)


COUNTING = ("adam", "adamax", "nadam", "lamb", "ftml", "lars")


def test_a_trainer_goes_on(tmp_path, capsys):
    source, target = tmp_path / "mxnet.states", tmp_path / "ours.states"
    source.write_bytes(FOUND["adam/pickle"].tobytes())
    arguments = ["--unpickle", str(source), str(target), "--names", "bias,weight"]
    assert convert.main(arguments) == 0
    assert capsys.readouterr().out == f"{target}: states of 2 parameters\n"
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    trainer.load_states(str(target))
    for i, each in enumerate((net.bias, net.weight)):
        each.set_data(mx.nd.array(FOUND[f"adam/before {i}"]))
    assert (trainer.learning_rate, trainer.optimizer.num_update) == (0.1, 2)
    gradients = made.arrays(3, "float32")
    with mx.autograd.record():
        loss = (net.bias.data() * mx.nd.array(gradients[0])).sum()
        loss = loss + (net.weight.data() * mx.nd.array(gradients[1])).sum()
    loss.backward()
    trainer._scale = 0.5
    trainer.step(1)
    for i, each in enumerate((net.bias, net.weight)):
        np.testing.assert_allclose(each.data().asnumpy(), FOUND[f"adam/after {i}"], rtol=1e-6)


@pytest.mark.parametrize("names", [["bias"], ["bias", "bias"], ["a", "b", "c"], []])
def test_names_are_those_of_all_parameters(names):
    with pytest.raises(mx.errors.ArgumentError, match="states of 2 parameters, got"):
        unpickle.read_states(FOUND["adam/pickle"].tobytes(), names)


# --- what a pickle may not do ---------------------------------------------------------------------
class Ran:
    """Runs something when it is loaded."""

    def __init__(self, function, *args):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


HOSTILE = {
    "system": Ran(os.system, "touch RAN"),
    "subprocess": Ran(subprocess.check_output, ["touch", "RAN"]),
    "eval": Ran(eval, "open('RAN', 'w')"),
    "exec": Ran(exec, "open('RAN', 'w')"),
    "getattr": Ran(getattr, mx.nd.zeros, "__globals__"),
    "open": Ran(open, "RAN", "w"),
    "bytes": Ran(bytes, 10**12),
    "bytearray": Ran(bytearray, 10**12),
    "numpy": np.zeros(3),
    "a class": ValueError("x"),
    "our own": mx.optimizer.SGD(),
}


def pickled():
    """(name, protocol, bytes) of each hostile object, in each protocol that has a form of it."""
    for what, held in HOSTILE.items():
        for protocol in range(5):
            with suppress(TypeError, pickle.PicklingError):
                yield what, protocol, pickle.dumps({0: held}, protocol)


@pytest.mark.parametrize("text", [pytest.param(t, id=f"{n}-{p}") for n, p, t in pickled()])
def test_nothing_is_imported_or_run(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    modules = set(sys.modules)
    with pytest.raises(mx.errors.FormatError, match="asks for|expected the bytes"):
        unpickle.read_states(text)
    assert not (tmp_path / "RAN").exists() and set(sys.modules) == modules


def test_lengths_that_are_claimed_take_no_memory():
    many, some = ((2**n).to_bytes(8, "little") for n in (40, 26))
    names = b"\x8c\x08builtins\x8c\tbytearray\x93"
    for text in (
        b"\x80\x05\x96" + some,
        b"\x80\x05\x96" + many,
        b"\x80\x04\x8e" + many,
        b"\x80\x04\x8d" + many,
        b"\x80\x04\x95" + many,
        b"\x80\x02U\xff",
        b"\x80\x02Nr\xff\xff\xff\x7f.",
        b"\x80\x04" + names + b"\x8a\x06\x00\x00\x00\x00\x00\x01\x85R.",
        b"\x80\x02]" + b"q\x00]h\x00a" * 9,
    ):
        tracemalloc.start()
        with pytest.raises(mx.errors.FormatError, match=r"pickle|bytes|states"):
            unpickle.read_states(text)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()


def test_repeated_and_endless_states():
    """Tuples of one tuple of one tuple, and a list in itself."""
    inner = None
    for _ in range(7):
        inner = (inner,) * 40
    endless = []
    endless.append(endless)
    for state in (inner, endless):
        with pytest.raises(mx.errors.FormatError, match="nested too deep, or repeated"):
            unpickle.read_states(pickle.dumps({0: state}))


def test_a_file_that_is_damaged_anywhere(rng):
    whole = FOUND["sgd factor/pickle"].tobytes()
    for case in range(400):
        text = bytearray(whole)
        if case % 4:
            for i in rng.integers(len(text), size=rng.integers(1, 4)):
                text[i] = rng.integers(256)
        else:
            del text[rng.integers(len(text)) :]
        try:
            states, optimizer = unpickle.read_states(bytes(text))
        except mx.errors.CynetError as error:
            assert str(error)
        else:
            assert (isinstance(states, dict) and optimizer is None) or optimizer.learning_rate != []


def test_what_is_no_state(tmp_path, capsys):
    for found, text in (
        ([1], "damaged pickle"),
        ({0: 3}, "a state has arrays"),
        ({1.5: None}, "by number or name"),
        (({}, 3), "expected an optimizer"),
        ({True: None}, "by number or name"),
    ):
        with pytest.raises(mx.errors.FormatError, match=text):
            unpickle.read_states(pickle.dumps(found))
    target = tmp_path / "ours.states"
    (tmp_path / "no").write_bytes(b"no pickle")
    assert convert.main(["--unpickle", str(tmp_path / "no"), str(target)]) == 1
    assert f"convert: {tmp_path / 'no'}: a damaged pickle" in capsys.readouterr().err
    assert convert.main(["--unpickle", str(tmp_path / "none"), str(target)]) == 1
    assert not target.exists()
    for wrong in (
        ["a", "b", "--names", "x"],
        ["--unpickle", "a", "b", "--network", "vgg11", "--to", "torch"],
    ):
        with pytest.raises(SystemExit):
            convert.main(wrong)
