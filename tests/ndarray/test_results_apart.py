"""A result is an array of its own: writing it leaves what it was computed from as it was, also
where a short way has nothing to compute."""

import itertools

import numpy as np
import pytest
from cynet.ndarray._call import invoke

import cynet as mx
from cynet import nd
from cynet.operator import get_operator
from tests.ndarray.sparse.test_walk import CASES as FORMS
from tests.ndarray.sparse.test_walk import arrays_of
from tests.operator.cases import all_cases

FILLS = ("some", "nothing", "all")
STYPES = ("default", "csr", "row_sparse")


def written(array):
    """Other numbers in an array: by assignment, and in the memory of a sparse one's values."""
    if array.stype != "default":
        values, _ = array.parts()
        if values.size:
            values[:] = 77
    full = nd.full(array.shape, 7, dtype=array.dtype)
    array[:] = full if array.stype == "default" else full.tostype(array.stype)


def check(inputs, call):
    """No result of `call` shares memory with the inputs."""
    before = [each.asnumpy() for each in inputs]
    results = call(*inputs)
    for result in results if isinstance(results, (list, tuple)) else [results]:
        written(result)
    for each, values in zip(inputs, before):
        np.testing.assert_array_equal(each.asnumpy(), values)


@pytest.mark.filterwarnings("ignore:operator")
@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("number", range(len(FORMS)), ids=lambda i: f"{FORMS[i][0]}-{i}")
def test_forms_of_sparse_arrays(rng, number, fill):
    name, kinds, params = FORMS[number]
    given = [
        array
        if array.stype == "default" or fill != "all"
        else nd.array(rng.uniform(0.1, 0.9, array.shape)).tostype(array.stype)
        for array, _, _ in arrays_of(kinds, fill, "float32", rng)
    ]
    check(given, lambda *arrays: invoke(get_operator(name), arrays, params))


# Updates write their weights and states, as they say.
OPERATORS = sorted({case.op for case in all_cases() if case.inputs and "update" not in case.op})


@pytest.mark.parametrize("op", OPERATORS)
def test_operators(op, rng):
    entry = get_operator(op)
    for case in (each for each in all_cases() if each.op == op and each.inputs):
        made = [each.make(rng, case.dtypes[0]) for each in (*case.inputs, *case.aux)]
        arrays = [nd.array(each, dtype=each.dtype) for each in made]
        params = dict(case.params)
        if entry.prop.key_var_num_args:
            params[entry.prop.key_var_num_args] = len(case.inputs)
        results = invoke(entry, tuple(arrays), params)
        for result in results if isinstance(results, list) else [results]:
            assert result.stype != "default" or not any(map(result.shares_memory, arrays)), case.id


ONE = {
    "add_n": lambda x: nd.add_n(x),
    "ElementWiseSum": lambda x: nd.ElementWiseSum(x),
    "concat": lambda x: nd.concat(x, dim=0),
    "concatenate": lambda x: nd.concatenate([x]),
    "tostype": lambda x: x.tostype(x.stype),
    "cast_storage": lambda x: nd.cast_storage(x, x.stype),
    "sparse.cast_storage": lambda x: nd.sparse.cast_storage(x, x.stype),
    "copy": lambda x: x.copy(),
    "copyto a device": lambda x: x.copyto(mx.cpu()),
    "copyto": lambda x: x.copyto(nd.zeros(x.shape, stype=x.stype)),
    "astype": lambda x: x.astype(x.dtype),
    "astype(copy=True)": lambda x: x.astype(x.dtype, copy=True),
    "cast": lambda x: nd.cast(x, dtype="float32"),
    "array": lambda x: nd.array(x),
    "identity": lambda x: nd.identity(x),
    "BlockGrad": lambda x: nd.BlockGrad(x),
    "make_loss": lambda x: nd.make_loss(x),
    "clip": lambda x: nd.clip(x, -9, 9),
    "+ 0": lambda x: x + 0,
    "* 1": lambda x: x * 1,
    "abs": abs,
    "relu": lambda x: nd.relu(x),
    "* ones": lambda x: x * nd.ones(x.shape),
    "/ ones": lambda x: x / nd.ones(x.shape),
    "+ zeros": lambda x: x + nd.zeros(x.shape, stype=x.stype),
    "slice": lambda x: nd.slice(x, begin=(0, 0), end=(None, None)),
    "take": lambda x: nd.take(x, nd.arange(x.shape[0])),
    "maximum": lambda x: nd.maximum(x, x),
}
DENSE = {
    "T": lambda x: x.T,
    "T of one axis": lambda x: x[0].T,
    "transpose": lambda x: x.transpose((0, 1)),
    "moveaxis": lambda x: nd.moveaxis(x, 0, 0),
    "swapaxes": lambda x: nd.swapaxes(x, dim1=0, dim2=0),
    "broadcast_to": lambda x: x.broadcast_to(x.shape),
    "broadcast_like": lambda x: x.broadcast_like(x),
    "broadcast_axes": lambda x: nd.broadcast_axes(x, axis=(), size=()),
    "stack": lambda x: nd.stack(x),
    "split": lambda x: nd.split(x, num_outputs=1),
    "split_v2": lambda x: nd.split_v2(x, 1),
    "split_v2 at no index": lambda x: nd.split_v2(x, ()),
    "SliceChannel": lambda x: nd.SliceChannel(x, num_outputs=1),
    "tile": lambda x: x.tile((1, 1)),
    "repeat": lambda x: x.repeat(1),
    "pad": lambda x: x.reshape((1, 1, *x.shape)).pad("constant", (0,) * 8),
    "flip": lambda x: x.flip(axis=()),
    "squeeze": lambda x: nd.squeeze(x),
    "flatten": lambda x: x.flatten(),
    "reshape": lambda x: nd.reshape(x, x.shape),
    "einsum": lambda x: nd.einsum("ij->ij", x),
    "einsum of a method": lambda x: x.einsum("ij"),
    "sum over nothing": lambda x: nd.sum(x.reshape((1, *x.shape)), axis=0),
    "sort": lambda x: x.sort(axis=0),
    "tril": lambda x: x.tril(9),
    "cumsum": lambda x: x[:1].cumsum(axis=0),
    "Dropout": lambda x: nd.Dropout(x, p=0.5),
    "amp_cast": lambda x: nd.amp_cast(x, dtype="float32"),
    "amp_multicast": lambda x: nd.amp_multicast(x, num_outputs=1),
    "where": lambda x: nd.where(nd.ones(x.shape), x, x),
    "positive": lambda x: x**1,
    "rank": lambda x: nd.contrib.boolean_mask(x, nd.ones(x.shape[0])),
    "deepcopy": lambda x: __import__("copy").deepcopy(x),
    "pickle": lambda x: __import__("pickle").loads(__import__("pickle").dumps(x)),
    "index of all rows": lambda x: x[list(range(x.shape[0]))],
    "mask of all": lambda x: x[np.ones(x.shape, bool)],
}


@pytest.mark.filterwarnings("ignore:operator")
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(
    "stype, name", [*itertools.product(STYPES, ONE), *(("default", name) for name in DENSE)]
)
def test_short_ways(stype, name, recorded):
    call = {**ONE, **DENSE}[name]
    for values in ([[1, 0, 2], [0, 3, 0]], [[0, 0, 0], [0, 0, 0]], [[1, 2, 3], [4, 5, 6]]):
        x = nd.array(values).tostype(stype)
        if not recorded:
            check([x], call)
            continue
        with mx.autograd.record():
            result = call(x)
            assert result is not x, values
