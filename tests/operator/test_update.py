"""Updates of several weights as scripts call them: lists, outputs, refusals."""

import numpy as np
import pytest

import cynet as mx


def test_reset_arrays():
    arrays = [mx.nd.ones((2, 3)), mx.nd.ones(4, dtype="float16"), mx.nd.ones(0, dtype="int32")]
    assert mx.nd.reset_arrays(*arrays, num_arrays=3) == []
    assert [a.asnumpy().sum() for a in arrays] == [0, 0, 0]
    views = mx.nd.ones((3, 2))
    mx.nd.reset_arrays(views[1:2])
    np.testing.assert_array_equal(views.asnumpy(), [[1, 1], [0, 0], [1, 1]])


def test_all_finite_keeps_what_is_in_out():
    out, bad = mx.nd.array([1]), mx.nd.array([1, np.inf])
    mx.nd.all_finite(bad, out=out)
    mx.nd.all_finite(mx.nd.ones(3), init_output=False, out=out)
    assert out.asscalar() == 0  # of an array before
    for _ in range(2):  # a call that is like one before is refused, too
        with pytest.raises(mx.MXNetError, match="out"):
            mx.nd.multi_all_finite(bad, num_arrays=1, init_output=False)
        mx.nd.multi_all_finite(bad, num_arrays=1, init_output=False, out=out)
    with pytest.raises(mx.MXNetError, match="symbol"):
        mx.sym.all_finite(mx.sym.var("x"), init_output=False)


def test_masters_move():
    """In MXNet 1.9.1 mp_lamb_update_phase2 leaves the master as it is."""
    full = mx.nd.array([1, 2, 3])
    half, step, norm = full.astype("float16"), mx.nd.array([1, -1, 1]), mx.nd.array([1])
    mx.nd.mp_lamb_update_phase2(half, step, norm, norm, full, lr=0.5, out=half)
    assert full.asnumpy().tolist() == half.asnumpy().tolist() == [0.5, 2.5, 2.5]


@pytest.mark.parametrize("half", [False, True])
def test_lists_of_contrib(half):
    """A call for two weights is two calls."""
    rng = np.random.default_rng(3)
    shapes = (3, 4), (5,)

    def arrays():
        made = {}
        for name in ("weights32", "grads", "mean", "var"):
            made[name] = [mx.nd.array(rng.uniform(0.1, 1, s)) for s in shapes]
        made["weights"] = made["weights32"]
        if half:
            made["weights"] = [w.astype("float16") for w in made["weights32"]]
            made["grads"] = [g.astype("float16") for g in made["grads"]]
        else:
            del made["weights32"]
        return made

    single = mx.nd.contrib.mp_adamw_update if half else mx.nd.contrib.adamw_update
    many = mx.nd.contrib.multi_mp_adamw_update if half else mx.nd.contrib.multi_adamw_update
    one = arrays()
    two = {name: [each.copy() for each in list_] for name, list_ in one.items()}
    if not half:
        two["weights"] = [w.copy() for w in one["weights"]]
    lrs, wds, etas = (0.1, 0.2), (0.01, 0.0), (1.0, 0.5)
    many(**two, rescale_grad=0.5, lrs=lrs, wds=wds, etas=etas, beta1=0.8, out=two["weights"])
    for i in range(2):
        given = [one[n][i] for n in ("weights", "grads", "mean", "var")]
        given += [one["weights32"][i]] if half else []
        single(*given, 0.5, lrs[i], etas[i], wd=wds[i], beta1=0.8, out=given[0])
    for name, list_ in one.items():
        for a, b in zip(list_, two[name]):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy(), name)
    lamb = mx.nd.contrib.multi_mp_lamb_update if half else mx.nd.contrib.multi_lamb_update
    before = two["weights"][0].asnumpy()
    lamb(**two, step_count=(1, 2), lrs=lrs, wds=wds, out=two["weights"])
    assert not np.array_equal(before, two["weights"][0].asnumpy())


def test_refusals_of_lists():
    w = [mx.nd.ones(2)]
    with pytest.raises(mx.MXNetError, match=r"multi_adamw_update.*2 grads"):
        mx.nd.contrib.multi_adamw_update(w, w * 2, w, w, 1, [0.1], [0], [1])
    with pytest.raises(mx.MXNetError, match="list of weights is empty"):
        mx.nd.contrib.multi_lamb_update([], [], [], [], [], [], [])
    with pytest.raises(mx.MXNetError, match="etas"):
        mx.nd.contrib.multi_adamw_update(w, w, w, w, 1, [0.1], [0], [1, 2])
    with pytest.raises(mx.MXNetError, match="step_count"):
        mx.nd.contrib.multi_lamb_update(w, w, w, w, [0], [0.1], [0])


def test_adamw_symbol():
    names = "weight", "grad", "mean", "var"
    net = mx.sym.contrib.adamw_update(*map(mx.sym.var, names), 0.5, lr=0.1, eta=1)
    assert net.list_auxiliary_states() == ["mean", "var"]
    arrays = [mx.nd.array([1, 2]), mx.nd.array([0.5, -0.5]), mx.nd.zeros(2), mx.nd.zeros(2)]
    got = net.bind(mx.cpu(), arrays[:2], aux_states=[a.copy() for a in arrays[2:]]).forward()[0]
    wanted = mx.nd.contrib.adamw_update(*arrays, 0.5, lr=0.1, eta=1)
    np.testing.assert_array_equal(got.asnumpy(), wanted.asnumpy())


def test_hawkes_refuses_marks_out_of_range():
    one, two = mx.nd.ones((1, 2)), mx.nd.ones(2)
    marks, count = mx.nd.array([[0, 2]], dtype="int32"), mx.nd.array([2])
    with pytest.raises(mx.MXNetError, match="hawkesll"):
        mx.nd.contrib.hawkesll(one, two, two, one, one, marks, count, count)[0].asnumpy()
    with pytest.raises(mx.MXNetError, match="valid_length"):
        mx.nd.contrib.hawkesll(one, two, two, one, one, marks * 0, count * 2, count)[0].asnumpy()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name, states", [("ftrl", 2), ("ftml", 3)])
def test_a_rate_of_zero_changes_nothing(name, states, dtype, rng):
    """Both divide by the rate."""
    arrays = [mx.nd.array(rng.uniform(0.1, 1, 1000), dtype=dtype) for _ in range(2 + states)]
    before = [each.asnumpy() for each in arrays]
    settings = {"t": 1} if name == "ftml" else {}
    getattr(mx.nd, f"{name}_update")(*arrays, lr=0.0, out=arrays[0], **settings)
    for each, was in zip(arrays, before):
        np.testing.assert_array_equal(each.asnumpy(), was)
