"""Images of a file of records, decoded by two threads (``--mxnet PYTHON``: beside MXNet 1.x;
``--torch PYTHON``: beside torchvision's transforms in a DataLoader of two processes)."""

import io
import os
import tempfile
import time

import numpy as np
from harness import Row, main

IMAGES, SIZE, THREADS = 512, (256, 340), 2
# cynet writes it once; MXNet's Python, which may lack OpenCV for Python, reads the same file.
PATH = os.path.join(tempfile.gettempdir(), f"cynet-benchmark-{IMAGES}.rec")
NORMALIZED = {
    "rand_crop": True,
    "rand_mirror": True,
    "mean_r": 123.68,
    "mean_g": 116.28,
    "mean_b": 103.53,
    "std_r": 58.395,
    "std_g": 57.12,
    "std_b": 57.375,
}


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


class Pictures:
    """The images as PyTorch's users have them: Pillow and torchvision's transforms."""

    def __init__(self, normalized):
        from torchvision import transforms

        with open(PATH, "rb") as file:
            content, at, self.images = file.read(), 0, []
        while at < len(content):
            length = int.from_bytes(content[at + 4 : at + 8], "little")
            self.images.append(content[at + 32 : at + 8 + length])
            at += 8 + -(-length // 4) * 4
        steps = [transforms.RandomCrop(224), transforms.RandomHorizontalFlip()]
        mean, std = ([NORMALIZED[f"{what}_{c}"] / 255 for c in "rgb"] for what in ("mean", "std"))
        if normalized:
            steps += [transforms.ToTensor(), transforms.Normalize(mean, std)]
        else:
            steps = [transforms.CenterCrop(224), transforms.PILToTensor()]
        self.transform = transforms.Compose(steps)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, number):
        from PIL import Image

        return self.transform(Image.open(io.BytesIO(self.images[number])).convert("RGB")), number


def torch_rows():
    from torch.utils.data import DataLoader

    for name, normalized in (("float32, normalized", True), ("uint8", False)):
        loader = DataLoader(Pictures(normalized), 64, num_workers=THREADS, persistent_workers=True)
        best = float("inf")
        for _ in range(4):
            start, count = time.perf_counter(), 0
            for images, _ in loader:
                count += len(images)
            best = min(best, (time.perf_counter() - start) / count)
        yield Row(f"an image, {name}", best)


def rows(mx):
    """Decoded, cropped and, for the first, mirrored and normalized; and records as they are."""
    if mx.__name__ == "torch":
        yield from torch_rows()
        return
    if not os.path.exists(PATH):
        write(mx)
    options = {
        "path_imgrec": PATH,
        "path_imgidx": PATH[:-4] + ".idx",
        "batch_size": 64,
        "data_shape": (3, 224, 224),
        "preprocess_threads": THREADS,
    }
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
