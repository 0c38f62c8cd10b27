"""How a rank ends: what it has printed is read first."""

import select
import subprocess
import sys
import time

import pytest

from cynet.distributed import shutdown

PROGRAM = """
import sys, time
from cynet.distributed import shutdown
shutdown._READING_SECONDS = float(sys.argv[1])
print("told", file=sys.stderr)
began = time.monotonic()
shutdown.wait_until_read()
print(time.monotonic() - began)
"""


@pytest.mark.skipif(shutdown.fcntl is None, reason="no pipes that can be asked")
@pytest.mark.parametrize("limit", [30, 0.2])
def test_waits_until_its_pipe_is_empty(limit):
    """As long as nobody reads what it has written, but no longer than the limit."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(limit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    slow = limit > 1
    if slow:
        assert select.select([child.stderr], [], [], 60)[0]  # it has begun to wait
        time.sleep(0.5)
        assert child.poll() is None
    else:
        child.wait(60)
    out, err = child.communicate(timeout=60)
    assert err == "told\n"
    assert float(out) >= (0.4 if slow else 0.2)
