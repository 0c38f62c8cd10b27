"""What `import cynet` does not load: each is there as soon as it is asked for."""

import subprocess
import sys

import pytest

# Packages of Python that cost milliseconds, and modules of cynet that few programs need.
LATER = (
    *("asyncio", "concurrent.futures", "email", "http", "importlib.metadata", "logging"),
    *("multiprocessing", "pathlib", "socket", "subprocess", "tempfile", "traceback"),
    *("unittest", "urllib.parse", "xml", "zipfile"),
    *("cynet.gluon", "cynet.graph", "cynet.executor", "cynet.io", "cynet.module"),
    *("cynet.numpy", "cynet.onnx", "cynet.optimizer", "cynet.serving"),
    *("cynet.operator.control_flow", "cynet.operator.custom.custom"),
    *("cynet.operator.custom.legacy", "cynet.operator.custom.node"),
    *("cynet.operator.custom.simple", "cynet.operator.linalg", "cynet.operator.numpy"),
    *("cynet.operator.loss.ctc_stepwise", "cynet.operator.nn.pooling_rewritten"),
    *("cynet.operator.random.density", "cynet.operator.rnn.stepwise"),
)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_modules_that_are_not_imported_at_start():
    # what numpy and the site's own hooks load is theirs
    before = "import sys, numpy; before = {*sys.modules}"
    loaded = run(f"{before}\nimport cynet; print(*({{*sys.modules}} - before))")
    assert {*LATER} & {*loaded} == set()
    assert "cynet.operator.nn.pooling" in loaded


def test_each_is_there_when_it_is_asked_for():
    names = ["CustomOp", "CustomOpProp", "NDArrayOp", "NumpyOp", "PythonOp", "control_flow"]
    names += ["extension", "linalg", "register", "simple"]
    code = f"""
import cynet as mx
assert {{*{names}, "numpy"}} <= {{*dir(mx.operator)}} and "simple_op" in dir(mx)
from cynet.operator import {", ".join(names)}
from cynet.operator.random import density
assert all(getattr(mx.operator, each) is globals()[each] for each in {names})
assert mx.simple_op is mx.operator.simple
print(mx.nd.random_pdf_normal.__name__, mx.sym.linalg.det.__name__, mx.nd.Custom.__name__)
"""
    assert run(code) == ["random_pdf_normal", "det", "Custom"]


@pytest.mark.parametrize(
    "lines",
    [
        "import multiprocessing, cynet",
        "import cynet, multiprocessing",
        "import cynet; from multiprocessing import context; import multiprocessing",
        "import cynet, multiprocessing.pool",
        "import cynet, multiprocessing.pool, importlib; importlib.reload(multiprocessing)",
    ],
)
def test_who_imports_multiprocessing_has_its_pool(lines):
    """Scripts name multiprocessing.pool without an import of their own: MXNet imports it."""
    assert run(f"{lines}\nprint(multiprocessing.pool.ThreadPool(2).map(abs, [-1, 2]))") == [
        "[1,",
        "2]",
    ]


def test_the_objects_of_users_go_before_python_does():
    """Their operators are let go at the end, whichever way of defining one was loaded."""
    code = """
import weakref, cynet as mx
class Said:
    def __del__(self):
        print("gone")
class Twice(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)
@mx.operator.register("twice")
class TwiceProp(mx.operator.CustomOpProp):
    said = Said()
    def create_operator(self, ctx, shapes, dtypes):
        return Twice()
print(mx.nd.Custom(mx.nd.ones(1), op_type="twice").asscalar())
"""
    assert run(code) == ["2.0", "gone"]


FIRST = {  # what a program may do with a sparse array before anything else
    "an operator": "print(mx.nd.sum(x, axis=0).shape[0])",
    "arithmetic": "print((x * mx.nd.ones((2, 3))).shape[1])",
    "a number": "print((x * 2).stype)",
    "a product": "print(mx.nd.dot(x, mx.nd.ones((3, 1))).shape[0])",
    "a method": "print(x.abs().stype)",
    "a symbol": "e = (mx.sym.var('x', stype='csr') * 2).bind(mx.cpu(), {'x': x}); "
    "print(e.forward()[0].shape[1])",
    "a gradient": "w = mx.nd.ones((3, 1)); w.attach_grad(stype='row_sparse')\n"
    "with mx.autograd.record(): y = mx.nd.dot(x, w)\ny.backward(); print(w.grad.stype)",
    "mx.np": "print(mx.np.sum(x.tostype('default').as_np_ndarray()))",
}


@pytest.mark.parametrize("what", FIRST)
def test_a_sparse_array_in_the_first_call_of_a_process(what):
    made = "import cynet as mx; x = mx.nd.array([[1, 0, 0], [0, 0, 2]]).tostype('csr')"
    assert run(f"{made}\n{FIRST[what]}")
