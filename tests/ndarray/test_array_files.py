"""Arrays in .npz and .safetensors files, as NumPy and safetensors read and write them."""

import io
import struct
import zipfile

import numpy as np
import pytest

import cynet as mx
from tests.bfloat16 import as_type

safetensors = pytest.importorskip("safetensors.numpy")
DTYPES = ("float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool")
FORMS = ("npz", "safetensors")


def arrays():
    rng = np.random.RandomState(3)
    return {f"layer.{d}": as_type(rng.randn(2, 3) * 4, d) for d in DTYPES}


@pytest.mark.parametrize("form", FORMS)
def test_round_trip(tmp_path, form):
    path = tmp_path / f"x.{form}"
    values = arrays()
    mx.nd.save(path, {k: mx.nd.array(v, dtype=v.dtype) for k, v in values.items()})
    theirs = dict(np.load(path)) if form == "npz" else safetensors.load_file(path)
    for found in (theirs, {k: v.asnumpy() for k, v in mx.nd.load(path).items()}):
        assert found.keys() == values.keys()
        for key, value in values.items():
            assert found[key].dtype == value.dtype
            np.testing.assert_array_equal(found[key], value)


@pytest.mark.parametrize("form", FORMS)
def test_files_of_the_others(tmp_path, form):
    path = tmp_path / f"x.{form}"
    values = {**arrays(), "number": np.float32(2.5)}
    if form == "npz":
        np.savez_compressed(path, **values)
    else:
        safetensors.save_file({k: np.asarray(v) for k, v in values.items()}, path)
    found = mx.nd.load(path)
    assert found["number"].shape == (1,) and found["number"].asscalar() == 2.5
    for key in arrays():
        np.testing.assert_array_equal(found[key].asnumpy(), values[key])


@pytest.mark.parametrize("form", FORMS)
def test_blocks_and_modules_load_them(tmp_path, form):
    path = str(tmp_path / f"net.{form}")
    net = mx.gluon.nn.Dense(3, in_units=4)
    net.initialize()
    net.save_parameters(path)
    other = mx.gluon.nn.Dense(3, in_units=4)
    other.load_parameters(path)
    np.testing.assert_array_equal(net.weight.data().asnumpy(), other.weight.data().asnumpy())


def test_lists_have_numpys_names(tmp_path):
    mx.nd.save(tmp_path / "x.npz", [mx.nd.ones(2), mx.nd.zeros(3)])
    assert list(mx.nd.load(tmp_path / "x.npz")) == ["arr_0", "arr_1"]


def test_damaged_files(tmp_path):
    path = tmp_path / "x.npz"
    mx.nd.save(path, {"a": mx.nd.ones((100,))})
    whole = path.read_bytes()
    seed = 7
    rng = np.random.RandomState(seed)
    for _ in range(200):
        data = bytearray(whole)
        for at in rng.randint(0, len(data), 3):
            data[at] = rng.randint(256)
        path.write_bytes(bytes(data[: rng.randint(1, len(data) + 1)]))
        try:
            mx.nd.load(path)
        except mx.MXNetError as error:
            assert "x.npz" in str(error), seed
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    with pytest.raises(mx.MXNetError, match=r"x\.safetensors"):
        mx.nd.load(path)


def test_no_pickles_and_no_bombs(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.array([{}], dtype=object))
    with pytest.raises(mx.MXNetError, match=r"x\.npz"):
        mx.nd.load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"\0" * (80 << 20))
    with pytest.raises(mx.MXNetError, match="say that they hold 83886080"):
        mx.nd.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"\0" * 100)
    whole = path.read_bytes()
    sizes = struct.pack("<II", 100, 100)  # in the list at the end, packed and not
    path.write_bytes(whole[:60] + whole[60:].replace(sizes, struct.pack("<II", 60 << 20, 100)))
    with pytest.raises(mx.errors.FormatError, match="say that 62914560 are packed in them"):
        mx.nd.load(path)
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "a.npy", np.lib.format.magic(1, 0) + struct.pack("<H", len(header)) + header + b"1234"
        )
    with pytest.raises(mx.errors.FormatError, match=r"shape \(99999999999,\) in 4 bytes"):
        mx.nd.load(path)
    file = io.BytesIO()
    np.save(file, np.zeros(2, "complex64"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", file.getvalue())
    with pytest.raises(mx.MXNetError, match="array 'a' of dtype complex64"):
        mx.nd.load(path)


def test_names_that_a_zip_cannot_hold(tmp_path):
    """zipfile itself cuts a name off at a NUL: two arrays become one, of another name."""
    for name in ("/a", "a\0b", "\0", "", "a\\b", "\udc80", "x" * 70_000):
        with pytest.raises(ValueError, match="has no form in (a .npz file|UTF-8)"):
            mx.nd.save(tmp_path / "x.npz", {name: mx.nd.ones(1), "b": mx.nd.ones(1)})
    for name in ("__metadata__", "\udc80"):
        with pytest.raises(ValueError, match="has no form in (a .safetensors file|UTF-8)"):
            mx.nd.save(tmp_path / "x.safetensors", {name: mx.nd.ones(1)})
    assert not list(tmp_path.iterdir())
    names = ["a.npy", "a", "a/b", "a b", "ä", "a\nb", "x" * 9_000]
    for ending in ("npz", "safetensors", "params"):
        path = tmp_path / f"x.{ending}"
        mx.nd.save(path, {name: mx.nd.ones(i + 1) for i, name in enumerate(names)})
        found = mx.nd.load(path)
        assert {name: each.size for name, each in found.items()} == {
            name: i + 1 for i, name in enumerate(names)
        }


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_array_that_is_there_twice(tmp_path):
    file = io.BytesIO()
    np.save(file, np.zeros(2, "float32"))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for name in ("a.npy", "a"):
            archive.writestr(name, file.getvalue())
    with pytest.raises(mx.errors.FormatError, match="array 'a' is there twice"):
        mx.nd.load(tmp_path / "x.npz")


@pytest.mark.parametrize("name", ["X.NPZ", "x.Npz", "X.SAFETENSORS", "x.y.SafeTensors"])
def test_endings_in_any_case(tmp_path, name):
    path = tmp_path / name
    mx.nd.save(path, {"a": mx.nd.array([1, 2])})
    form = "npz" if "np" in name.lower() else "safetensors"
    theirs = dict(np.load(path)) if form == "npz" else safetensors.load_file(path)
    assert theirs["a"].tolist() == [1, 2]
    assert mx.nd.load(path)["a"].asnumpy().tolist() == [1, 2]
