"""Everything that writes a file, on a full disk: an error that names the file; the old one stays,
and nothing is left beside it."""

import subprocess
import sys

PROGRAM = """
import os, resource, signal, sys
import numpy as np
import cynet as mx
from cynet import gluon, nd
from cynet.tools import convert, im2rec, rec

os.chdir(sys.argv[1])
weights = {"w": nd.array(np.arange(4000.0))}
net = gluon.nn.Dense(50, in_units=40)
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "adam")
x = nd.ones((2, 40))
with mx.autograd.record():
    y = net(x)
y.backward()
trainer.step(1)
net.hybridize()
net(x)
symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=50, name="fc")
module = mx.mod.Module(symbol, label_names=None)
module.bind([("data", (2, 40))])
module.init_params()
module.init_optimizer()
args = {f"arg{i}": nd.ones((50, 40)) for i in range(2)}
many = mx.sym.Group([mx.sym.var(f"a_name_of_a_variable_{i}") for i in range(200)])
image = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
os.makedirs("pictures")
for i in range(3):
    packed = mx.recordio.pack_img((0, 0.0, 0, 0), image, 3, ".png")
    with open(f"pictures/{i}.png", "wb") as file:
        file.write(packed[24:])
with open("pack.lst", "w") as file:
    file.write("".join(f"{i}\\t0\\t{i}.png\\n" for i in range(3)))
nd.save("whole.params", weights)
nothing = np.ones(3, "float32")
profiled = mx.profiler
profiled.set_config(filename="profile.json", aggregate_stats=True)
profiled.set_state("run")
for _ in range(40):
    (nd.ones(3) + 1).wait_to_read()
profiled.set_state("stop")


def records():
    with mx.recordio.MXIndexedRecordIO("r.idx", "r.rec", "w") as record:
        for i in range(100):
            record.write_idx(i, bytes(100))


def status(code):
    if code:
        raise OSError("the program has said so")


WRITERS = {
    "nd.save": (lambda: nd.save("a.params", weights), ["a.params"]),
    "npz": (lambda: nd.save("a.npz", weights), ["a.npz"]),
    "symbol": (lambda: many.save("s.json"), ["s.json"]),
    "save_checkpoint": (
        lambda: mx.model.save_checkpoint("c", 1, symbol, args, {}), ["c-0001.params"],
    ),
    "module": (lambda: module.save_checkpoint("m", 1, True), ["m-0001.params"]),
    "save_parameters": (lambda: net.save_parameters("n.params"), ["n.params"]),
    "export": (lambda: net.export("e"), ["e-0000.params"]),
    "states": (lambda: trainer.save_states("t.states"), ["t.states"]),
    "records": (records, ["r.rec", "r.idx"]),
    "im2rec": (lambda: status(im2rec.main(["pack", "pictures"])), ["pack.rec", "pack.idx"]),
    "convert": (lambda: status(convert.main(["whole.params", "o.npz"])), ["o.npz"]),
    "profiler": (lambda: profiled.dump(), ["profile.json"]),
}
for name, (write, files) in WRITERS.items():
    for file in files:
        with open(file, "wb") as old:
            old.write(b"old")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
before = set(os.listdir())
for name, (write, files) in WRITERS.items():
    try:
        write()
        print(name, "no error")
    except OSError:
        pass
    for file in files:
        if not os.path.exists(file) or open(file, "rb").read() != b"old":
            print(name, "has lost", file)
print("left:", sorted(each for each in set(os.listdir()) - before if ".part" in each))
"""


def test_old_files_stay(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "left: []\n"
