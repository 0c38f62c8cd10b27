"""Executor.profile: times of the steps of a plan."""

import time

import pytest

import cynet as mx


@pytest.fixture
def executor():
    data = mx.sym.var("data")
    net = mx.sym.make_loss(mx.sym.sum(mx.sym.FullyConnected(data, num_hidden=3, name="fc")))
    return net.simple_bind(mx.cpu(), data=(2, 4))


def step(executor):
    executor.forward(is_train=True)
    executor.backward()


def test_every_step_has_a_row(executor):
    rows = executor.profile(lambda: step(executor), 2)
    assert {direction for direction, _, _ in rows} == {"forward", "backward"}
    assert any(name.startswith("FullyConnected fc: ") for _, name, _ in rows)
    assert all(micros > 0 for _, _, micros in rows)


@pytest.mark.parametrize("n", [0, -3])
def test_less_than_one_run_is_refused(executor, n):
    with pytest.raises(mx.errors.ArgumentError, match=f"profile: n is {n}, expected at least 1"):
        executor.profile(lambda: step(executor), n)


@pytest.mark.parametrize("n", [2.5, True, "2", None])
def test_what_is_no_int_is_refused(executor, n):
    with pytest.raises(mx.errors.ArgumentTypeError, match="profile: n must be an int"):
        executor.profile(lambda: step(executor), n)


def test_a_run_that_fails_ends_the_measuring(executor):
    runs = []

    def fail():
        step(executor)
        runs.append(None)
        if len(runs) > 1:
            raise KeyError("lost")

    with pytest.raises(KeyError, match="'lost'"):
        executor.profile(fail, 3)
    before = executor._plan.profile()
    step(executor)
    mx.nd.waitall()
    assert executor._plan.profile() == before


def test_times_of_all_runs_count():
    """The mean of several runs is that of one, and not a part of it."""
    n = 700
    product = mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"), name="product")
    executor = product.simple_bind(mx.cpu(), grad_req="null", a=(n, n), b=(n, n))
    took = []

    def run():
        begin = time.perf_counter()
        executor.forward(is_train=False)[0].wait_to_read()
        took.append(time.perf_counter() - begin)

    rows = executor.profile(run, 6)
    (mean,) = [microseconds for _, name, microseconds in rows if "product" in name]
    assert 1e6 * sum(sorted(took[1:])[:3]) / 3 * 0.5 < mean < 1e6 * max(took) * 1.1
