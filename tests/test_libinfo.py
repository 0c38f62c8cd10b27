"""Names of MXNet that cynet lacks: each says so where it is used, and none of them is there."""

import subprocess
import sys

import pytest

import cynet as mx
from cynet.base.mxnet_globals import globals_of_mxnet


def owner(path):
    found = mx
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("path", sorted(mx.libinfo.missing_names()))
def test_missing_names(path):
    names = mx.libinfo.missing_names()[path]
    assert names
    for name in names:
        assert not hasattr(owner(path), name), f"{path}.{name} is there: run names.py again"
        with pytest.raises(AttributeError, match=rf"\.{name} is a name of MXNet 1.9.1 that cynet"):
            getattr(owner(path), name)


@pytest.mark.parametrize(
    "ask, words",
    [
        (lambda: mx.tvmop, "mx.tvmop is a name of MXNet 1.9.1 .*python -m cynet --missing"),
        (lambda: mx.nd.contrib.dgl_subgraph, "mx.nd.contrib.dgl_subgraph is a name of MXNet"),
        (lambda: mx.sym.contrib.quantized_rnn, "quantized_rnn is a name of MXNet .*use RNN, in"),
        (lambda: mx.nd.FullyConected, "mx.nd has no attribute 'FullyConected'; did you mean Fully"),
        (lambda: mx.sym.FullyConected, "mx.sym has no attribute .*did you mean FullyConnected"),
        (lambda: mx.metric.Acuracy, "mx.metric has no attribute 'Acuracy'; did you mean Accuracy"),
        (lambda: mx.modul, "mx has no attribute 'modul'; did you mean mod"),
        (lambda: mx.nd.__wrapped__, "has no attribute '__wrapped__'"),
    ],
)
def test_what_is_said(ask, words):
    with pytest.raises(AttributeError, match=words):
        ask()


def test_names_of_base():
    base = mx.base
    assert base.MXNetError is mx.MXNetError is base.CynetError
    assert isinstance("a", base.string_types) and isinstance(1, base.integer_types)
    assert isinstance(mx.nd.ones((1,)).asscalar(), base.numeric_types)
    assert base.py_str(b"abc") == "abc" and base.c_str("abc").value == b"abc"
    assert base.mx_real_t("1.5") == 1.5 and base.mx_uint(3).value == 3
    assert repr(base._Null) == "_Null"


def test_environment_variables_are_checked_at_import():
    code = """
import os, warnings
os.environ.update(CYNET_ENGINE_TIPE="x", MXNET_ENGINE_TYPE="x", CYNET_HOME="x",
                  MXNET_EXEC_BULK_EXEC_TRAIN="1", MXNET_SOMETHING="1",
                  MXNET_BACKWARD_DO_MIRROR="0", CYNET_TEST_GPU="")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import cynet
texts = sorted(str(w.message) for w in said)
assert len(texts) == 4, texts
assert texts[0] == ("environment variable CYNET_ENGINE_TIPE is not read by cynet; "
                    "CYNET_ENGINE_TYPE is"), texts
assert texts[1].endswith("MXNET_ENGINE_TYPE is not read by cynet; CYNET_ENGINE_TYPE is"), texts
assert texts[2].endswith("BULK_EXEC_TRAIN is not read by cynet; CYNET_BULK is"), texts
assert "MXNET_SOMETHING" in texts[3] and "python -m cynet --settings" in texts[3], texts
assert said[0].filename == "<string>", said[0].filename
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_imported_later_is_listed():
    """Completion at the prompt asks `dir`: in a fresh process, in which nothing was used yet."""
    code = """
import cynet as mx
assert {"gluon", "image", "onnx", "rnn", "np_shape", "compile", "nd"} <= {*dir(mx)}
assert {"ImageRecordIter", "NDArrayIter"} <= {*dir(mx.io)}
assert {"text", "amp"} <= {*dir(mx.contrib)}
assert {"foreach", "ROIAlign"} <= {*dir(mx.sym.contrib)} & {*dir(mx.nd.contrib)}
assert {"uniform", "Variable", "Convolution"} <= {*dir(mx.sym.random), *dir(mx.sym)}
for path in ("", "io", "contrib"):
    module = getattr(mx, path) if path else mx
    assert not [name for name in dir(module) if not hasattr(module, name)]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="did you mean gluon"):
        mx.gluno  # noqa: B018


def test_modules_answer_however_they_are_imported():
    """`import cynet.log` before anybody asks for mx.log, in a fresh process."""
    code = """
import importlib.util
import cynet
from cynet.libinfo import _LAZY_NAMES
for path in _LAZY_NAMES:
    if importlib.util.find_spec(f"cynet.{path}"):
        module = importlib.import_module(f"cynet.{path}")
        assert {*dir(module)}.isdisjoint({"annotations", "guarded", "NamedTuple"}), path
        assert not hasattr(module, "nosuch")
        try:
            module.nosuch
        except AttributeError as error:
            assert str(error).startswith(f"mx.{path} has no attribute 'nosuch'"), error
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_version():
    assert mx.libinfo.__version__ == mx.__version__


# Modules that users complete names of, beside the package itself.
PATHS = (
    "attribute autograd callback context contrib contrib.amp contrib.text engine executor gluon "
    "gluon.contrib gluon.contrib.estimator gluon.data gluon.data.vision "
    "gluon.data.vision.transforms gluon.loss gluon.model_zoo gluon.model_zoo.vision gluon.nn "
    "gluon.rnn gluon.utils image initializer io kvstore log lr_scheduler metric misc model module "
    "monitor name nd nd.contrib nd.image nd.linalg nd.random operator optimizer profiler random "
    "recordio registry rnn runtime sym sym.contrib sym.linalg sym.random test_utils util "
    "visualization"
)


@pytest.mark.parametrize("path", ["", *PATHS.split()])
def test_completion_shows_what_users_may_use(path):
    """`dir` has what MXNet's public names are, and none of the modules' own imports."""
    module = owner(f"mx.{path}") if path else mx
    listed = [name for name in dir(module) if not name.startswith("_")]
    home = module.__name__
    for name in listed:
        value = getattr(module, name)
        assert name not in ("TYPE_CHECKING", "annotations", "math", "shown", "guarded")
        origin = value.__name__ if isinstance(value, type(sys)) else getattr(value, "__module__", 0)
        assert origin is None or origin == 0 or origin.startswith("cynet"), f"{path}.{name}"
    assert {*getattr(module, "__all__", ())} <= {*dir(module)}
    table = globals_of_mxnet().get(path.replace("nd", "ndarray").replace("sym", "symbol"), {})
    for name, (origin, other) in table.items():
        own = other == name and origin.startswith("mxnet") and not name.startswith("_")
        if own and name in vars(module) and getattr(vars(module)[name], "__module__", "") == home:
            assert name in listed, f"{path}.{name} is not shown"
