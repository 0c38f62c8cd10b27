"""Damaged files of every format that cynet reads.

    python -m tests.fuzz.files --cases 100000 --seed 7

A reader is right when it gives a result or raises an error of cynet, and takes no more memory than
the file has and 64 MB. A crash, a hang, any other exception is a fault; ``--show N`` repeats a case
in this process and leaves its file.
"""

import bz2
import copy
import gzip
import json
import lzma
import os
import resource
import struct
import sys
import tempfile

import numpy as np

from tests.fuzz.image_files import IMAGE_FORMATS, record_files
from tests.fuzz.interchange_files import formats
from tests.fuzz.worker import Fault, command_line

MORE = 64 << 20  # bytes of memory beyond the file
NUMBERS = (0, 1, 2, 8, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1)
VALUES = (
    None,
    True,
    [],
    {},
    "",
    "x",
    "-1",
    "nan",
    "1e999",
    "(" * 3000,
    "x" * 100_000,
    0,
    -1,
    0.5,
    2**31,
    2**63,
    10**30,
    1e308,
    float("inf"),
    float("nan"),
    [0],
    [[0, 0, 0]],
)
PACKERS = (gzip.compress, bz2.compress, lzma.compress)


# --- damage --------------------------------------------------------------------------------------
def damaged(rng, data):
    """`data` with one to four changes of bytes."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(data) + 1))
        kind = rng.integers(7)
        if kind == 0 and data:
            data[at - 1] ^= 1 << int(rng.integers(8))
        elif kind == 1 and data:
            data[at - 1] = int(rng.choice([0, 1, 127, 128, 255, rng.integers(256)]))
        elif kind == 2:
            size, number = int(rng.choice([1, 2, 4, 8])), NUMBERS[rng.integers(len(NUMBERS))]
            order = "big" if rng.integers(2) else "little"
            data[at : at + size] = (number % 256**size).to_bytes(size, order)
        elif kind == 3 and rng.integers(2):
            del data[at:]
        elif kind == 4:
            data[at:at] = bytes(rng.integers(0, 256, rng.integers(1, 30), dtype=np.uint8))
        elif kind == 5:
            del data[at : at + int(rng.integers(1, 30))]
        else:
            end = at + int(rng.integers(1, 200))
            data[at:at] = data[at:end] * int(rng.integers(1, 4))
    return bytes(data)


def changed(rng, value):
    """A JSON value with one part of it replaced, dropped or doubled."""
    places = []
    todo = [value]
    while todo:
        each = todo.pop()
        keys = each if isinstance(each, dict) else range(len(each))
        for key in keys:
            places.append((each, key))
            if isinstance(each[key], (dict, list)) and each[key]:
                todo.append(each[key])
    holder, key = places[rng.integers(len(places))]
    kind = rng.integers(4)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[rng.integers(len(holder))]))
    elif kind == 2 and isinstance(holder, dict):
        holder[["num_outputs", "num_args", "shape", "axis", "_get_lr", "x"][rng.integers(6)]] = (
            copy.copy(VALUES[rng.integers(len(VALUES))])
        )
    else:
        value_there = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
        as_text = isinstance(holder[key], str) and rng.integers(2)
        holder[key] = str(value_there) if as_text else value_there
    return value


def damaged_json(rng, text):
    """Text of JSON with other bytes or other values."""
    if rng.integers(4) == 0:
        return damaged(rng, text)
    value = json.loads(text)
    for _ in range(rng.integers(1, 4)):
        if value:
            value = changed(rng, value)
    return json.dumps(value).encode()


def packed(rng, data):
    """The bytes as they are, or compressed, and then perhaps damaged."""
    kind = rng.integers(5)
    if kind < 3:
        data = PACKERS[kind](data)
        if rng.integers(2):
            data = damaged(rng, data)
    return data


# --- formats: a name -> (files that are right, damage, what reads them) ---------------------------
def params_files():
    """Of all three generations, with names and without."""
    import cynet as mx

    v2 = struct.pack("<IiIqqiiiff", 0xF993FAC9, 0, 2, 1, 2, 1, 0, 0, 1.5, -2.5)
    v1 = struct.pack("<IIqiiib", 0xF993FAC8, 1, 1, 1, 0, 5, 7)
    v0 = struct.pack("<IIiiid", 1, 1, 1, 0, 1, 0.5)
    names = b"".join(struct.pack("<Q", len(n)) + n for n in (b"arg:w", b"aux:m", b"arg:x"))
    head = struct.pack("<QQQ", 0x112, 0, 3) + v2 + v1 + v0
    yield head + struct.pack("<Q", 3) + names
    yield head + struct.pack("<Q", 0)
    every = [mx.nd.ones((2, 3), dtype=dtype) for dtype in mx.base.dtype.FLAGS]
    yield mx.nd.save_tobuffer(every)
    yield mx.nd.save_tobuffer({f"arg:{i}": each for i, each in enumerate(every)})
    dense = mx.nd.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4]])
    for stype in ("csr", "row_sparse"):
        kinds = [dense.tostype(stype), mx.nd.sparse.zeros(stype, (3, 4), dtype="float64")]
        yield mx.nd.save_tobuffer(kinds)
        yield mx.nd.save_tobuffer({"arg:a": kinds[0], "aux:b": dense, "arg:c": kinds[1]})


def read_params(path):
    import cynet as mx

    with open(path, "rb") as file:
        found = mx.nd.load_frombuffer(file.read())
    for each in found.values() if isinstance(found, dict) else found:
        if each.stype != "default":
            each.check_format()  # the reader has done so: what it gives is right
    mx.nd.load(path)
    from cynet.io.checkpoint import read_params as read

    read(path)


def symbol_files():
    import cynet as mx

    data = mx.sym.Variable("data", shape=(2, 3, 8, 8), lr_mult=2)
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="c", attr={"__mood__": "x"})
    net = mx.sym.BatchNorm(mx.sym.Activation(net, act_type="relu"), name="b")
    parts = mx.sym.SliceChannel(mx.sym.Flatten(net), num_outputs=2, name="s")
    net = mx.sym.Concat(mx.sym.Reshape(parts[0], shape=(2, -1)), mx.sym.clip(parts[1], 0, 1) * 2)
    yield (
        mx.sym.Group(
            [
                mx.sym.tile(net, reps=(1, 2)),
                mx.sym.pad(data, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
            ]
        )
        .tojson()
        .encode()
    )
    old = {
        "nodes": [
            {"op": "null", "param": {}, "name": "data", "inputs": [], "attr": {"lr_mult": "1"}},
            {"op": "null", "param": {}, "name": "w", "inputs": []},
            {
                "op": "FullyConnected",
                "param": {"no_bias": "True", "num_hidden": "3"},
                "name": "fc",
                "inputs": [[0, 0], [1, 0]],
                "attr": {"weight_lr_mult": "2"},
            },
        ],
        "arg_nodes": [0, 1],
        "heads": [[2, 0]],
    }
    yield json.dumps(old).encode()
    data, state = mx.sym.Variable("data"), mx.sym.Variable("state")
    outs, state = mx.sym.contrib.foreach(  # graphs inside of graphs
        lambda row, s: mx.sym.contrib.foreach(lambda a, b: (a * b, a + b), row, s), data, state
    )
    out = mx.sym.contrib.cond(state.sum() > 1, lambda: state * 2, lambda: state - 1)
    _, last = mx.sym.contrib.while_loop(
        lambda s: s.sum() < 9, lambda s: (s, s * 2), out, max_iterations=4
    )
    yield mx.sym.Group([outs, *last]).tojson().encode()


def read_symbol(path):
    import cynet as mx

    symbol = mx.sym.load(path)
    symbol.attr_dict()
    again = mx.sym.load_json(symbol.tojson())
    again.infer_shape_partial(data=(2, 3, 8, 8))


def states_files():
    import cynet as mx

    schedules = (
        mx.lr_scheduler.FactorScheduler(10, 0.5),
        mx.lr_scheduler.MultiFactorScheduler([3, 9], 0.5),
        mx.lr_scheduler.PolyScheduler(9),
        mx.lr_scheduler.CosineScheduler(9, warmup_steps=2),
        None,
    )
    for name, schedule in zip(("sgd", "adam", "nadam", "rmsprop", "dcasgd"), schedules):
        options = {"momentum": 0.9} if "sgd" in name else {}
        optimizer = mx.optimizer.create(name, lr_scheduler=schedule, **options)
        updater = mx.optimizer.get_updater(optimizer)
        for index in (0, 1):
            updater(index, mx.nd.ones(2), mx.nd.ones(2))
        yield b"".join(updater.state_chunks(True, {"params": "ab" * 20, "saved": 7}))
        yield updater.get_states()


def damaged_states(rng, data):
    """The header with other values and the right length, or other bytes anywhere."""
    if rng.integers(3) == 0:
        return damaged(rng, data)
    from cynet.base.files import SEAL_BYTES, append_checksum  # with a checksum that is right

    (length,) = struct.unpack("<Q", data[8:16])
    text = damaged_json(rng, data[16 : 16 + length])
    content = data[:8] + struct.pack("<Q", len(text)) + text + data[16 + length : -SEAL_BYTES]
    return b"".join(append_checksum([content]))


def read_states(path):
    import cynet as mx
    from cynet.optimizer.state_file import read_digest_and_time

    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    read_digest_and_time(path)
    updater.load(path)
    weight = mx.nd.ones(2)
    updater(0, mx.nd.ones(2), weight)
    weight.asnumpy()
    updater.get_states(True)


def idx_files():
    yield struct.pack(">HBB3I", 0, 8, 3, 2, 3, 4) + bytes(24)
    yield struct.pack(">HBBI", 0, 13, 1, 3) + bytes(12)


def read_idx(path):
    import cynet as mx

    mx.io.read_idx(path)
    mx.io.MNISTIter(image=path, label=path, batch_size=1)


def csv_files():
    yield b"1,2,3\n4,5,6\n# nothing\n\n7.5,-8e3,nan\n"
    yield b"1,2,3\r\n" * 50


def read_csv(path):
    import cynet as mx

    for batch in mx.io.CSVIter(data_csv=path, data_shape=(3,), batch_size=2):
        batch.data[0].asnumpy()


def libsvm_files():
    yield b"1.0 0:1.5 2:2.5\n2 1:3 # x\n\n0\n-1e3 0:nan 1:2 2:inf\n"


def read_libsvm(path):
    import cynet as mx

    for batch in mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=2):
        batch.data[0].asnumpy()


def kept_files():
    """Compiled code as the cache keeps it; any change must be seen."""
    from cynet.base import cache

    path = os.path.join(tempfile.mkdtemp(), "case")
    cache.write_cached(path, b"\x7fELF" + bytes(range(256)))
    with open(path, "rb") as file:
        yield file.read()


def read_kept(path):
    from cynet.base import cache

    os.chmod(path, 0o600)
    found = cache.read_cached(path)
    if found is not None and found != b"\x7fELF" + bytes(range(256)):
        raise Fault("damaged code is taken for whole")


def with_packers(rng, data):
    return packed(rng, damaged(rng, data) if rng.integers(3) else data)


FORMATS = {
    "params": (params_files, damaged, read_params),
    "symbol": (symbol_files, damaged_json, read_symbol),
    "states": (states_files, damaged_states, read_states),
    "idx": (idx_files, with_packers, read_idx),
    "csv": (csv_files, with_packers, read_csv),
    "libsvm": (libsvm_files, damaged, read_libsvm),
    "kept": (kept_files, damaged, read_kept),
    **{name: (make, damaged, read) for name, (make, read) in IMAGE_FORMATS.items()},
    **formats(damaged, damaged_json, damaged_states, record_files),
}


# --- cases ---------------------------------------------------------------------------------------
def prepare(seed):
    """What a worker does first; gives the function that runs case number `n`."""
    import logging
    import warnings

    from cynet.base.errors import CynetError

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    folder = tempfile.TemporaryDirectory(prefix="cynet-fuzz-")
    path = os.path.join(folder.name, "case")
    good = {}
    for name, (make, _, read) in FORMATS.items():
        good[name] = list(make())
        for data in good[name]:  # they are read, and all code is loaded before memory counts
            _write(path, data)
            try:
                read(path)
            except CynetError:
                if name == "symbol":  # the others have readers that take some of the files only
                    raise

    def run(number):
        rng = np.random.default_rng([seed, number])
        name = list(FORMATS)[rng.integers(len(FORMATS))]
        _, damage, read = FORMATS[name]
        data = damage(rng, good[name][rng.integers(len(good[name]))])
        _write(path, data)
        if "ASAN_OPTIONS" not in os.environ:
            with open("/proc/self/statm") as file:
                used = int(file.read().split()[0]) * resource.getpagesize()
            limit = used + len(data) + MORE
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            read(path)
        except CynetError as error:
            if isinstance(error, MemoryError) or len(str(error)) > 3000:
                raise Fault(f"{name}: {type(error).__name__}: {error}"[:400]) from error
        except Fault:
            raise
        except BaseException as error:
            raise Fault(f"{name}: {type(error).__name__}: {error}"[:400]) from error
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)

    run.folder = folder  # lives as long as the function
    return run


def _write(path, data):
    with open(path, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    sys.exit(command_line("tests.fuzz.files", __doc__, lambda seed, n: prepare(seed)(n)))
