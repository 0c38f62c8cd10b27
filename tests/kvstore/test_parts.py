"""A KVStore as `num_parts` of an iterator: the part of its rank."""

import numpy as np
import pytest

import cynet as mx


class Rank(mx.kv.KVStoreBase):
    """Stands for a store of three ranks."""

    rank, num_workers = 2, 3


def files(folder):
    """Twelve examples for each iterator."""
    with open(folder / "rows.libsvm", "w") as file:
        file.writelines(f"{i} 0:{i}\n" for i in range(12))
    for name, kind, array in (
        ("images", 3, np.arange(12, dtype=np.uint8).reshape(12, 1, 1)),
        ("labels", 1, np.arange(12, dtype=np.uint8)),
    ):
        head = b"\0\0\x08" + bytes([kind]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
        (folder / name).write_bytes(head + array.tobytes())
    record = mx.recordio.MXIndexedRecordIO(f"{folder}/a.idx", f"{folder}/a.rec", "w")
    for i in range(12):
        header = mx.recordio.IRHeader(0, float(i), i, 0)
        image = np.full((4, 4, 3), i, np.uint8)
        record.write_idx(i, mx.recordio.pack_img(header, image, img_fmt=".png"))
    record.close()


def iterator(name, folder, **parts):
    if name == "LibSVMIter":
        return mx.io.LibSVMIter(f"{folder}/rows.libsvm", (1,), batch_size=2, **parts)
    if name == "MNISTIter":
        paths = {"image": f"{folder}/images", "label": f"{folder}/labels"}
        return mx.io.MNISTIter(**paths, batch_size=2, shuffle=False, **parts)
    paths = {"path_imgrec": f"{folder}/a.rec", "path_imgidx": f"{folder}/a.idx"}
    options = {"batch_size": 2, "data_shape": (3, 4, 4), **paths, **parts}
    if name == "ImageIter":
        return mx.image.ImageIter(**options)
    return mx.io.ImageRecordIter(verbose=False, **options)


@pytest.mark.parametrize("name", ["LibSVMIter", "MNISTIter", "ImageIter", "ImageRecordIter"])
def test_the_part_of_the_rank(name, tmp_path):
    files(tmp_path)

    def labels(**parts):
        return [
            float(each)
            for batch in iterator(name, tmp_path, **parts)
            for each in batch.label[0].asnumpy().ravel()
        ]

    assert labels(num_parts=Rank()) == [8, 9, 10, 11]
    assert labels(num_parts=Rank(), part_index=2) == [8, 9, 10, 11]
    assert labels(num_parts=mx.kv.create("dist_sync")) == list(range(12))
    with pytest.raises(mx.errors.ArgumentError, match="part_index is its rank, 2; got 1"):
        labels(num_parts=Rank(), part_index=1)
