"""mx.util, mx.log and helpers of mx.base: what scripts import from there."""

import ctypes
import logging
import threading

import pytest

import cynet as mx


def test_util(tmp_path):
    mx.util.makedirs(str(tmp_path / "a" / "b"))
    mx.util.makedirs(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()
    mx.util.setenv("SOME_NAME", "3")
    assert mx.util.getenv("SOME_NAME") == "3"
    mx.util.setenv("SOME_NAME", None)
    assert mx.util.getenv("SOME_NAME") is None
    assert mx.util.get_gpu_count() == mx.context.num_gpus()


def test_numpy_semantics_are_off():
    assert not mx.util.is_np_array() and not mx.util.is_np_shape()
    with mx.util.np_shape(False), mx.util.np_array(False):
        assert mx.util.set_np_shape(False) is False
    mx.util.reset_np()
    with pytest.raises(ValueError, match="Shape semantics is required"):
        mx.util.set_np(shape=False, array=True)


def test_switches_are_of_the_thread_and_of_scopes():
    def state():
        return mx.util.is_np_shape(), mx.util.is_np_array()

    @mx.util.use_np
    class Both:
        def method(self):
            return state()

        @property
        def seen(self):
            return state()

    with mx.util.np_array(True):
        assert state() == (False, True)
    assert mx.util.use_np(state)() == Both().method() == Both().seen == (True, True)
    mx.util.set_np()
    try:
        seen = []
        thread = threading.Thread(target=lambda: seen.append(state()))
        thread.start()
        thread.join()
        assert state() == (True, True) and seen == [(False, False)]
    finally:
        mx.util.reset_np()
    assert state() == (False, False)
    with pytest.raises(TypeError, match="decorates a function or a class"):
        mx.util.use_np(3)


def test_log(tmp_path):
    file = tmp_path / "out.log"
    logger = mx.log.get_logger("of_this_test", str(file), level=mx.log.INFO)
    assert mx.log.get_logger("of_this_test") is logger and len(logger.handlers) == 1
    logger.info("hello %d", 3)
    logger.debug("unheard")
    logger.handlers[0].close()
    (line,) = file.read_text().splitlines()
    assert line.startswith("I") and line.endswith("] hello 3") and "test_util.py:test_log:" in line
    assert mx.log.get_logger() is logging.getLogger()


def test_base():
    base = mx.base

    class Net(base.with_metaclass(type, list)):
        depth = base.classproperty(lambda cls: cls.__name__)

    assert Net.depth == Net().depth == "Net" and issubclass(Net, list)
    assert base._as_list(3) == [3] and base._as_list((1, 2)) == (1, 2)
    assert list(base.c_str_array(["ab", "c"])) == [b"ab", b"c"]
    assert list(base.c_array_buf(ctypes.c_uint8, bytearray(b"xy"))) == [120, 121]
    with pytest.raises(AttributeError, match="mx.base._LIB is a name of MXNet 1.9.1"):
        base._LIB.MXGetVersion()


def test_parts_are_copied_to_arrays():
    batch = mx.io.DataBatch([mx.nd.array([[1, 2], [3, 4]])], [mx.nd.array([5, 6])])
    halves, whole = [mx.nd.zeros((1, 2)), mx.nd.zeros((1, 2))], mx.nd.zeros((2,))
    parts = [(slice(0, 1), halves[0]), (slice(1, 2), halves[1])]
    mx.executor_manager._load_data(batch, [parts])
    mx.executor_manager._load_label(batch, [whole])
    assert [h.asnumpy().tolist() for h in halves] == [[[1, 2]], [[3, 4]]]
    assert whole.asnumpy().tolist() == [5, 6]
