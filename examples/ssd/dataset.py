"""A small set of pictures for detection: discs, squares and triangles on noise, as records."""

import os
from pathlib import Path

import numpy as np
from tqdm import tqdm

import cynet as mx

CLASSES = ("disc", "square", "triangle")
SIDE = 128  # height and width of a picture, in pixels
MOST = 3  # shapes of a picture


def shape_mask(kind, size):
    """Where a shape is in a square of that many pixels, bool (size, size)."""
    y, x = (np.mgrid[:size, :size] + 0.5) / size
    if kind == 0:
        return (x - 0.5) ** 2 + (y - 0.5) ** 2 <= 0.25
    if kind == 1:
        return np.ones((size, size), bool)
    return np.abs(x - 0.5) <= y / 2


def picture(rng):
    """One picture (SIDE, SIDE, 3) of uint8 and its boxes (n, 5): class and corners from 0 to 1."""
    pixels = rng.integers(0, 120, 3) + rng.normal(0, 12, (SIDE, SIDE, 3))
    boxes = []
    for _ in range(rng.integers(1, MOST + 1)):
        kind, size = int(rng.integers(len(CLASSES))), int(rng.integers(SIDE // 6, SIDE // 2))
        for _ in range(20):  # find a place beside the other shapes
            left, top = (int(v) for v in rng.integers(0, SIDE - size, 2))
            box = left / SIDE, top / SIDE, (left + size) / SIDE, (top + size) / SIDE
            apart = [
                box[2] <= b[1] or b[3] <= box[0] or box[3] <= b[2] or b[4] <= box[1] for b in boxes
            ]
            if all(apart):
                mask = shape_mask(kind, size)
                color = rng.integers(140, 256, 3) + rng.normal(0, 12, (size, size, 3))
                pixels[top : top + size, left : left + size][mask] = color[mask]
                boxes.append((kind, *box))
                break
    return pixels.clip(0, 255).astype(np.uint8), np.array(boxes, np.float32)


def write_records(path, count, seed):
    """Write `count` pictures as PATH.rec and PATH.idx, as ImageDetIter reads them."""
    rng, part = np.random.default_rng(seed), f"{path}.part"
    record = mx.recordio.MXIndexedRecordIO(f"{part}.idx", f"{part}.rec", "w")
    try:
        for number in tqdm(range(count), f"{Path(path).name}.rec", unit=" pictures", disable=None):
            pixels, boxes = picture(rng)
            label = np.concatenate([[2, 5], boxes.ravel()]).astype(np.float32)
            header = mx.recordio.IRHeader(0, label, number, 0)
            packed = mx.recordio.pack_img(header, pixels[:, :, ::-1], quality=92, img_fmt=".jpg")
            record.write_idx(number, packed)
    finally:
        record.close()
    for ending in ("idx", "rec"):
        os.replace(f"{part}.{ending}", f"{path}.{ending}")


def iterators(args):
    """Iterators of training and validation; records that are not named are drawn into --out."""
    paths = [args.data_train, args.data_val]
    if args.data_train is None:
        folder = Path(args.out)
        paths = [str(folder / f"shapes_{part}.rec") for part in ("train", "val")]
        for path, count, seed in zip(paths, (args.pictures, args.pictures // 4), (1, 2)):
            if not Path(path).is_file():
                write_records(path[: -len(".rec")], count, seed)
    shape = (3, args.data_shape, args.data_shape)
    common = {"batch_size": args.batch_size, "data_shape": shape, "mean": True, "std": True}
    train = mx.image.ImageDetIter(
        path_imgrec=paths[0],
        path_imgidx=f"{paths[0][: -len('.rec')]}.idx",
        shuffle=True,
        rand_crop=args.rand_crop,
        rand_pad=args.rand_pad,
        rand_mirror=True,
        brightness=0.2,
        contrast=0.2,
        saturation=0.2,
        min_object_covered=0.7,
        **common,
    )
    val = None
    if paths[1] is not None:
        val = mx.image.ImageDetIter(path_imgrec=paths[1], **common)
        train.sync_label_shape(val)
    return train, val
