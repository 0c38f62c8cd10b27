"""Inference where parts are unknown: as MXNet 1.9.1 reports it, and backwards, where it stops."""

import json
from collections import Counter
from pathlib import Path

import pytest

import cynet as mx
from tests.fixtures import inference, partial_shapes

FIXTURES = Path(__file__).parent.parent / "fixtures"
PARTIAL = FIXTURES / "partial_shapes.json"
EXPECTED = json.loads((FIXTURES / "inference.json").read_text())
a, b, c = (mx.sym.Variable(name) for name in "abc")


@pytest.mark.parametrize("number", range(len(inference.SHAPES)))
def test_shapes(number):
    text, known = inference.SHAPES[number]
    print(text, known)
    assert inference.describe(mx, "shapes", text, known) == EXPECTED["shapes"][number]


@pytest.mark.parametrize("number", range(len(inference.TYPES)))
def test_types(number):
    text, known = inference.TYPES[number]
    print(text, known)
    assert inference.describe(mx, "types", text, known) == EXPECTED["types"][number]


@pytest.mark.parametrize(
    "make, known, arguments",
    [
        (lambda: mx.sym.transpose(a) + b, {"b": (2, 3)}, [(3, 2), (2, 3)]),
        (lambda: mx.sym.transpose(a) + b, {"b": (2, 0)}, [(0, 2), (2, 0)]),
        (lambda: mx.sym.SwapAxis(a, dim1=0, dim2=1) + b, {"b": (2, 3)}, [(3, 2), (2, 3)]),
        (lambda: mx.sym.where(a, b, c), {"b": (2, 3)}, [(), (2, 3), (2, 3)]),
        (lambda: mx.sym.where(a, b, c), {"a": (2,)}, [(2,), (), ()]),
        (lambda: mx.sym.SliceChannel(a, num_outputs=3)[0] + b, {"b": (2, 2)}, [(2, 6), (2, 2)]),
        (
            lambda: mx.sym.SliceChannel(a, num_outputs=3, squeeze_axis=True)[1] + b,
            {"b": (2, 4)},
            [(2, 3, 4), (2, 4)],
        ),
        (
            lambda: mx.sym.batch_dot(a, b) + c,
            {"c": (2, 3, 5), "a": (2, 3, 4)},
            [(2, 3, 4), (2, 4, 5), (2, 3, 5)],
        ),
        (
            lambda: mx.sym.batch_dot(a, b, transpose_a=True, transpose_b=True) + c,
            {"c": (2, 3, 5), "b": (2, 5, 4)},
            [(2, 4, 3), (2, 5, 4), (2, 3, 5)],
        ),
        (lambda: mx.sym.batch_dot(a, b) + c, {"c": (2, 3, 5)}, [(2, 3, 0), (2, 0, 5), (2, 3, 5)]),
        (lambda: mx.sym.Concat(a, b, dim=1) + c, {"a": (2, 3), "c": (2, 7)}, None),
    ],
)
def test_backwards(make, known, arguments):
    """MXNet 1.9.1 says () here, or fails."""
    net = make()
    found = net.infer_shape_partial(**known)[0]
    assert found == (arguments or [(2, 3), (2, 4), (2, 7)])
    if all(all(shape) and shape for shape in found):
        assert net.infer_shape(**known)[0] == found
    else:
        with pytest.warns(UserWarning, match="Cannot decide shape"):
            assert net.infer_shape(**known) == (None, None, None)


# Rows in which what MXNet infers is not so: it takes 0 for a length that it does not know, counts
# on with it, or lists an output that its symbol does not have.
WRONG = {
    "Correlation": 2,
    "LeakyReLU": 4,
    "Pad": 6,
    "Pooling_v1": 2,
    "UpSampling": 1,
    "_linalg_makediag": 1,
    "_unravel_index": 2,
    "diag": 1,
}


def test_every_operator_infers_what_mxnet_does():
    """A length that is not known leaves no more of the output open than it does there."""
    faults, rows = [], json.loads(PARTIAL.read_text())["rows"]
    for op, params, shapes, expected in rows:
        found = partial_shapes.inferred(mx, [op, params, shapes])
        if len(found) != len(expected) or not all(
            not any(wanted)
            or (len(had) == len(wanted) and all(w in (0, h) for h, w in zip(had, wanted)))
            for had, wanted in zip(found, expected)
        ):
            faults.append((op, f"{op}({params}) of {shapes}: {found}, MXNet {expected}"))
    assert Counter(op for op, _ in faults) == WRONG, "\n".join(text for _, text in faults)
    assert len({row[0] for row in rows}) > 200


@pytest.mark.parametrize("indices", [(2,), (2, 5), (2, 5, 3)])
def test_indices_of_an_embedding(indices):
    """What its output is added to tells the shape of what is looked up."""
    out = mx.sym.Embedding(mx.sym.var("data"), input_dim=7, output_dim=4, name="e")
    out = out + mx.sym.var("b")
    shapes, outs, _ = out.infer_shape_partial(b=(*indices, 4))
    assert dict(zip(out.list_arguments(), shapes)) == {
        "data": indices,
        "e_weight": (7, 4),
        "b": (*indices, 4),
    }
    assert outs == [(*indices, 4)]
