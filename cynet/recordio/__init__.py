"""mx.recordio: record files, with or without an index, and images with labels as records."""

from .files import MXIndexedRecordIO, MXRecordIO
from .packing import IRHeader, pack, pack_img, unpack, unpack_img

__all__ = [
    "IRHeader",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "pack",
    "pack_img",
    "unpack",
    "unpack_img",
]
