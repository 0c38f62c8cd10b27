"""Names that come from outside (a request, a file, JSON) never become keywords with a meaning.

A network may call an input ``self``, ``ctx`` or ``timeout``: whatever works for ``data`` works for
it. And no module that reads what is from outside passes names by ``**`` but where this is safe.
"""

import ast
import io
import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.kinds import call_with_settings
from cynet.contrib import amp, quantization
from cynet.serving import Application, c_predict

ROOT = Path(mx.__file__).parent
NAMES = (
    *("self", "name", "ctx", "grad_req", "type_dict", "stype_dict", "group2ctx"),
    *("shared_arg_names", "shared_exec", "shared_buffer", "partial_shaping", "allow_up_sizing"),
    *("args", "kwargs", "is_train", "timeout", "attr", "symbol", "shapes", "x", "F", "cls"),
)
ROWS = np.arange(12, dtype="float32").reshape(4, 3)


def dense(name, weight="w_weight"):
    weight = mx.sym.Variable(weight, init=mx.init.One())
    data = mx.sym.Variable(name)
    return mx.sym.FullyConnected(data, weight, no_bias=True, num_hidden=2, name="fc")


def weights(name="w_weight"):
    return {name: mx.nd.ones((2, 3))}


def same(found, rows=ROWS):
    found = found.asnumpy() if hasattr(found, "asnumpy") else found
    np.testing.assert_allclose(found, np.repeat(rows.sum(1, keepdims=True), 2, 1), rtol=1e-2)


def inferred(name, tmp_path):
    net = dense(name)
    assert net.infer_shape(**{name: (4, 3)})[1] == [(4, 2)]
    assert net.infer_shape_partial(**{name: (4, 3)})[1] == [(4, 2)]
    assert net.infer_type(**{name: "float32"})[1] == [np.float32]
    assert net.infer_type_partial(**{name: "float32"})[1] == [np.float32]


def trained(name, tmp_path):
    net = mx.sym.SoftmaxOutput(dense(name), name="softmax")
    module = mx.mod.Module(net, [name], ["softmax_label"])
    data = mx.io.NDArrayIter({name: ROWS}, {"softmax_label": np.zeros(4)}, 2)
    module.fit(data, num_epoch=1, verbose=False)
    assert module.predict(data).shape == (4, 2) and len(module.score(data, "acc")) == 1
    module.reshape([(name, (1, 3))], [("softmax_label", (1,))])
    module.forward(mx.io.DataBatch([mx.nd.ones((1, 3))]), is_train=False)
    assert module.get_outputs()[0].shape == (1, 2)
    mx.executor_manager.DataParallelExecutorManager(net, [mx.cpu()], data)


def executed(name, tmp_path):
    executor = dense(name).bind(mx.cpu(), {name: mx.nd.array(ROWS), **weights()})
    same(executor.forward()[0])
    smaller = executor.reshape_free({name: (2, 3)}, {name})
    assert smaller.outputs[0].shape == (2, 2)


def bucketed(name, tmp_path):
    module = mx.mod.BucketingModule(lambda key: (dense(name), [name], None), 1)
    module.bind([(name, (4, 3))], for_training=False)
    module.init_params()
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))], bucket_key=2, provide_data=[(name, (2, 3))])
    module.forward(batch)
    same(module.get_outputs()[0], np.ones((2, 3)))


def asked_from_c(name, tmp_path):
    mx.nd.save(str(tmp_path / "c.params"), weights())
    params = (tmp_path / "c.params").read_bytes()
    net = c_predict.Network.create(dense(name).tojson(), params, (1, 0), {name: (4, 3)}, [])
    for rows in (ROWS, ROWS[:2]):
        net = net.reshape({name: rows.shape})
        net.set_input(name, memoryview(rows.copy()).cast("B"))
        net.forward()
        found = np.zeros((len(rows), 2), "float32")
        net.get_output(0, memoryview(found).cast("B"))
        same(found, rows)


def served(name, tmp_path):
    predictor = mx.Predictor(dense(name), weights(), shapes={name: (3,)}, max_batch=1)
    same(predictor.predict({name: ROWS}))
    status, found = request(predictor, {name: ROWS.tolist()})
    assert status == 200
    same(np.array(found["outputs"][0]))


def in_a_block(name, tmp_path):
    block = mx.gluon.SymbolBlock(dense(name), mx.sym.Variable(name))
    block.initialize(mx.init.One())
    same(block(mx.nd.array(ROWS)))
    assert block(mx.sym.Variable("other")).list_arguments()[0] == "other"
    other = "in" if name == "x" else "x"
    block = mx.gluon.SymbolBlock(dense(other, name), mx.sym.Variable(other))
    block.initialize(mx.init.One())
    same(block(mx.nd.array(ROWS)))
    assert block(mx.sym.Variable("y")).list_arguments() == ["y", name]


def in_a_file(name, tmp_path):
    assert mx.sym.load_json(dense(name).tojson()).list_arguments()[0] == name
    pytest.importorskip("onnx")
    path = str(tmp_path / "m.onnx")
    mx.onnx.export_model(dense(name), weights(), [(4, 3)], onnx_file_path=path)
    net, args, auxs = mx.onnx.import_model(path)
    executor = net.bind(mx.cpu(), {**args, **auxs, name: mx.nd.array(ROWS)})
    same(executor.forward()[0])
    same(mx.onnx.import_to_gluon(path, mx.cpu())(mx.nd.array(ROWS)))
    other = "in" if name == "x" else "x"
    mx.onnx.export_model(dense(other, name), weights(name), [(4, 3)], onnx_file_path=path)
    same(mx.onnx.import_to_gluon(path, mx.cpu())(mx.nd.array(ROWS)))


def rewritten(name, tmp_path):
    data = mx.io.NDArrayIter({name: ROWS}, None, 4)
    net, args, _ = quantization.quantize_model(
        dense(name),
        weights(),
        {},
        data_names=[name],
        calib_mode="naive",
        calib_data=data,
        num_calib_examples=4,
    )
    same(net.bind(mx.cpu(), {**args, name: mx.nd.array(ROWS)}).forward()[0])
    net, args, _ = amp.convert_model(dense(name), weights(), {}, target_dtype="bfloat16")
    assert name in net.list_arguments()


def looked_at(name, tmp_path):
    mx.viz.print_summary(dense(name), shape={name: (4, 3)})
    places = {name: ROWS, "w_weight": np.ones((2, 3), "float32")}
    mx.test_utils.check_symbolic_forward(dense(name), places, [ROWS.sum(1, keepdims=True) + [0, 0]])
    mx.test_utils.check_symbolic_backward(
        dense(name), places, [np.ones((4, 2))], {name: np.full((4, 3), 2.0)}
    )


WAYS = [inferred, trained, executed, bucketed, served, asked_from_c, in_a_block]
WAYS += [in_a_file, rewritten, looked_at]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", ["data", *NAMES])
def test_an_input_of_any_name(name, way, tmp_path):
    way(name, tmp_path)


def request(predictor, inputs):
    body = json.dumps({"inputs": inputs}).encode()
    found = []
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/predict",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    answer = Application(predictor)(environ, lambda status, headers: found.append(status))
    return int(found[0][:3]), json.loads(b"".join(answer))


@pytest.mark.parametrize("name", [*NAMES, "", "\x00", "data ", "__class__", "inputs", "max_batch"])
@pytest.mark.parametrize("value", [[[1, 2, 3]], 1e9, "x", [1], None])
def test_a_request_that_names_no_input(name, value):
    predictor = mx.Predictor(dense("data"), weights(), shapes=(3,), max_batch=1, max_delay=0.001)
    for inputs in ({"data": [[1, 2, 3]], name: value}, {name: value}):
        status, found = request(predictor, inputs)
        assert status == 400, found
        assert "no input is called" in found["error"] or "must be" in found["error"]
    assert request(predictor, {"data": [[1, 2, 3]]})[0] == 200


@pytest.mark.parametrize("name", [*NAMES, "", "callback", "initializer", "metric", "__class__"])
def test_settings_in_json(name, rng):
    """A name that a class does not take is one error, whatever is called so around it."""

    class Shape:
        def __init__(self, size=1):
            self.size = size

    class Any:
        def __init__(self, **settings):
            self.settings = settings

    for kind in Shape, Any:
        mx.registry.get_register_func(kind, "shape")(kind)
        make = mx.registry.get_create_func(kind, "shape")
        text = [kind.__name__, {name: 3}]
        if kind is Any and name != "self":
            assert make(json.dumps(text)).settings == {name: 3}
            assert make({"shape": "any", name: 3}).settings == {name: 3}
            continue
        for described in (json.dumps(text), {"shape": kind.__name__, name: 3}):
            with pytest.raises(mx.errors.ArgumentTypeError, match=f"shape.*'{name}'"):
                make(described)
    with pytest.raises(mx.errors.ArgumentTypeError, match=f"xavier.*'{name}'"):
        mx.init.create(json.dumps(["xavier", {name: 1}]))
    if name not in ("name", "metric", "kwargs"):  # a metric takes a name, and settings to keep
        with pytest.raises(mx.errors.ArgumentTypeError, match="metric"):
            mx.metric.create(json.dumps({"metric": "loss", name: 1, "self": 1}))


def test_settings_that_are_given_twice_or_have_no_name():
    class Shape:
        def __init__(self, size=1):
            self.size = size

    mx.registry.get_register_func(Shape, "shape")(Shape)
    make = mx.registry.get_create_func(Shape, "shape")
    assert make('["shape", {"size": 3}]', size=4).size == 4
    with pytest.raises(mx.errors.ArgumentTypeError, match="must be str, got 1"):
        make({"shape": "shape", 1: 2})
    with pytest.raises(mx.errors.ArgumentTypeError, match="part: there is no setting 'self'"):
        call_with_settings("part", dict, [], {"self": 1})


@pytest.mark.parametrize("name", ["callback", "args", "kwargs", "ctx", "op_type"])
def test_parameters_of_a_custom_operator(name):
    class Property(mx.operator.CustomOpProp):
        def __init__(self, **kwargs):
            super().__init__()
            self.given = kwargs

    mx.operator.register("names_from_outside")(Property)
    graph = json.loads(mx.sym.Custom(mx.sym.var("x"), op_type="names_from_outside").tojson())
    (node,) = [each for each in graph["nodes"] if each["op"] != "null"]
    node["attrs"] = {"op_type": "names_from_outside", name: "names_from_outside"}
    read = mx.sym.load_json(json.dumps(graph))
    assert read.attr(name) == "names_from_outside"
    node["attrs"]["self"] = "1"
    with pytest.raises(mx.errors.FormatError, match="no parameter 'self'"):
        mx.sym.load_json(json.dumps(graph))


# --- what the package itself does ----------------------------------------------------------------
# functions whose keywords are names of a network, beside parameters of their own
KEYWORDS = {"simple_bind", "forward", "eval", "reshape", "predictor", "Predictor"}
# where text from outside is read; beside it, what may be passed by ** there, and why that is safe
READERS = {
    "serving": {"self.symbol.infer_shape": "takes any name", "Refused": "a header of ours"},
    "launch": {},
    "distributed": {},
    "tools": {},
    "io": {"np.loadtxt": "settings of ours", "urllib.request.urlopen": "settings of ours"},
    "registry.py": {},
    "initializer/base.py": {},
    "metric/base.py": {"create": "has no names of its own but those of settings"},
    "symbol/serialization.py": {"entry.prop": "accepted_params knows them all"},
    "optimizer/state_file.py": {},
    "gluon/block/files.py": {},
    "gluon/block/symbol_block.py": {"self.params.get": "settings of ours"},
    "module": {
        "symbol.infer_shape": "takes any name",
        "Module": "settings of ours",
        "opt.create": "settings of the user's",
        "to_iterator": "settings of ours",
    },
}
TRUSTED_JSON = {  # what this process, or a rank of the same job, has written
    *("module/ranks.py", "module/resume.py", "distributed/control_messages.py", "base/kinds.py"),
    "kvstore/dist.py",
    *("gluon/block/graph.py", "gluon/contrib/estimator/checkpoint.py"),
    "test_utils/tolerances.py",
}


def calls(path):
    """(called, {names of ** parameters around it}, call) of every call in a file."""

    def walk(node, kwargs):
        for child in ast.iter_child_nodes(node):
            inner = kwargs
            if isinstance(child, (ast.FunctionDef, ast.Lambda)) and child.args.kwarg is not None:
                inner = kwargs | {child.args.kwarg.arg}
            if isinstance(child, ast.Call):
                yield ast.unparse(child.func), inner, child
            yield from walk(child, inner)

    yield from walk(ast.parse(path.read_text()), frozenset())


def passed_on(call):
    """What a call passes by ``**``."""
    return [each.value for each in call.keywords if each.arg is None]


FILES = {str(each.relative_to(ROOT)): each for each in sorted(ROOT.rglob("*.py"))}


def test_names_of_a_network_are_passed_as_a_dict():
    wrong = [
        f"{name}:{call.lineno}: {called}"
        for name, path in FILES.items()
        for called, kwargs, call in calls(path)
        if called.rpartition(".")[2] in KEYWORDS
        and any(not (isinstance(v, ast.Name) and v.id in kwargs) for v in passed_on(call))
    ]
    ours = ("test_utils/check.py", "gluon/block/hybrid")  # keywords of a user's call
    assert not [each for each in wrong if not each.startswith(ours)]


@pytest.mark.parametrize("reader", READERS)
def test_readers_pass_no_names_on(reader):
    files = {k: v for k, v in FILES.items() if k == reader or k.startswith(reader + "/")}
    assert files, f"{reader} is gone"
    safe, found = READERS[reader], set()
    for name, path in files.items():
        for called, kwargs, call in calls(path):
            for value in passed_on(call):
                if isinstance(value, ast.Name) and value.id in kwargs:
                    continue
                assert called in safe, f"{name}:{call.lineno}: {called}(**{ast.unparse(value)})"
                found.add(called)
    assert found == set(safe)


def test_json_from_outside_is_read_in_one_way():
    """Too deep a nesting is an error of the text there, not of Python's stack."""
    found = {
        name
        for name, path in FILES.items()
        for called, _, _ in calls(path)
        if called in ("json.loads", "json.load")
    }
    assert found == TRUSTED_JSON


DEEP = '{"a": ' + "[" * 100_000


@pytest.mark.parametrize(
    "read",
    [
        lambda path: mx.sym.load_json(DEEP),
        lambda path: mx.sym.load(path("x.json", DEEP)),
        lambda path: mx.init.create('["xavier", ' + DEEP),
        lambda path: mx.metric.create(DEEP),
        lambda path: mx.registry.get_create_func(mx.init.Initializer, "initializer")(DEEP),
        lambda path: mx.gluon.nn.Dense(1).load(path("b-model.json", DEEP)[: -len("-model.json")]),
    ],
)
def test_json_that_is_nested_too_deep(read, tmp_path):
    def path(name, text):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    with pytest.raises(mx.errors.CynetError, match="deep|JSON"):
        read(path)
