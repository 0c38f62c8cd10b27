"""Every example in a docstring of the package runs and prints what it says."""

import doctest
import importlib
import linecache
import pkgutil

import numpy as np
import pytest

import cynet
import cynet_cuda_cpu
from cynet.contrib.amp import amp
from cynet.gluon.block import graph
from cynet.operator import OPERATORS
from tests.operator.examples import FLAGS, Checker

PACKAGES = cynet, cynet_cuda_cpu
MODULES = {m.name for p in PACKAGES for m in pkgutil.walk_packages(p.__path__, f"{p.__name__}.")}
MODULES = sorted({p.__name__ for p in PACKAGES} | MODULES)
MODULES.remove("cynet.cuda.backend")  # its import needs a GPU (tests/gpu)


@pytest.fixture
def full_precision(monkeypatch):
    """Examples of amp turn it on for the process: it is off again behind them."""
    monkeypatch.setattr(graph, "_graph_converters", [])
    monkeypatch.setattr(amp, "_amp_initialized", False)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.usefixtures("full_precision")
def test_examples(name, tmp_path, monkeypatch):
    module = importlib.import_module(name)
    names = {"mx": cynet, "np": np}
    # recurse=True finds the docstrings of compiled modules too, through their __test__ table.
    tests = doctest.DocTestFinder().find(module, extraglobs=names)
    if name in ("cynet.ndarray", "cynet.symbol"):  # tests/operator/test_examples.py has operators'
        tests = [each for each in tests if each.name.rpartition(".")[2] not in OPERATORS]
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS)
    report = []
    # doctest asks for each docstring whether any file whose lines are known has changed
    monkeypatch.setattr(linecache, "checkcache", lambda filename=None: None)
    for i, test in enumerate(each for each in tests if each.examples):
        folder = tmp_path / str(i)
        folder.mkdir()
        monkeypatch.chdir(folder)  # some save files
        with cynet.name.NameManager():  # automatic names begin at 0 in each docstring
            runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
