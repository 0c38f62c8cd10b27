"""Processes that are killed while fit saves: a whole pair of files is found every time."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cynet as mx
from cynet.io.checkpoint import states_path

KILLS = int(os.environ.get("CYNET_STRESS_KILLS", 5))
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

# After n updates every momentum is n and every weight n + `start`, which is another multiple of
# 1,000 in each run: files of different moments or runs do not fit together.
PROGRAM = """
import sys
import numpy as np
import cynet as mx

@mx.optimizer.register
class Counting(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return mx.nd.zeros(weight.shape)
    def update(self, index, weight, grad, state):
        state[:] += 1
        weight[:] = state + self.begin_num_update

prefix, start, epochs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64, name="fc")
net = mx.sym.SoftmaxOutput(net, name="softmax")
module = mx.mod.Module(net)
data = mx.io.NDArrayIter(np.ones((4, 50), "f"), np.zeros(4), 4)
save = mx.callback.module_checkpoint(module, prefix, save_optimizer_states=True)
print("ready", flush=True)
module.fit(data, num_epoch=epochs, epoch_end_callback=save, initializer=mx.init.Zero(),
           optimizer=Counting(begin_num_update=start, rescale_grad=0.25))
"""


def check(prefix):
    """The newest pair, and every epoch that loads, hold the arrays of one moment."""
    found = mx.model.find_checkpoint(prefix)
    assert found is not None
    loaded = 0
    for params in sorted(Path(prefix).parent.glob("net-*.params")):
        epoch = int(params.stem.split("-")[1])
        try:
            states = states_path(prefix, epoch)
        except mx.base.MXNetError as error:
            assert "other parameters" in str(error) or "no such file" in str(error)
            continue
        loaded += 1
        updater = mx.optimizer.get_updater(mx.optimizer.SGD())
        updater.load(states)
        weight = mx.nd.load(str(params))["arg:fc_weight"].asnumpy()
        momentum = updater.states[0].asnumpy()
        assert (weight - momentum == weight[0, 0] - momentum[0, 0]).all()
        assert (weight[0, 0] - momentum[0, 0]) % 1000 == 0  # of one run, `start` apart
        assert momentum[0, 0] == epoch
    assert loaded
    return found.epoch


@pytest.mark.timeout(100 + 20 * KILLS)
def test_a_whole_pair_after_every_kill(tmp_path, rng):
    """Runs overwrite the files of those before; each is killed somewhere while it saves."""
    prefix = str(tmp_path / "net")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, prefix, "0", "2"], timeout=120, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert check(prefix) == 2
    for number in range(1, KILLS + 1):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, prefix, str(1000 * number), "1000000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0.05, 0.4))
        finally:
            process.kill()
            process.communicate()
        check(prefix)
        for old in tmp_path.glob("net-*"):  # so that every kill is among files that are replaced
            epoch = old.name.split("-")[1].split(".")[0]
            if epoch.isdigit() and int(epoch) > 4:
                old.unlink()
    mx.nd.save(f"{prefix}-other.params", mx.nd.ones(1))
    assert not [each for each in os.listdir(tmp_path) if each.endswith(".part")]
