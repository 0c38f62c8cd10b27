"""Defaults of parameters of functions, classes and methods are MXNet 1.9.1's, by value."""

import ast
import inspect
import json
import os
from operator import attrgetter
from pathlib import Path

import cynet as mx
from tests import own_defaults

MODULES = json.loads((Path(__file__).parent / "fixtures" / "api.json").read_text())["modules"]
# Where cynet's default is another value that does the same, or says more.
OTHER = {
    ("mx.gluon.data.DataLoader", "timeout"): None,  # waits as long as a worker lives
    ("mx.visualization.print_summary", "positions"): (0.44, 0.64, 0.74, 1.0),
    ("mx.rnn.ConvGRUCell", "prefix"): None,  # made of the class
    ("mx.rnn.ConvLSTMCell", "prefix"): None,
    ("mx.rnn.ConvRNNCell", "prefix"): None,
    ("mx.numpy.percentile", "interpolation"): None,  # NumPy's older name of method="linear"
    ("mx.numpy.quantile", "interpolation"): None,
    ("mx.numpy.pad", "pad_width"): inspect.Parameter.empty,  # NumPy asks for it
}
SPREAD = {"i2h_pad": 0, "i2h_dilate": 1, "h2h_dilate": 1, "conv_layout": None}  # over all axes


def defaults(signature):
    """name -> default, of those that the fixture has as literals."""
    tree = ast.parse(f"def f{signature}: pass").body[0].args
    found = list(zip(tree.args[len(tree.args) - len(tree.defaults) :], tree.defaults))
    found += [(a, d) for a, d in zip(tree.kwonlyargs, tree.kw_defaults) if d is not None]
    values = {}
    for argument, default in found:
        try:
            values[argument.arg] = ast.literal_eval(default)
        except ValueError:  # a name: nan
            continue
    return {name: value for name, value in values.items() if value is not ...}


def signatures(module):
    for name, what in MODULES[module].items():
        each = {"__init__": what} if isinstance(what, str) else what
        for method, text in each.items():
            path = f"{module}.{name}" + ("" if method == "__init__" else f".{method}")
            if text.startswith("(") and text != "(...)":
                yield path, defaults(text)


def wanted(path, name, value):
    if (path, name) in OTHER:
        return OTHER[path, name]
    if path.startswith("mx.gluon.contrib.rnn.Conv") and name in SPREAD:
        return SPREAD[name]
    if isinstance(value, str):  # of the machine that made the fixture
        return value.replace("/root/.mxnet", "~/.mxnet")
    return value


def test_defaults():
    wrong, compared = [], 0
    for path, values in (pair for module in MODULES for pair in signatures(module)):
        try:
            have = inspect.signature(attrgetter(path[3:])(mx)).parameters
        except (AttributeError, TypeError, ValueError):  # a name that cynet lacks, or compiled
            continue
        for name in values.keys() & have.keys():
            value, found = wanted(path, name, values[name]), have[name].default
            if found is inspect.Parameter.empty and (
                path.endswith(".boolean_mask") or path.startswith("mx.numpy_extension.")
            ):
                continue  # MXNet's operators have None for arrays that they need
            compared += 1
            if isinstance(found, os.PathLike):
                found = str(found)
            if found != value or isinstance(found, bool) != isinstance(value, bool):
                wrong.append(f"{path}({name}={found!r}): MXNet has {value!r}")
    assert not wrong, "\n".join(wrong)
    assert compared > 2300


def test_no_default_has_changed():
    """Of parameters that MXNet lacks too. To change one: ``python -m tests.own_defaults``,
    and a line in CHANGELOG.md."""
    now = own_defaults.defaults()
    kept = dict(line.split(" = ", 1) for line in own_defaults.FILE.read_text().splitlines())
    both = kept.keys() & now.keys()
    unknown = now.keys() - kept.keys()  # nobody would see them change
    assert len(both) > 0.8 * len(kept), "most are gone: python -m tests.own_defaults"
    assert len(unknown) < 0.05 * len(now), f"python -m tests.own_defaults: {sorted(unknown)[:9]}"
    changed = [f"{key}: {kept[key]} became {now[key]}" for key in sorted(both)]
    changed = [line for line, key in zip(changed, sorted(both)) if kept[key] != now[key]]
    assert not changed, "\n".join(changed)
