"""CIFAR-10 as files of records, made from its binary files."""

import os
from pathlib import Path

from tqdm import tqdm

import cynet as mx

_HOME = "~/.mxnet/datasets/cifar10"


def records(folder=None):
    """(file of records to train with, one to validate with); they are made if they are not there.

    Parameters
    ----------
    folder : str, optional
        Of CIFAR-10's files; None: CYNET_DATA_DIR, else ``~/.mxnet/datasets/cifar10``.
    """
    root = Path(folder or os.environ.get("CYNET_DATA_DIR") or _HOME).expanduser()
    paths = [root / f"cifar10_{part}.rec" for part in ("train", "val")]
    for path, train in zip(paths, (True, False)):
        if path.is_file():
            continue
        try:
            images = mx.gluon.data.vision.CIFAR10(root=str(root), train=train)
            _write(path, images)
        except (OSError, mx.base.MXNetError) as error:
            raise SystemExit(
                f"{error}; --data-dir says where they are, --data-train names records,"
                " --benchmark 1 takes random images"
            ) from None
    return tuple(map(str, paths))


def _write(path, images):
    """Write images and their labels as records; the file is there when all of it is."""
    part = path.with_suffix(".part")
    record = mx.recordio.MXRecordIO(str(part), "w")
    try:
        for number in tqdm(range(len(images)), path.name, unit=" images", disable=None):
            image, label = images[number]
            header = mx.recordio.IRHeader(0, float(label), number, 0)
            pixels = image.asnumpy()[:, :, ::-1]  # blue, green, red
            record.write(mx.recordio.pack_img(header, pixels, quality=3, img_fmt=".png"))
        record.close()
        os.replace(part, path)
    finally:
        record.close()
        part.unlink(missing_ok=True)
