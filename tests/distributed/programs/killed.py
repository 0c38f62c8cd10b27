"""Steps without end; rank argv[2] kills itself after argv[3] seconds, the others note their error
in the folder argv[1]."""

import os
import signal
import sys
import threading
import time

import cynet as mx

FOLDER, VICTIM, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
kv = mx.kv.create("dist_sync")


def note(name, text):
    with open(os.path.join(FOLDER, name), "w") as file:
        file.write(text)


def kill():
    note("killed", repr(time.time()))
    os.kill(os.getpid(), signal.SIGKILL)


gradients = [mx.nd.ones(size) for size in (5, 1000, 300_000, 1 << 20)]
kv.barrier()
if kv.rank == VICTIM:
    threading.Timer(SECONDS, kill).start()
try:
    while True:
        kv.sum_up(["a", "b", "c", "d"], gradients)
        for each in gradients:
            each /= kv.num_workers
        gradients[-1].wait_to_read()
except mx.MXNetError as error:
    note(f"{kv.rank}.error", f"{time.time()!r} {kv._world.hosts} {error}")
    raise
