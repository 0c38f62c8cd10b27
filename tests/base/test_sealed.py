"""Checksums of training and state files: damage of any byte is refused by the file's name."""

import os
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import FormatError
from cynet.base.files import SEAL_BYTES, append_checksum, open_checked
from cynet.io.training_file import read_training


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))


def fit(module=None, **options):
    data = mx.io.NDArrayIter(np.ones((8, 4), "float32"), np.arange(8) % 3, 4)
    module = module or network()
    settings = {"optimizer_params": {"momentum": 0.9}, "num_epoch": 1, "verbose": False}
    module.fit(data, **{**settings, **options})
    return module


def dense():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
    with mx.autograd.record():
        loss = net(mx.nd.ones((2, 3))).sum()
    loss.backward()
    trainer.step(1)
    return net, trainer


def module_resume(path):
    fit(resume=path)
    return f"{path}.training", lambda: fit(resume=path, num_epoch=2)


def module_states(path):
    module = fit()
    module.save_optimizer_states(f"{path}.states")
    return f"{path}.states", lambda: module.load_optimizer_states(f"{path}.states")


def checkpoint(path):
    fit().save_checkpoint(path, 1, save_optimizer_states=True)

    def load():
        module = mx.mod.Module.load(path, 1, load_optimizer_states=True)
        fit(module, num_epoch=1)

    return f"{path}-0001.states", load


def kvstore(path):
    store = mx.kv.create("local")
    store.set_optimizer(mx.optimizer.SGD(momentum=0.9))
    store.init("w", mx.nd.ones(3))
    store.push("w", mx.nd.ones(3))
    store.save_optimizer_states(path, dump_optimizer=True)
    return str(path), lambda: store.load_optimizer_states(path)


def trainer_states(path):
    _, trainer = dense()
    trainer.save_states(path)
    return str(path), lambda: trainer.load_states(path)


def gluon_training(path):
    net, trainer = dense()
    mx.gluon.save_training(path, net, trainer)
    return str(path), lambda: mx.gluon.load_training(path, net, trainer)


FILES = [module_resume, module_states, checkpoint, kvstore, trainer_states, gluon_training]


@pytest.mark.parametrize("write", FILES, ids=lambda each: each.__name__)
def test_damage_is_refused_by_name(tmp_path, write, rng):
    path, load = write(tmp_path / "a")
    content = Path(path).read_bytes()
    places = {0, 9, 20, len(content) - SEAL_BYTES, len(content) - 1, len(content) - SEAL_BYTES - 1}
    places.update(rng.integers(0, len(content), 30).tolist())
    damaged = [content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :] for at in places]
    damaged += [
        content[:-1],
        content[:-SEAL_BYTES],
        content[:-9],
        content + b"x",
        content[: SEAL_BYTES // 2],
    ]
    for each in damaged:
        Path(path).write_bytes(each)
        with pytest.raises(mx.MXNetError, match="|".join([os.path.basename(path), "optimizer st"])):
            load()
    Path(path).write_bytes(content)
    load()


@pytest.mark.parametrize("write", FILES, ids=lambda each: each.__name__)
def test_files_without_a_checksum_load(tmp_path, write):
    """Those of older versions."""
    path, load = write(tmp_path / "a")
    content = Path(path).read_bytes()[:-SEAL_BYTES]
    if content.startswith(b"CYNSTAT3"):
        content = b"CYNSTAT1" + content[8:]
    content = content.replace(b'"sealed": true', b'"sealed":false')
    Path(path).write_bytes(content)
    load()


def test_find_checkpoint_passes_over_damaged_states(tmp_path):
    prefix = str(tmp_path / "a")
    module = fit()
    for epoch in (1, 2):
        module.save_checkpoint(prefix, epoch, save_optimizer_states=True)
    assert mx.model.find_checkpoint(prefix).epoch == 2
    path = f"{prefix}-0002.states"
    content = bytearray(Path(path).read_bytes())
    content[-SEAL_BYTES - 20] ^= 1
    Path(path).write_bytes(content)
    assert mx.model.find_checkpoint(prefix).epoch == 1


def test_pipes_are_checked_too(tmp_path):
    import threading

    for content in (b"".join(append_checksum([b"abc", b"def"])), b"abcdef"):
        pipe = tmp_path / f"pipe{len(content)}"
        os.mkfifo(pipe)
        thread = threading.Thread(target=pipe.write_bytes, args=(content,))
        thread.start()
        with open_checked(pipe) as (file, size, whole):
            assert file.read(size) == b"abcdef" and whole == (len(content) > 6)
        thread.join()


def test_what_is_no_training(tmp_path):
    mx.nd.save(str(tmp_path / "x"), {"x": mx.nd.ones(1)})
    with pytest.raises(FormatError, match="expected a file of a training"):
        read_training(str(tmp_path / "x"), "form")
