"""A piece of communication as a function of the engine: when it may begin, when others may go on,
and what they are told; memory of arrays."""

import os
import select
import struct
import threading
import time

import numpy as np
import pytest
from cynet.distributed._work import Work, host_view

import cynet as mx
from cynet.base.errors import PeerError


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def said(reading, seconds=20):
    """The number that comes next, or None."""
    if not select.select([reading], [], [], seconds)[0]:
        return None
    return struct.unpack("q", os.read(reading, 8))[0]


class Slow(mx.operator.CustomOp):
    """Waits for an event, and then fails on request."""

    event, fails = None, False

    def forward(self, is_train, req, in_data, out_data, aux):
        assert Slow.event.wait(20)
        if Slow.fails:
            raise ValueError("no value")
        self.assign(out_data[0], req[0], in_data[0] + 1)


@mx.operator.register("communication_waits_for_it")
class SlowProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Slow()


def slow(fails=False):
    """An array that is not computed before its event is set."""
    Slow.event, Slow.fails = threading.Event(), fails
    return mx.nd.Custom(mx.nd.zeros(3), op_type="communication_waits_for_it")


@pytest.mark.parametrize("how", ["reads", "writes"])
@pytest.mark.parametrize("number", [0, 7, 1 << 60])
def test_it_waits_for_its_arrays(how, number, pipe):
    array = slow()
    other = mx.nd.ones(2)
    arrays = {"reads": [other], "writes": []}
    arrays[how] = [*arrays[how], array]
    work = Work(number, pipe[1], arrays["reads"], arrays["writes"])
    work.push()
    assert said(pipe[0], 0.05) is None
    Slow.event.set()
    assert said(pipe[0]) == number
    work.complete()
    assert array.asnumpy().tolist() == [1, 1, 1] and said(pipe[0], 0) is None


def test_others_wait_for_it(pipe):
    """Those that read what it writes, and those that write what it reads; readers beside it do
    not."""
    read, written = mx.nd.ones(2), mx.nd.zeros(2)
    work = Work(3, pipe[1], [read], [written], 5)
    work.push()
    assert said(pipe[0]) == 3
    assert (read + 1).asnumpy().tolist() == [2, 2]
    later, after = written + 1, []
    read += 4
    thread = threading.Thread(target=lambda: after.extend([later.asnumpy()[0], read.asnumpy()[0]]))
    thread.start()
    time.sleep(0.05)
    assert not after
    host_view(written)[:] = 9
    work.complete()
    thread.join(20)
    assert after == [10, 5]


def test_an_array_that_is_given_twice(pipe):
    array = mx.nd.zeros(2)
    work = Work(1, pipe[1], [array, array], [array, array])
    work.push()
    assert said(pipe[0]) == 1
    host_view(array)[:] = 2
    work.complete()
    assert array.asnumpy().tolist() == [2, 2]


def test_no_arrays(pipe):
    work = Work(4, pipe[1], (), ())
    work.push()
    assert said(pipe[0]) == 4
    work.complete()


def test_what_has_failed_is_told_to_those_who_read(pipe):
    read, written = mx.nd.ones(2), mx.nd.zeros(2)
    work = Work(3, pipe[1], [read], [written])
    work.push()
    assert said(pipe[0]) == 3
    work.complete(PeerError("rank 1 has died"))
    with pytest.raises(PeerError, match="rank 1 has died"):
        written.wait_to_read()
    assert read.asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("number", [0, 7])
def test_one_that_never_runs_says_so(number, pipe):
    """As what comes before it fails."""
    array = slow(fails=True)
    work = Work(number, pipe[1], [array], [mx.nd.zeros(1)])
    work.push()
    Slow.event.set()
    assert said(pipe[0]) == -1 - number
    with pytest.raises(mx.MXNetError, match="no value"):
        array.wait_to_read()


DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory(dtype):
    array = mx.nd.array([[0, 1], [1, 0]], dtype=dtype)
    array.wait_to_read()
    found = host_view(array)
    assert found.dtype == np.dtype(dtype) and found.tolist() == [0, 1, 1, 0]
    found[0] = 1
    assert array.asnumpy().tolist() == [[1, 1], [1, 0]]
    del array
    assert found.tolist() == [1, 1, 1, 0]  # it keeps the memory


def test_memory_of_bfloat16():
    array = mx.nd.array([1.0, -2.0], dtype="bfloat16")
    array.wait_to_read()
    assert host_view(array).dtype == np.uint16 and host_view(array).tolist() == [0x3F80, 0xC000]
    part = mx.nd.arange(6)[2:5]
    part.wait_to_read()
    assert host_view(part).tolist() == [2, 3, 4]
