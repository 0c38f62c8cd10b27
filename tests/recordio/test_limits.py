"""Exact limits of records and their headers, and the second setting of what packs images."""

import struct

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, BoundsError, FormatError, ShapeError
from cynet.recordio import framing
from cynet.recordio.files import read_index
from cynet.recordio.packing import HEADER_SIZE, read_header

pack, unpack, IRHeader = mx.recordio.pack, mx.recordio.unpack, mx.recordio.IRHeader
WORD = struct.pack("<I", framing.MAGIC)


def test_the_longest_record(monkeypatch):
    assert framing._MAX_PART_BYTES == 2**29 - 1
    monkeypatch.setattr(framing, "_MAX_PART_BYTES", 15)
    assert (
        b"".join(framing.frame_record(b"x" * 15))
        == WORD + struct.pack("<I", 15) + b"x" * 15 + b"\0"
    )
    with pytest.raises(ArgumentError, match="a record has at most 15 bytes, got 16"):
        framing.frame_record(b"x" * 16)


def test_beginnings(tmp_path):
    """Of a record in one part no more is read than is asked for; of others all."""
    records = [b"abcdefgh", b"", b"abcd" + WORD + b"efgh"]
    chunks = [b"".join(framing.frame_record(each)) for each in records]
    (tmp_path / "a.rec").write_bytes(b"".join(chunks))
    file = framing.RecordFile(tmp_path / "a.rec")
    offsets = [0, len(chunks[0]), len(chunks[0]) + len(chunks[1])]
    assert list(file.record_offsets()) == offsets
    for record, offset in zip(records, offsets):
        for size in (0, 1, 7, 8, 9, 12, 13, 100):
            assert file.read_beginning(offset, size) == (record[:size], len(record))
    for offset in (file.size, file.size + 1):
        with pytest.raises((BoundsError, FormatError), match="no record at offset|cut off"):
            file.read_beginning(offset, 4)


@pytest.mark.parametrize(
    ("numbers", "length", "taken"),
    [
        (0, HEADER_SIZE, True),
        (0, HEADER_SIZE - 1, False),
        (2, HEADER_SIZE + 8, True),
        (2, HEADER_SIZE + 7, False),
        (1, HEADER_SIZE, False),
        (0, 0, False),
    ],
)
def test_the_shortest_records_of_images(numbers, length, taken):
    content = pack(IRHeader(0, [1.0] * numbers if numbers else 1.0, 5, 6), b"")
    if taken:
        assert read_header(content, length)[2:] == (5, 6)
    else:
        with pytest.raises(FormatError, match=f"{length} *$|this has {length}|bytes behind the"):
            read_header(content, length)


@pytest.mark.parametrize(
    ("label", "flag", "number", "rest"),
    [
        (3, 0, 3.0, b""),
        (2.5, 0, 2.5, b""),
        (True, 0, 1.0, b""),
        (np.float32(2), 0, 2.0, b""),
        ([1, 2], 2, 0.0, struct.pack("<2f", 1, 2)),
        ((7,), 1, 0.0, struct.pack("<f", 7)),
        (np.array([[1, 2], [3, 4]]), 4, 0.0, struct.pack("<4f", 1, 2, 3, 4)),
        ([], 0, 0.0, b""),
    ],
)
def test_headers_in_bytes(label, flag, number, rest):
    wanted = struct.pack("<IfQQ", flag, number, 5, 2**64 - 1) + rest + b"content"
    for content in (b"content", bytearray(b"content"), memoryview(b"content")):
        assert pack((9, label, 5, 2**64 - 1), content) == wanted
    header, found = unpack(wanted)
    assert found == b"content" and (header.flag, header.id, header.id2) == (flag, 5, 2**64 - 1)
    assert np.ravel(header.label).tolist() == (np.ravel(label).tolist() if flag else [number])


@pytest.mark.parametrize(
    "given",
    [
        (1.0, 2**64, 0),
        (1.0, 0, 2**64),
        (1.0, -1, 0),
        (1.0, 0, -1),
        (1.0, "1", 0),
        (1.0, 1.5, 0),
        (1e39, 0, 0),
        (1.0, None, 0),
    ],
)
def test_headers_that_do_not_fit(given):
    with pytest.raises(ArgumentError, match="id and id2 are ints from 0 to 2..64 - 1, label is"):
        pack((0, *given), b"")


def test_lines_of_an_index(tmp_path):
    path = tmp_path / "a.idx"
    path.write_bytes(b"3\t0\r\n-4\t12\n5\t24\tmore\n")
    assert read_index(path) == {3: 0, -4: 12, 5: 24}
    assert read_index(path, str) == {"3": 0, "-4": 12, "5": 24}
    for line, says in ((b"6\t-1", "it is below 0"), (b"6", "index"), (b"6\t1.5", "invalid")):
        path.write_bytes(b"3\t0\n" + line + b"\n")
        with pytest.raises(FormatError, match=f"a.idx', line 2: expected a key, got .*{says}"):
            read_index(path)


PICTURE = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
HEADER = IRHeader(0, 1.0, 2, 3)


@pytest.mark.parametrize("ending", [".png", ".PNG"])
@pytest.mark.parametrize("shape", [(5, 7, 3), (5, 7), (5, 7, 1)])
def test_images_of_records(shape, ending):
    image = PICTURE[..., : 3 if shape[2:] == (3,) else 1].reshape(shape)
    record = mx.recordio.pack_img(HEADER, image, 3, ending)
    header, found = mx.recordio.unpack_img(record)
    assert header == HEADER and np.array_equal(found, image.reshape(found.shape))
    assert found.shape == (shape if shape[2:] == (3,) else shape[:2])
    for color, wanted in ((1, (5, 7, 3)), (0, (5, 7)), (-1, found.shape)):
        assert mx.recordio.unpack_img(record, color)[1].shape == wanted


def test_qualities_of_images():
    sizes = [len(mx.recordio.pack_img(HEADER, PICTURE, q, ".jpg")) for q in (10, 50, 95)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[2]
    assert mx.recordio.pack_img(HEADER, PICTURE) == mx.recordio.pack_img(
        HEADER, mx.nd.array(PICTURE, dtype="uint8"), 95, ".jpeg"
    )
    flat = np.zeros((64, 64), "uint8")
    none, most = (mx.recordio.pack_img(HEADER, flat, q, ".png") for q in (0, 9))
    assert len(most) < len(none) and most == mx.recordio.pack_img(HEADER, flat, 95, ".png")


@pytest.mark.parametrize(
    ("image", "how", "kind", "told"),
    [
        (PICTURE, {"img_fmt": ".bmp"}, ArgumentError, "img_fmt is '.jpg' or '.png', got '.bmp'"),
        (PICTURE, {"img_fmt": "png"}, ArgumentError, "got 'png'"),
        (PICTURE[0, 0], {}, ShapeError, r"an image is an array \(H, W\) or \(H, W, C\)"),
        (PICTURE[None], {}, ShapeError, "an image is an array"),
        (PICTURE[:0], {}, ShapeError, "an image is an array"),
        (PICTURE.astype("int8"), {}, ShapeError, "of uint8 or uint16, got .* int8"),
    ],
)
def test_images_that_are_none(image, how, kind, told):
    with pytest.raises(kind, match=told):
        mx.recordio.pack_img(HEADER, image, **how)
