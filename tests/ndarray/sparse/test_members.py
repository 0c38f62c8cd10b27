"""Every member of sparse arrays: what it gives, on which device and in which dtype, and whole
refusals; how a call that one is in goes on."""

import pickle
import re
import warnings

import numpy as np
import pytest
import scipy.sparse

import cynet as mx
from cynet.base.errors import ArgumentError, CynetError, NotSupportedForSparseNDArray
from cynet.ndarray.sparse import call, through_host, updates

sparse = mx.nd.sparse
DENSE = np.array([[0, 1.5, 0, 2], [0, 0, 0, 0], [-3, 0, 0, 4]], "float32")
BOTH = ("csr", "row_sparse")
TWO = mx.cpu(1)


def made(stype, dtype="float32", context=TWO):
    return mx.nd.array(DENSE, context, dtype).tostype(stype)


def unsorted(stype):
    """The same values, in another order."""
    if stype == "csr":
        parts = [2, 1.5, 4, -3], [3, 1, 3, 0], [0, 2, 2, 4]
        return sparse.csr_matrix(parts, DENSE.shape)
    return sparse.row_sparse_array((DENSE[[2, 0]], [2, 0]), DENSE.shape)


def fails(stype):
    """An array whose values fail as they are computed."""

    @mx.operator.register(f"fails_for_{stype}")
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            class Op(mx.operator.CustomOp):
                def forward(self, is_train, req, in_data, out_data, aux):
                    raise ValueError("no values")

            return Op()

    array = made(stype)
    array._values_array = mx.nd.Custom(array._values_array, op_type=f"fails_for_{stype}")
    return array


@pytest.mark.parametrize("stype", BOTH)
def test_what_it_is(stype):
    array = made(stype, "float64")
    assert (array.shape, array.size, array.ndim, len(array)) == ((3, 4), 12, 2, 3)
    assert array.context == array.ctx == TWO and array.dtype == np.float64
    values, parts = array.parts()
    own = scipy.sparse.csr_matrix(DENSE)
    if stype == "csr":
        assert [each.tolist() for each in parts] == [own.indptr.tolist(), own.indices.tolist()]
        assert array.indptr.asnumpy().tolist() == own.indptr.tolist()
        assert values.asnumpy().tolist() == own.data.tolist() == array.data.asnumpy().tolist()
        assert (array.asscipy() != own).nnz == 0 and array.asscipy().dtype == np.float64
    else:
        assert [each.tolist() for each in parts] == [[0, 2]]
        np.testing.assert_array_equal(array.data.asnumpy(), DENSE[[0, 2]])
        for wrong in ("indptr", "asscipy"):
            assert not hasattr(array, wrong)
    assert array.data.context == TWO and array.data is not array._values_array
    name = {"csr": "CSRNDArray", "row_sparse": "RowSparseNDArray"}[stype]
    assert repr(array) == str(array) == f"\n<{name} 3x4 @cpu(1)>"
    with pytest.raises(ArgumentError, match=f"the truth value of a {stype} array is ambiguous"):
        bool(array)
    for what in (float, int):
        with pytest.raises(CynetError, match=f"{what.__name__}.. takes an array of one element, t"):
            what(array)
    assert float(sparse.zeros(stype, (1, 1))) == 0
    one = mx.nd.array([[5]]).tostype(stype)
    assert one.asscalar() == 5 and type(one.asscalar()) is np.float32
    assert float(one) == 5 and int(one) == 5
    np.testing.assert_array_equal(array.host_copy(), DENSE)


@pytest.mark.parametrize("stype", BOTH)
@pytest.mark.parametrize("member", ["wait_to_read", "asnumpy", "copy", "data"])
def test_what_has_failed_is_told(stype, member):
    array = fails(stype)
    with pytest.raises(CynetError, match="no values"):
        found = getattr(array, member)
        found = found() if callable(found) else found
        if found is not None:
            found.wait_to_read()
    with pytest.raises(CynetError, match="no values"):
        fails(stype).wait_to_write()


@pytest.mark.parametrize("stype", BOTH)
def test_an_order_is_made_when_it_is_needed(stype):
    for use in (
        lambda a: a.as_canonical(),
        lambda a: a.parts(),
        lambda a: a.tostype("default"),
        lambda a: a.copyto(mx.nd.zeros((3, 4))),
        lambda a: a * 2,
        lambda a: a + a,
    ):
        array = unsorted(stype)
        with pytest.raises(ArgumentError, match="rise"):
            array.check_format()
        array.check_format(full_check=False)
        array.check_format(False)
        use(array)
        array.check_format()
        np.testing.assert_array_equal(array.asnumpy(), DENSE)
    for copy in (
        lambda a: a.copy(),
        lambda a: a.detach(),
        lambda a: a.astype("float64"),
        lambda a: a.copyto(TWO),
        lambda a: pickle.loads(pickle.dumps(a)),
        lambda a: a.copyto(made(stype)),
    ):
        found = copy(unsorted(stype))
        np.testing.assert_array_equal(found.asnumpy(), DENSE)
        found.check_format()


@pytest.mark.parametrize("stype", BOTH)
def test_copies(stype):
    array = made(stype)
    same = {
        "astype": array.astype("float32", copy=False),
        "as_in_context": array.as_in_context(TWO),
        "as_in_ctx": array.as_in_ctx(TWO),
        "[:]": array[:],
        "canonical": array.as_canonical(),
    }
    assert {name: each is array for name, each in same.items()} == dict.fromkeys(same, True)
    other = {
        "copy": (array.copy(), TWO, "float32"),
        "detach": (array.detach(), TWO, "float32"),
        "astype": (array.astype("float32"), TWO, "float32"),
        "astype other": (array.astype("float16", copy=False), TWO, "float16"),
        "copyto": (array.copyto(mx.cpu(0)), mx.cpu(0), "float32"),
        "copyto itself": (array.copyto(TWO), TWO, "float32"),
        "as_in_context": (array.as_in_context(mx.cpu(0)), mx.cpu(0), "float32"),
        "pickle": (pickle.loads(pickle.dumps(array)), TWO, "float32"),
        "tostype": (array.tostype(stype), TWO, "float32"),
        "neg": (array.__neg__().__neg__(), TWO, "float32"),
    }
    for name, (found, context, dtype) in other.items():
        assert found is not array, name
        assert (found.stype, found.context, found.dtype) == (stype, context, np.dtype(dtype)), name
        np.testing.assert_array_equal(found.asnumpy(), DENSE, err_msg=name)
        assert (found._values_array is array._values_array) == (name == "detach"), name
    dense = array.tostype("default")
    assert (dense.stype, dense.context) == ("default", TWO)
    np.testing.assert_array_equal(abs(array).asnumpy(), abs(DENSE))


@pytest.mark.parametrize("stype", BOTH)
def test_what_is_written(stype):
    """The target keeps its dtype and its device; sources stay."""
    for source in (made(stype, "float64"), mx.nd.array(DENSE, dtype="float64"), unsorted(stype)):
        for name in ("copyto", "assign_copy_of", "[:]"):
            target = sparse.zeros(stype, (3, 4), TWO, "float16")
            if name == "copyto":
                if source.stype == "default":
                    continue
                assert source.copyto(target) is target
            elif name == "assign_copy_of":
                assert target.assign_copy_of(source) is target
            else:
                target[:] = source
            assert (target.context, target.dtype) == (TWO, np.float16)
            np.testing.assert_array_equal(target.asnumpy(), DENSE)
            target[:] = 0
            np.testing.assert_array_equal(source.asnumpy(), DENSE)
            assert not target.asnumpy().any() and target.context == TWO
    for value in (DENSE, DENSE.astype("int64"), DENSE.tolist()):
        target = sparse.zeros(stype, (3, 4))
        if isinstance(value, list):
            with pytest.raises(CynetError, match=f"a {stype} (matrix|array) takes arrays and"):
                target[:] = value
        else:
            target[:] = value
            np.testing.assert_array_equal(target.asnumpy(), value)


REFUSED = {
    "assigned whole": (lambda a: a.__setitem__(0, 1), "a STYPE array is assigned whole: x[:] = v"),
    "a part": (lambda a: a.__setitem__(slice(0, 2), 0), "a STYPE array is assigned whole: x[:]"),
    "another shape": (
        lambda a: a.__setitem__(slice(None), np.ones((2, 2))),
        "copy: source has shape (2, 2), target (3, 4)",
    ),
    "a source of another shape": (
        lambda a: a.assign_copy_of(mx.nd.ones((4, 3))),
        "copy: source has shape (4, 3), target (3, 4)",
    ),
    "no source": (lambda a: a.assign_copy_of([1]), "copy: expected an NDArray, got [1]"),
    "no target": (lambda a: a.copyto(3), "copyto takes an NDArray or a Context, got int"),
    "no storage type": (
        lambda a: a.tostype("x"),
        "storage type 'x' is not one of 'default', 'row_sparse' and 'csr'",
    ),
    "a type as storage type": (lambda a: a.tostype(3), "storage type 3 is not one of"),
    "out of another kind": (
        lambda a: mx.nd.abs(
            a, out=sparse.zeros("csr" if a.stype == "row_sparse" else "row_sparse", (3, 4))
        ),
        "operator abs gives STYPE, and out is ",
    ),
    "too many outs": (
        lambda a: mx.nd.abs(a, out=[a.copy(), a.copy()]),
        "operator abs has 1 outputs, out has 2",
    ),
    "other inputs": (lambda a: mx.nd._internal.elemwise_add(lhs=a, nothing=a), "nothing"),
}


@pytest.mark.parametrize("stype", BOTH)
@pytest.mark.parametrize("what", REFUSED)
def test_refusals(stype, what):
    use, text = REFUSED[what]
    array = made(stype)
    with pytest.raises(CynetError, match=re.escape(text.replace("STYPE", stype))):
        use(array)
    np.testing.assert_array_equal(array.asnumpy(), DENSE)


def test_storage_types_that_do_not_become_one_another():
    for stype, other in (BOTH, BOTH[::-1]):
        text = f"{stype} does not become {other}: go through 'default'"
        for use in (
            lambda a, other=other: a.tostype(other),
            lambda a, other=other: a.copyto(sparse.zeros(other, (3, 4))),
        ):
            with pytest.raises(ArgumentError, match=text):
                use(made(stype))
    with pytest.raises(ArgumentError, match="a row_sparse array has an axis at least"):
        mx.nd.array(1.0).tostype("row_sparse")
    for shape in ((3,), (2, 2, 2)):
        text = re.escape(f"a csr matrix has 2 axes, this array has shape {shape}")
        with pytest.raises(ArgumentError, match=text):
            mx.nd.ones(shape).tostype("csr")


METHODS = [
    "_view",
    "_plain_reshape",
    "__dlpack__",
    "__dlpack_device__",
    "reshape",
    "_reshape_to",
    "shares_memory",
    "slice_assign",
    "slice_assign_scalar",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
]


@pytest.mark.parametrize("stype", BOTH)
@pytest.mark.parametrize("name", [*METHODS, "data_ptr"])
def test_what_needs_the_memory_of_a_dense_array(stype, name):
    array = made(stype)
    said = "reshape" if name == "_reshape_to" else name
    text = f"^{said} is for dense arrays, and this one is {stype}: tostype.'default'. makes a dense"
    with pytest.raises(NotSupportedForSparseNDArray, match=text):
        getattr(array, name)(1, 2, three=3)
    if name != "data_ptr":
        method = getattr(type(array), name)
        assert method.__name__ == said and "memory of a dense array" in method.__doc__


def test_rows_of_matrices():
    matrix = made("csr")
    keys = [
        slice(None, None, 1),
        slice(1, None),
        slice(-1, None),
        slice(2, 1),
        slice(0, 9),
        0,
        2,
        -1,
        -3,
        np.int64(1),
    ]
    for key in keys:
        wanted = DENSE[key] if isinstance(key, slice) else DENSE[[key]]
        found = matrix[key]
        assert found.context == TWO and found.stype == "csr"
        np.testing.assert_array_equal(found.asnumpy(), wanted)
    for key, text in (
        (3, "row 3 of a csr matrix of 3 rows"),
        (-4, "row -4 of a csr matrix of 3"),
        ((0, 0), "is indexed by a row or a slice of rows, got (0, 0)"),
        (slice(0, 3, 2), "a slice of a csr matrix: expected step 1, got 2"),
        (slice(None, None, -1), "expected step 1, got -1"),
    ):
        with pytest.raises(ArgumentError, match=re.escape(text)):
            matrix[key]
    assert [row.asnumpy()[0].tolist() for row in matrix] == DENSE.tolist()
    rows = made("row_sparse")
    for key in (0, slice(0, 3), slice(1, None), None, (slice(None),)):
        with pytest.raises(ArgumentError, match="a row_sparse array is indexed by .:. alone, got"):
            rows[key]


def test_gradients_go_through_rows_and_copies():
    for use, wanted in (
        (lambda a: a[1:], [[0] * 4, [1] * 4, [1] * 4]),
        (lambda a: a[0], [[1] * 4, [0] * 4, [0] * 4]),
        (lambda a: a.copy(), [[1] * 4] * 3),
        (lambda a: a.copyto(mx.cpu(0)), [[1] * 4] * 3),
        (lambda a: a.astype("float64"), [[1] * 4] * 3),
        (lambda a: a.tostype("csr"), [[1] * 4] * 3),
        (lambda a: a.detach() + a, [[1] * 4] * 3),
        (lambda a: a[:], [[1] * 4] * 3),
    ):
        array = made("csr")
        array.attach_grad()
        with mx.autograd.record():
            out = use(array).tostype("default").sum()
        for training in (False, True):  # which the walk leaves as it was
            with mx.autograd.pause(train_mode=training):
                out.backward(retain_graph=not training)
                assert not mx.autograd.is_recording()
                assert mx.autograd.is_training() is training
        assert not mx.autograd.is_recording() and not mx.autograd.is_training()
        assert array.grad.context == TWO and array.grad.dtype == np.float32
        np.testing.assert_array_equal(array.grad.asnumpy(), wanted)


@pytest.mark.parametrize("stype", BOTH)
def test_a_gradient_through_dense_copies_leaves_no_trace(stype):
    """Neither is anything recorded afterwards, nor does an operand without a gradient get one."""
    array, other = made(stype), made(stype)
    array.attach_grad()
    with mx.autograd.record():
        out = mx.nd.elemwise_mul(array, other)
    for training in (False, True):
        with mx.autograd.pause(train_mode=training):
            out.backward(retain_graph=True)
            assert not mx.autograd.is_recording() and mx.autograd.is_training() is training
    np.testing.assert_array_equal(array.grad.asnumpy(), DENSE)
    assert other.grad is None
    with mx.autograd.record(train_mode=False):
        out.backward()
        assert mx.autograd.is_recording() and not mx.autograd.is_training()


# --- calls ----------------------------------------------------------------------------------------
@pytest.fixture
def warned(monkeypatch):
    monkeypatch.setattr(call, "_warned_calls", set())
    monkeypatch.setattr(through_host, "_warned_functions", set())
    monkeypatch.delenv("CYNET_STORAGE_FALLBACK", raising=False)
    return monkeypatch


@pytest.mark.parametrize("stype", BOTH)
def test_dense_copies_are_told_once_of_each_operator_and_form(stype, warned):
    array = made(stype)
    text = (
        f"operator exp has no form for storage types {stype}: it computes with dense copies, 12"
        " elements, 0.0 MiB. CYNET_STORAGE_FALLBACK=error refuses such calls"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$") as told:
        found = array.exp()
    assert told[0].filename == __file__
    np.testing.assert_allclose(found.asnumpy(), np.exp(DENSE), rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array.exp()
    ones = mx.nd.ones((3, 4), TWO)
    for other in (
        lambda: mx.nd.cos(array),
        lambda: mx.nd.broadcast_maximum(array, ones),
        lambda: mx.nd.broadcast_maximum(ones, array),
    ):
        with pytest.warns(UserWarning, match="has no form for storage types .*12 elements"):
            other()
    large = sparse.zeros(stype, (1 << 10, 1 << 11), dtype="float64")
    with pytest.warns(UserWarning, match="2097152 elements, 16.0 MiB"):
        mx.nd.broadcast_minimum(large, mx.nd.zeros((1, 1), dtype="float64"))
    warned.setenv("CYNET_STORAGE_FALLBACK", "error")
    text = text.replace(". CYNET", "; CYNET").replace(" such calls", " that")
    with pytest.raises(ArgumentError, match=f"{re.escape(text)}$"):
        array.exp()


def test_what_needs_dense_copies_by_nature_says_nothing(warned):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = made("csr") + mx.nd.array(DENSE, TWO)
    np.testing.assert_array_equal(found.asnumpy(), 2 * DENSE)


@pytest.mark.parametrize("stype", BOTH)
def test_inputs_by_name_and_results_in_arrays(stype, warned):
    array, other = made(stype), made(stype)
    for names in ((), ("lhs", "rhs"), ("rhs", "lhs")):
        given = dict(zip(names, (array, 2 * other)))
        found = (
            mx.nd._internal.elemwise_sub(**given)
            if names
            else mx.nd._internal.elemwise_sub(array, rhs=2 * other)
        )
        wanted = DENSE if names == ("rhs", "lhs") else -DENSE
        np.testing.assert_array_equal(found.asnumpy(), wanted)
    out, dense = sparse.zeros(stype, (3, 4)), mx.nd.zeros((3, 4))
    for target in (out, dense, [out], (dense,)):
        found = mx.nd.abs(array, out=target)
        assert found is target
        each = target[0] if isinstance(target, (list, tuple)) else target
        np.testing.assert_array_equal(each.asnumpy(), abs(DENSE))
    for scale in (1, 2, 3):  # dense in, sparse out: also as the call is known
        mx.nd.abs(scale * mx.nd.array(DENSE), out=out)
        np.testing.assert_array_equal(out.asnumpy(), abs(DENSE) * scale)


@pytest.mark.parametrize("stype", BOTH)
def test_results_are_never_the_input(stype):
    array = made(stype)
    full = mx.nd.ones((3, 4), TWO)
    empty = sparse.zeros(stype, (3, 4), TWO)
    for found, source in (
        (mx.nd.add_n(array), array),
        (mx.nd.identity(array), array),
        (array + 0, array),
        (empty * full, empty),
        (mx.nd.cast_storage(array, stype), array),
        (mx.nd.Cast(array, dtype="float32"), array),
        (mx.nd.BlockGrad(array), array),
        *(
            ((mx.nd.slice(array, (None,), (None,)), array), (mx.nd.concat(array, dim=0), array))
            if stype == "csr"
            else ()
        ),
    ):
        before = source.asnumpy()
        assert found is not source
        found[:] = 0 if found.stype == stype else 7
        np.testing.assert_array_equal(source.asnumpy(), before)


def test_results_share_no_memory_that_an_update_changes():
    """A row_sparse weight with all rows is changed in place."""
    ones = np.ones((3, 4), "float32")
    for make in (
        lambda a: mx.nd.add_n(a),
        lambda a: mx.nd.identity(a),
        lambda a: a + 0,
        lambda a: a.copy(),
        lambda a: mx.nd.cast_storage(a, "row_sparse"),
        lambda a: a.tostype("row_sparse"),
        lambda a: mx.nd.Cast(a, dtype="float32"),
        lambda a: mx.nd.BlockGrad(a),
        lambda a: sparse.zeros("row_sparse", (3, 4)).assign_copy_of(a),
        lambda a: a.tostype("default"),
        lambda a: sparse.row_sparse_array(a),
        lambda a: sparse.array(a),
        lambda a: a.copyto(mx.cpu(0)),
        lambda a: sparse.retain(a, mx.nd.arange(3)),
        lambda a: mx.nd.abs(a),
        lambda a: a * 1,
    ):
        weight = mx.nd.array(ones).tostype("row_sparse")
        found = make(weight)
        mx.nd.sgd_update(weight, mx.nd.array(ones).tostype("row_sparse"), lr=0.5, out=weight)
        np.testing.assert_array_equal(weight.asnumpy(), ones / 2)
        np.testing.assert_array_equal(found.asnumpy(), ones)


# --- updates --------------------------------------------------------------------------------------
def test_rows_of_a_gradient():
    grad = made("row_sparse")
    rows, values = updates.indices_and_values(grad)
    assert rows.tolist() == [0, 2] and values is grad._values_array
    dense = mx.nd.array(DENSE)
    rows, values = updates.indices_and_values(dense)
    assert rows.tolist() == [0, 1, 2] and rows.dtype == np.int64 and values is dense


def test_the_array_that_an_update_changes():
    weight, out = mx.nd.array(DENSE), mx.nd.zeros((3, 4))
    assert updates.array_to_update(weight, weight) is weight
    assert updates.array_to_update(weight, out) is out
    np.testing.assert_array_equal(out.asnumpy(), DENSE)
    found = updates.array_to_update(weight, None)
    assert found is not weight
    np.testing.assert_array_equal(found.asnumpy(), DENSE)


@pytest.mark.parametrize("names", [("weight", "grad"), ("grad", "weight"), ("grad",), ()])
def test_updates_by_name(names):
    """In any order; the first ones by place."""
    weight, grad = mx.nd.array(DENSE), made("row_sparse", context=mx.cpu(0))
    rows = {"weight": weight, "grad": grad}
    given = [rows[name] for name in rows if name not in names]
    found = mx.nd.sgd_update(*given, **{n: rows[n] for n in names}, lr=0.5, out=weight)
    assert found is weight
    np.testing.assert_allclose(weight.asnumpy(), DENSE - 0.5 * DENSE)
    text = r"operator sgd_update takes the inputs weight, grad; got (weight|weight, more|)$"
    for bad in (
        lambda: mx.nd.sgd_update(made("row_sparse"), lr=1),
        lambda: mx.nd.sgd_update(weight, more=grad, lr=1),
    ):
        with pytest.raises(CynetError, match=f"{text}|more"):
            bad()


class Away:
    """An array on a GPU, as far as anybody asks."""

    def __init__(self, array):
        self.array, self.copies = array, []
        self.size, self.dtype, self.context = array.size, array.dtype, mx.gpu(0)

    def as_in_context(self, context):
        assert context == mx.cpu()
        return self.array

    def copyto(self, target):
        raise AssertionError("it is read only")


def test_what_is_computed_on_the_host(warned):
    arrays = [Away(mx.nd.ones(1 << 18)), Away(mx.nd.ones((2, 2)))]
    text = (
        "^dot has no form for sparse arrays on gpu.0.: it computes on the host, 1.0 MiB are copied"
    )
    with pytest.warns(
        UserWarning, match=f"{text} there. CYNET_STORAGE_FALLBACK=error refuses such"
    ):
        found = through_host.warn_and_copy_to_host("dot", arrays)
    assert found == [each.array for each in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        through_host.warn_and_copy_to_host("dot", arrays)
    with pytest.warns(UserWarning, match="^another has no form"):
        through_host.warn_and_copy_to_host("another", arrays)
    warned.setenv("CYNET_STORAGE_FALLBACK", "error")
    with pytest.raises(
        ArgumentError, match=f"{text} there; CYNET_STORAGE_FALLBACK=error refuses th"
    ):
        through_host.warn_and_copy_to_host("dot", arrays)
    assert through_host.is_on_gpu(arrays[0]) and not through_host.is_on_gpu(mx.nd.ones(1))


@pytest.mark.parametrize("masters", [False, True])
@pytest.mark.parametrize("states", [0, 2])
def test_updates_that_go_over_the_host(masters, states, monkeypatch):
    """Each of the arrays that changes is copied back."""
    given = [mx.nd.full(2, i) for i in range(1 + states + masters)]
    seen, moved = [], []
    monkeypatch.setattr(through_host, "is_on_gpu", lambda array: array is given[0])

    def warn_and_copy_to_host(what, arrays):
        moved.append((what, arrays))
        return [each.copy() for each in arrays]

    def update(rule, weight, values, rows, states, master, *numbers):
        seen.append((rule, [each.asnumpy()[0] for each in states], rows, numbers, master is None))
        for i, each in enumerate((weight, *states, *([] if master is None else [master]))):
            each[:] = 10 + i

    monkeypatch.setattr(through_host, "warn_and_copy_to_host", warn_and_copy_to_host)
    monkeypatch.setattr(through_host, "update_rows", update)
    values = mx.nd.ones(1)
    master = given[-1] if masters else None
    own = tuple(given[1 : 1 + states])
    through_host.update_by_rows("adam", given[0], values, "rows", own, master, 1.0, 2.0)
    assert [each.asnumpy()[0] for each in given] == [10 + i for i in range(len(given))]
    ((what, arrays),) = moved
    assert what == "update adam of rows" and arrays == [values, *given]
    assert seen == [("adam", list(range(1, 1 + states)), "rows", (1.0, 2.0), not masters)]
