"""Images of a file of records, decoded by two threads (``--mxnet PYTHON``: beside MXNet 1.x)."""

import os
import tempfile
import time

import numpy as np
from harness import Row, main

IMAGES, SIZE, THREADS = 512, (256, 340), 2
# cynet writes it once; MXNet's Python, which may lack OpenCV for Python, reads the same file.
PATH = os.path.join(tempfile.gettempdir(), f"cynet-benchmark-{IMAGES}.rec")
NORMALIZED = {
    "rand_crop": True, "rand_mirror": True, "mean_r": 123.68, "mean_g": 116.28, "mean_b": 103.53,
    "std_r": 58.395, "std_g": 57.12, "std_b": 57.375,
}  # fmt: skip


def write(mx):
    """Smooth random pictures as JPEGs of quality 95."""
    rng = np.random.default_rng(0)
    record = mx.recordio.MXIndexedRecordIO(PATH[:-4] + ".idx", PATH, "w")
    for i in range(IMAGES):
        coarse = mx.nd.array(rng.integers(0, 256, (32, 40, 3)), dtype="uint8")
        image = mx.image.imresize(coarse, SIZE[1], SIZE[0], 2)
        header = mx.recordio.IRHeader(0, float(i), i, 0)
        record.write_idx(i, mx.recordio.pack_img(header, image.asnumpy()))
    record.close()


def epoch(iterator):
    """The least seconds of an image in four epochs."""
    best = float("inf")
    for _ in range(4):
        start, count = time.perf_counter(), 0
        for batch in iterator:
            batch.data[0].wait_to_read()
            count += batch.data[0].shape[0]
        best = min(best, (time.perf_counter() - start) / count)
        iterator.reset()
    return best


def rows(mx):
    """Decoded, cropped and, for the first, mirrored and normalized; and records as they are."""
    if not os.path.exists(PATH):
        write(mx)
    options = {
        "path_imgrec": PATH, "path_imgidx": PATH[:-4] + ".idx", "batch_size": 64,
        "data_shape": (3, 224, 224), "preprocess_threads": THREADS,
    }  # fmt: skip
    whole = mx.io.ImageRecordIter(**options, **NORMALIZED)
    yield Row("an image, float32, normalized", epoch(whole))
    yield Row("an image, uint8", epoch(mx.io.ImageRecordUInt8Iter(**options)))
    record, best = mx.recordio.MXRecordIO(PATH, "r"), float("inf")
    for _ in range(5):
        record.reset()
        start, count = time.perf_counter(), 0
        while record.read() is not None:
            count += 1
        best = min(best, (time.perf_counter() - start) / count)
    yield Row("a record, read one after another", best)


if __name__ == "__main__":
    main(__doc__, rows)
