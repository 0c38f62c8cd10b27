"""Files of other programs and of training for tests/fuzz/files.py, and what reads them."""

import copy
import io
import os
import tarfile

import numpy as np

NUMBERS = (-(2**63), -1, 0, 1, 2, 3, 7, 2**31, 2**40, 2**62, 2**63 - 1)


# --- arrays by name ------------------------------------------------------------------------------
def _arrays():
    rng = np.random.default_rng(3)
    kinds = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")
    return {f"{kind}_{i}": rng.integers(0, 2, (2, 3)).astype(kind) for i, kind in enumerate(kinds)}


def npz_files():
    """Stored, compressed, with arrays that cynet lacks, without axes, in the other byte order."""
    for write in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        write(file, **_arrays())
        yield file.getvalue()
    file = io.BytesIO()
    np.savez(
        file,
        np.float32(3),
        np.ones((0, 2), "f"),
        np.arange(6, dtype=">i4"),
        np.asfortranarray(np.ones((2, 3))),
        wide=np.ones(2, "uint16"),
    )
    yield file.getvalue()
    file = io.BytesIO()
    np.savez_compressed(file, zeros=np.zeros(1 << 18, "uint8"))
    yield file.getvalue()


def safetensors_files():
    from safetensors.numpy import save

    yield save(_arrays())
    yield save({"a.weight": np.ones((2, 3), "f"), "empty": np.ones((0, 2), "f")}, {"format": "np"})


def damaged_safetensors(rng, data):
    """The header with other values and the right length, or other bytes."""
    from tests.fuzz.files import damaged, damaged_json

    if rng.integers(2):
        return damaged(rng, data)
    length = int.from_bytes(data[:8], "little")
    text = damaged_json(rng, data[8 : 8 + length])
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def _reader_by_ending(ending):
    def read(path):
        import cynet as mx

        name = f"{path}.{ending}"
        os.replace(path, name)
        mx.nd.load(name)
        net = mx.gluon.nn.Dense(2, in_units=3)
        net.initialize()
        net.load_parameters(name, allow_missing=True, ignore_extra=True)

    return read


# --- ONNX ----------------------------------------------------------------------------------------
def _networks(mx):
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, pad=(1, 1), name="c")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="b"), act_type="relu")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg") * 2
    net = mx.sym.Concat(*mx.sym.SliceChannel(net, num_outputs=2, name="s"), dim=1)
    net = mx.sym.Reshape(mx.sym.clip(net, 0, 5), shape=(0, -1))
    net = mx.sym.FullyConnected(mx.sym.Dropout(net), num_hidden=3, name="f")
    yield mx.sym.softmax(net), (2, 3, 8, 8)
    net = mx.sym.RNN(data, state_size=2, num_layers=1, mode="lstm", name="r")
    net = mx.sym.transpose(net, axes=(1, 0, 2)).sum(axis=1)
    yield (
        mx.sym.broadcast_add(net, mx.sym.tile(mx.sym.mean(net, axis=1, keepdims=True), (1, 2))),
        (3, 2, 4),
    )


def onnx_files():
    import tempfile

    import cynet as mx

    for net, shape in _networks(mx):
        inputs = [n for n in net.list_arguments() if n != "data" and "state" not in n]
        found = net.infer_shape(data=shape)
        shapes = dict(zip(net.list_arguments(), found[0]))
        aux = dict(zip(net.list_auxiliary_states(), found[2]))
        values = {k: mx.nd.ones(s) * 0.1 for k, s in {**shapes, **aux}.items()}
        given = [n for n in net.list_arguments() if n not in inputs]
        params = {k: v for k, v in values.items() if k not in given}
        path = os.path.join(tempfile.mkdtemp(), "net.onnx")
        mx.onnx.export_model(net, params, [shapes[n] for n in given], "float32", path)
        with open(path, "rb") as file:
            yield file.read()


def damaged_onnx(rng, data):
    """Other numbers, kinds, inputs and constants in the nodes, or other bytes."""
    import onnx

    from tests.fuzz.files import damaged

    if rng.integers(3) == 0:
        return damaged(rng, data)
    model = onnx.load_from_string(data)
    for _ in range(rng.integers(1, 4)):
        _change_onnx(rng, model.graph)
    return model.SerializeToString()


def _change_onnx(rng, graph):
    node = graph.node[rng.integers(len(graph.node))]
    number = NUMBERS[rng.integers(len(NUMBERS))]
    kind = rng.integers(8)
    if kind == 0 and node.attribute:
        each = node.attribute[rng.integers(len(node.attribute))]
        each.i = number
        each.f = float(number)
        if each.ints:
            each.ints[rng.integers(len(each.ints))] = number
        if rng.integers(3) == 0:
            each.ints.append(number)
    elif kind == 1 and node.attribute:
        del node.attribute[rng.integers(len(node.attribute))]
    elif kind == 2 and node.input:
        del node.input[rng.integers(len(node.input))]
    elif kind == 3 and node.input:
        other = graph.node[rng.integers(len(graph.node))]
        names = [*other.output, *(i.name for i in graph.initializer), "", "nothing"]
        node.input[rng.integers(len(node.input))] = names[rng.integers(len(names))]
    elif kind == 4:
        kinds = [n.op_type for n in graph.node]
        kinds += ["Constant", "Shape", "Gather", "If", "Loop", "ConstantOfShape", "Resize", "Pad"]
        node.op_type = kinds[rng.integers(len(kinds))]
    elif kind == 5 and graph.initializer:
        each = graph.initializer[rng.integers(len(graph.initializer))]
        if each.dims:
            each.dims[rng.integers(len(each.dims))] = number
    elif kind == 6 and graph.initializer:
        each = graph.initializer[rng.integers(len(graph.initializer))]
        each.data_type = int(rng.integers(0, 25))
    elif graph.initializer:
        each = graph.initializer[rng.integers(len(graph.initializer))]
        if each.data_type == 7 and len(each.raw_data) >= 8 and len(each.raw_data) % 8 == 0:
            values = np.frombuffer(each.raw_data, "int64").copy()
            values[rng.integers(len(values))] = number
            each.raw_data = values.tobytes()
        else:
            del graph.node[rng.integers(len(graph.node))]


def read_onnx(path):
    import cynet as mx

    mx.onnx.get_model_metadata(path)
    symbol, _, _ = mx.onnx.import_model(path)
    mx.sym.load_json(symbol.tojson())
    symbol.infer_shape_partial(data=(2, 3, 8, 8))


# --- training ------------------------------------------------------------------------------------
def _trained(mx):
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    with mx.autograd.record():
        loss = net(mx.nd.ones((2, 3))).sum()
    loss.backward()
    trainer.step(2)
    data = mx.gluon.data.ArrayDataset(np.zeros((6, 3), "f"), np.zeros(6, "f"))
    return net, trainer, mx.gluon.data.DataLoader(data, 2, shuffle=True)


def _written(write):
    import tempfile

    path = os.path.join(tempfile.mkdtemp(), "written")
    write(path)
    with open(path, "rb") as file:
        return file.read()


def training_files():
    """All that a training in Gluon depends on."""
    import cynet as mx

    net, trainer, loader = _trained(mx)
    next(iter(loader))
    yield _written(lambda path: mx.gluon.save_training(path, net, trainer, loader, {"epoch": 3}))
    yield _written(lambda path: mx.gluon.save_training(path, net))


def damaged_training(rng, data):
    """The JSON of the file with other values, or other bytes."""
    import cynet as mx
    from cynet.base.files import SEAL_BYTES, append_checksum  # with a checksum that is right
    from tests.fuzz.files import damaged, damaged_json

    if rng.integers(3) == 0:
        return damaged(rng, data)
    arrays = mx.nd.load_frombuffer(data[:-SEAL_BYTES])
    text = damaged_json(rng, arrays["meta"].asnumpy().tobytes())
    arrays["meta"] = mx.nd.array(np.frombuffer(text or b" ", np.uint8), dtype="uint8")
    return b"".join(append_checksum([mx.nd.save_tobuffer(arrays)]))


def read_training(path):
    import random

    import cynet as mx

    before = np.random.get_state(), random.getstate()
    try:
        net, trainer, loader = _trained(mx)
        mx.gluon.load_training(path, net, trainer, loader)
        net(mx.nd.ones((2, 3))).asnumpy()
        trainer.step(1, ignore_stale_grad=True)
        for _, _ in zip(range(9), loader):
            pass
        np.random.random(), random.random()
    finally:
        np.random.set_state(before[0])
        random.setstate(before[1])


def trainer_files():
    import cynet as mx

    yield _written(_trained(mx)[1].save_states)


def read_trainer(path):
    import cynet as mx

    net, trainer, _ = _trained(mx)
    trainer.load_states(path)
    trainer.step(1, ignore_stale_grad=True)
    for each in net.collect_params().values():
        each.data().asnumpy()


# --- lists of Blocks, data sets ------------------------------------------------------------------
def _net(mx):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, in_units=3), mx.gluon.nn.BatchNorm(in_channels=2))
    net.initialize()
    return net


def model_files():
    import tempfile

    import cynet as mx

    prefix = os.path.join(tempfile.mkdtemp(), "net")
    net = _net(mx)
    net.hybridize()
    net(mx.nd.ones((2, 3)))
    net.save(prefix)
    with open(f"{prefix}-model.json", "rb") as file:
        yield file.read()


def read_model(path):
    import cynet as mx

    net = _net(mx)
    net.save_parameters(f"{path}-model.params")
    os.replace(path, f"{path}-model.json")
    net.load(path)
    net(mx.nd.ones((2, 3))).asnumpy()


def embedding_files():
    yield b"2 3\n" + b"".join(b"w%d 0.5 -1 %d\n" % (i, i) for i in range(9))
    yield "<unk> 1 2\nh\u00e9 3 4\nh\u00e9 5 6\nx nan 1e40\n".encode()


def read_embedding(path):
    import cynet as mx

    found = mx.contrib.text.embedding.CustomEmbedding(path)
    found.get_vecs_by_tokens(["w1", "nothing"]).asnumpy()


def cifar_files():
    """An archive, plain and compressed, and one that holds nothing of use."""
    rows = np.arange(2 * 3073, dtype=np.int64).astype(np.uint8).tobytes()
    for form in ("w", "w:gz"):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode=form) as archive:
            for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
                member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
                member.size = len(rows)
                archive.addfile(member, io.BytesIO(rows))
        yield file.getvalue()


def read_cifar(path):
    import cynet as mx

    folder = os.path.dirname(path)
    os.replace(path, os.path.join(folder, "cifar-10-binary.tar.gz"))
    dataset = mx.gluon.data.vision.CIFAR10(folder)
    dataset[0][0].asnumpy()


def read_dataset(path):
    """Records of images as a data set; an index beside them is made from the file."""
    import cynet as mx

    name = f"{path}.rec"
    os.replace(path, name)
    with open(f"{path}.idx", "w") as file:
        file.writelines(f"{i}\t{40 * i}\n" for i in range(4))
    for kind in (mx.gluon.data.RecordFileDataset, mx.gluon.data.vision.ImageRecordDataset):
        dataset = kind(name)
        for i in range(min(len(dataset), 4)):
            try:
                dataset[i]
            except mx.errors.CynetError:
                continue


def vocabulary_words(rng, data):
    """Words of the file, in another order and number; for texts that are read by the line."""
    words = data.split(b" ")
    at = rng.integers(len(words))
    words[at] = copy.copy(words[rng.integers(len(words))]) * int(rng.integers(0, 3))
    return b" ".join(words)


def _either(first, second):
    return lambda rng, data: (first if rng.integers(2) else second)(rng, data)


def formats(damaged, damaged_json, damaged_states, record_files):
    """A name -> (files that are right, damage, what reads them)."""
    return {
        "npz": (npz_files, damaged, _reader_by_ending("npz")),
        "safetensors": (safetensors_files, damaged_safetensors, _reader_by_ending("safetensors")),
        "onnx": (onnx_files, damaged_onnx, read_onnx),
        "training": (training_files, damaged_training, read_training),
        "trainer": (trainer_files, damaged_states, read_trainer),
        "model": (model_files, damaged_json, read_model),
        "embedding": (embedding_files, _either(damaged, vocabulary_words), read_embedding),
        "cifar": (cifar_files, damaged, read_cifar),
        "dataset": (record_files, damaged, read_dataset),
    }
