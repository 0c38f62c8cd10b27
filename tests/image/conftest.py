"""Files of images that the tests of iterators read."""

import numpy as np
import pytest

import cynet as mx


def picture(number, height=40, width=48):
    """Pixels (H, W, 3) that are another for each number, and smooth, as photographs are."""
    y, x = np.mgrid[:height, :width]
    planes = [x * 4 + number * 9, y * 5 - number, (x + y) * 2 + number * 20]
    return (np.stack(planes, 2) % 256).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    """images.rec and images.idx of 7 images in PNG with their number as the label, boxes.rec of 4
    with one or two boxes, both with indices; 0.png to 2.png; images.lst of those."""
    record = mx.recordio.MXIndexedRecordIO(tmp_path / "images.idx", tmp_path / "images.rec", "w")
    for i in range(7):
        header = mx.recordio.IRHeader(0, float(i), i, 0)
        record.write_idx(i, mx.recordio.pack_img(header, picture(i)[..., ::-1], 3, ".png"))
    record.close()
    record = mx.recordio.MXIndexedRecordIO(tmp_path / "boxes.idx", tmp_path / "boxes.rec", "w")
    for i in range(4):
        label = [2, 5] + [i, 0.1, 0.2, 0.3, 0.4] * (i % 2 + 1)
        header = mx.recordio.IRHeader(0, label, i, 0)
        record.write_idx(i, mx.recordio.pack_img(header, picture(i)[..., ::-1], 3, ".png"))
    record.close()
    lines = []
    for i in range(3):
        content = mx.recordio.pack_img((0, 0.0, 0, 0), picture(i)[..., ::-1], 3, ".png")
        (tmp_path / f"{i}.png").write_bytes(mx.recordio.unpack(content)[1])
        lines.append(f"{i}\t{i + 0.5}\t{i * 2}\t{i}.png\n")
    (tmp_path / "images.lst").write_text("".join(lines))
    return tmp_path
