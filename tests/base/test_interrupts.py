"""The thread pool beside Ctrl-C."""

import threading

import pytest

from cynet.base.interrupts import ThreadPool


def test_an_interrupted_submit_leaves_no_thread(monkeypatch):
    begin, begun = threading.Thread.start, []

    def interrupted(thread):
        begin(thread)
        begun.append(thread)
        raise KeyboardInterrupt

    pool = ThreadPool(2)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pool.submit(int)
    begun[0].join(10)
    assert pool.interrupted and not begun[0].is_alive()
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        pool.submit(int)


def test_errors_of_calls_leave_it_running():
    with ThreadPool(1) as pool:
        with pytest.raises(ValueError, match="invalid literal for"):
            pool.submit(int, "x").result()
        assert pool.submit(int, "7").result() == 7 and not pool.interrupted
