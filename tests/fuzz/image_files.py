"""Files of images, records and lists for tests/fuzz/files.py, and what reads them."""

import itertools
import os

import numpy as np


def _picture():
    y, x = np.mgrid[:20, :24]
    return np.stack([x * 9, y * 11, (x * y) % 256], 2).astype(np.uint8)


def image_files():
    import cynet as mx

    for kind, quality in ((".jpg", 95), (".jpg", 20), (".png", 3)):
        for image in (_picture(), _picture()[..., 0]):
            record = mx.recordio.pack_img(mx.recordio.IRHeader(0, 1.0, 0, 0), image, quality, kind)
            yield record[24:]


def read_image(path):
    import cynet as mx

    with open(path, "rb") as file:
        content = file.read()
    for flag in (1, 0, -1):
        mx.image.imdecode(content, flag)


def record_files():
    """Whole records and parts, labels of several numbers, JPEG and PNG."""
    import cynet as mx
    from cynet.recordio.framing import frame_record

    images = list(image_files())
    pack, header = mx.recordio.pack, mx.recordio.IRHeader
    yield b"".join(
        chunk
        for i, image in enumerate(images)
        for chunk in frame_record(pack(header(0, float(i), i, 0), image))
    )
    magic = bytes.fromhex("0a23d7ce")
    others = [b"", magic, b"1234" + magic * 2 + b"5"]
    others += [pack(header(0, [2, 5, 1, 0, 0, 1, 1], 3, 0), images[0])]
    others += [pack(header(0, 2.0, 4, 0), images[1])]
    yield b"".join(chunk for each in others for chunk in frame_record(each))


def read_records(path):
    import cynet as mx
    from cynet.image.record_batches import RecordBatches
    from cynet.image.record_options import (
        AUGMENT_OPTIONS,
        NORMALIZE_OPTIONS,
        READ_OPTIONS,
        read_options,
    )
    from cynet.recordio.framing import RecordFile

    most = os.path.getsize(path) + 1
    plain = mx.recordio.MXRecordIO(path, "r", skip_damaged=True)
    found = list(itertools.islice(iter(plain.read, None), most))
    offsets = list(itertools.islice(RecordFile(path).record_offsets(lambda error: None), most))
    if len(found) > len(offsets) or len(offsets) == most:
        raise AssertionError(f"{len(found)} records at {len(offsets)} offsets")
    given = {"path_imgrec": path, "batch_size": 4, "data_shape": (3, 8, 8), "skip_damaged": True}
    options = read_options(
        "fuzz",
        READ_OPTIONS | AUGMENT_OPTIONS | NORMALIZE_OPTIONS,
        {**given, "preprocess_threads": 1},
    )
    batches = RecordBatches(options, (3, 8, 8), np.dtype("float32"))
    for batch in batches.empty_batches(0, 0):
        batches.fill(batch, 0)
    strict = mx.recordio.MXRecordIO(path, "r")
    while strict.read() is not None:
        pass


def box_files():
    """Labels with boxes: heads and boxes of several sizes, none, and one in two parts."""
    import cynet as mx
    from cynet.recordio.framing import frame_record

    image = next(image_files())
    labels = ([2, 5, 1, 0.1, 0.2, 0.6, 0.8], [2, 5], [4, 6, 7, 7, 0, 0, 0, 1, 1, 3])
    records = [mx.recordio.pack(mx.recordio.IRHeader(0, x, 0, 0), image) for x in labels]
    magic = int.from_bytes(bytes.fromhex("0a23d7ce"), "little")
    records.append(mx.recordio.pack(mx.recordio.IRHeader(0, labels[0], magic, 0), image))
    yield b"".join(chunk for each in records for chunk in frame_record(each))


def read_boxes(path):
    from cynet.image.record_boxes import BoxBatches
    from cynet.image.record_options import (
        BOX_AUGMENT_OPTIONS,
        BOX_NORMALIZE_OPTIONS,
        BOX_READ_OPTIONS,
        read_options,
    )

    given = {"path_imgrec": path, "batch_size": 4, "data_shape": (3, 8, 8), "skip_damaged": True}
    given |= {"rand_crop_prob": 1, "rand_pad_prob": 1, "max_pad_scale": 2, "rand_mirror_prob": 1}
    table = BOX_READ_OPTIONS | BOX_AUGMENT_OPTIONS | BOX_NORMALIZE_OPTIONS
    options = read_options("fuzz", table, {**given, "preprocess_threads": 1})
    batches = BoxBatches(options, (3, 8, 8), np.dtype("float32"))
    for batch in batches.empty_batches(0, 0):
        batches.fill(batch, 0)
        if not np.isfinite(batch.data).all():
            raise AssertionError("pixels that are no numbers")


def index_files():
    yield b"".join(b"%d\t%d\n" % (i, 40 * i) for i in range(9))


def read_index(path):
    import cynet as mx

    record = path + ".rec"
    with open(record, "wb") as file:
        file.write(b"".join(record_files()))
    indexed = mx.recordio.MXIndexedRecordIO(path, record, "r")
    for key in indexed.keys:
        try:
            indexed.read_idx(key)
        except mx.errors.CynetError:
            continue


def list_files():
    yield b"0\t1.0\ta.jpg\n1\t2\t3\tb/c.png\n5\t-1e3\td e.jpg\n"


def read_list_file(path):
    import cynet as mx

    mx.image.ImageIter(1, (3, 8, 8), path_imglist=path)


IMAGE_FORMATS = {
    "image": (image_files, read_image),
    "record": (record_files, read_records),
    "boxes": (box_files, read_boxes),
    "index": (index_files, read_index),
    "list": (list_files, read_list_file),
}
