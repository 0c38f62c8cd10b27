"""What objects say of themselves, as text and in notebooks."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import cynet as mx
from cynet import gluon, nd

FRAME = np.ones((4, 3), "float32")


def network():
    return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")


def module(*steps):
    made = mx.mod.Module(mx.sym.SoftmaxOutput(network(), name="softmax"))
    if "bound" in steps:
        made.bind([("data", (4, 3))], [("softmax_label", (4,))])
    if "values" in steps:
        made.init_params()
    if "optimizer" in steps:
        made.init_optimizer(optimizer="sgd", optimizer_params={"momentum": 0.9})
    return made


def trainer(**settings):
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    return gluon.Trainer(net.collect_params(), "adam", {"wd": 0.1}, **settings)


class Squares(mx.io.DataIter):
    """One of the user's, which has no shapes before its first batch."""

    @property
    def provide_data(self):
        raise RuntimeError("not yet")


class Quiet(mx.optimizer.Optimizer):
    """Without an __init__ that has run."""

    def __init__(self):
        pass


class Own(mx.optimizer.SGD):
    def __repr__(self):
        return "an <own> text"


SCHEDULE = mx.lr_scheduler.FactorScheduler(3)
OBJECTS = {
    "module": (
        module,
        "Module(data=['data'], labels=['softmax_label'], outputs=['softmax_output'],"
        " context=[cpu(0)], state='not bound')",
    ),
    "bound": (
        lambda: module("bound"),
        "Module(data=[('data', (4, 3))], labels=[('softmax_label', (4,))], "
        "outputs=['softmax_output'], context=[cpu(0)], "
        "state='bound, parameters have no values')",
    ),
    "trained": (
        lambda: module("bound", "values", "optimizer"),
        "Module(data=[('data', (4, 3))], labels=[('softmax_label', (4,))], "
        "outputs=['softmax_output'], context=[cpu(0)], optimizer=SGD(learning_rate=0.01, "
        "momentum=0.9, rescale_grad=0.25), state='bound')",
    ),
    "sequential": (
        mx.mod.SequentialModule,
        "SequentialModule(data=[], outputs=[], state='not bound')",
    ),
    "trainer": (
        trainer,
        "Trainer(optimizer=Adam(learning_rate=0.001, wd=0.1), parameters=2, "
        "contexts=[cpu(0)], kvstore='device')",
    ),
    "alone": (
        lambda: trainer(kvstore=None),
        "Trainer(optimizer=Adam(learning_rate=0.001, wd=0.1), parameters=2, contexts=[cpu(0)])",
    ),
    "sgd": (mx.optimizer.SGD, "SGD(learning_rate=0.01)"),
    "settings": (
        lambda: mx.optimizer.Adam(0.2, beta1=0.8, clip_gradient=3, lr_scheduler=SCHEDULE),
        "Adam(learning_rate=0.2, beta1=0.8, clip_gradient=3, lr_scheduler='FactorScheduler')",
    ),
    "iterator": (
        lambda: mx.io.NDArrayIter(FRAME, None, 2),
        "NDArrayIter(data=[('data', (2, 3))], batch_size=2)",
    ),
    "labelled": (
        lambda: mx.io.NDArrayIter(FRAME, FRAME[:, 0], 4),
        "NDArrayIter(data=[('data', (4, 3))], labels=[('softmax_label', (4,))], batch_size=4)",
    ),
    "resized": (
        lambda: mx.io.ResizeIter(mx.io.NDArrayIter(FRAME, None, 2), 5),
        "ResizeIter(data=[('data', (2, 3))], batch_size=2)",
    ),
    "store": (lambda: mx.kv.create("local"), "KVStore(type='local', keys=0)"),
    "loader": (
        lambda: gluon.data.DataLoader([1, 2, 3], 2),
        "DataLoader(dataset='<list of 3>', batches=2, batch_size=2, num_workers=0)",
    ),
    "own": (Own, "an <own> text"),
}


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.caption, self.pre, self.last = [], [], "", "", None
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        if tag == "td":
            self.cells[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1][-1] += data
        elif "caption" in self.open:
            self.caption += data
        else:
            self.pre += data


@pytest.mark.parametrize("name", OBJECTS)
def test_text_and_table(name):
    make, text = OBJECTS[name]
    made = make()
    assert repr(made) == text
    found = Cells(made._repr_html_())
    if name == "own":
        assert found.pre == text
        return
    assert found.caption == type(made).__name__
    said = ", ".join(f"{key}={value}" for key, value in found.cells)
    assert f"{found.caption}({said})" == text


def test_a_store_with_values_and_an_optimizer():
    store = mx.kv.create("local")
    store.init("w", nd.ones(2))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    assert repr(store) == "KVStore(type='local', keys=1, optimizer=SGD(learning_rate=0.5))"


@pytest.mark.parametrize("make", [Quiet, Squares])
def test_what_cannot_say_it_is_shown_as_python_does(make):
    made = make()
    assert re.fullmatch(rf"<.*{make.__name__} object at 0x[0-9a-f]+>", repr(made))
    assert make.__name__ in Cells(made._repr_html_()).pre


# --- arrays and networks --------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16", "uint8"])
def test_a_matrix(dtype):
    found = Cells(nd.array([[1, 2, 3], [4, 5, 6]], dtype=dtype)._repr_html_())
    assert found.caption == f"NDArray 2 x 3, {dtype}, cpu(0)"
    assert found.cells == [["1", "2", "3"], ["4", "5", "6"]]


def test_a_vector_and_its_digits():
    found = Cells(nd.array([1.23456789, -2, np.nan, np.inf, 1e-9])._repr_html_())
    assert found.caption == "NDArray 5, float32, cpu(0)"
    assert found.cells == [["1.23457", "-2", "nan", "inf", "1e-09"]]


@pytest.mark.parametrize("shape", [(20, 12), (21, 12), (20, 13), (1000, 1000)])
def test_a_large_one_has_its_edges(shape):
    array = nd.arange(shape[0] * shape[1]).reshape(shape)
    cells = Cells(array._repr_html_()).cells
    rows, columns = min(shape[0], 21), min(shape[1], 13)
    assert len(cells) == rows and {len(row) for row in cells} == {columns}
    gaps = sum(cell == "\u2026" for row in cells for cell in row)
    assert gaps == (shape[0] > 20) * columns + (shape[1] > 12) * (rows - (shape[0] > 20))
    values = array.asnumpy()
    assert cells[0][0] == "0" and cells[-1][-1] == f"{values[-1, -1]:.6g}"
    assert cells[0][-1] == f"{values[0, -1]:.6g}" and cells[-1][0] == f"{values[-1, 0]:.6g}"


@pytest.mark.parametrize(
    "array",
    [nd.ones((2, 2, 2)), nd.zeros((2, 2)).tostype("csr"), nd.ones((2, 2)).tostype("row_sparse")],
)
def test_others_are_shown_as_printed(array):
    assert Cells(array._repr_html_()).pre == repr(array).strip("\n")


def test_networks_are_shown_as_printed():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=3), gluon.nn.Activation("relu"))
    assert Cells(net._repr_html_()).pre == repr(net)


@pytest.mark.parametrize(
    "made, text",
    [
        (lambda: mx.init.Xavier(magnitude=2), "Xavier(magnitude=2.0)"),
        (lambda: mx.init.Uniform(0.5), "Uniform(scale=0.5)"),
        (mx.metric.Accuracy, "Accuracy(name='accuracy')"),
        (lambda: mx.lr_scheduler.FactorScheduler(10, 0.5), "FactorScheduler(step=10, factor=0.5)"),
        (lambda: mx.callback.Speedometer(50, 5), "Speedometer(batch_size=50, frequent=5)"),
        (lambda: mx.callback.EarlyStopping("acc", patience=3), "(monitor='acc', patience=3"),
        (lambda: gluon.data.RandomSampler(3), "RandomSampler(length=3)"),
        (lambda: gluon.data.ArrayDataset([1, 2]), "ArrayDataset(length=2)"),
    ],
)
def test_settings_other_than_by_default(made, text):
    found = repr(made())
    assert text in found and " at 0x" not in found
    assert type(made()).__name__ in made()._repr_html_()


def test_nothing_public_shows_its_address():
    """Whatever the reference lists and can be made without arguments."""
    seen = 0
    for space in (mx.init, mx.metric, mx.lr_scheduler, mx.callback, mx.optimizer, gluon.loss):
        for name in dir(space):
            made = getattr(space, name)
            try:
                shown = repr(made()) if isinstance(made, type) else ""
            except (TypeError, mx.errors.CynetError):
                continue
            assert " object at 0x" not in shown, name
            seen += bool(shown)
    assert seen > 60
