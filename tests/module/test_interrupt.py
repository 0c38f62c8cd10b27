"""Ctrl-C during Module.fit ends it at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import os
import signal

import numpy as np
import cynet as mx

net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=256, name="fc1")
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10), name="softmax")
data = np.random.rand(512, 256).astype("float32")
it = mx.io.NDArrayIter(data, np.zeros(512), 128, shuffle=True)
if PREFETCH:
    it = mx.io.PrefetchingIter(it)


parent = os.getppid()
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what runs in the background


def said(param):
    if os.getppid() != parent:  # killed: nobody is left to interrupt this
        os._exit(1)
    if param.nbatch == 2 and param.epoch == 0:
        print("training", flush=True)


mx.mod.Module(net).fit(it, num_epoch=10**9, batch_end_callback=said)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("prefetch", [False, True])
def test_interrupt(prefetch):
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    script = SCRIPT.replace("PREFETCH", str(prefetch))
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert child.stdout.readline() == "training\n"
        child.send_signal(signal.SIGINT)
        asked = time.monotonic()
        _, errors = child.communicate(timeout=60)
        assert "KeyboardInterrupt" in errors
        assert child.returncode not in (0, None)
        assert time.monotonic() - asked < 20
    finally:
        child.kill()
        child.communicate()
