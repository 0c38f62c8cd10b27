"""Datasets of images in a record file, or in a folder with a subfolder per class."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from ....base.errors import (
    ArgumentTypeError,
    CynetError,
    FileError,
    FormatError,
    UndefinedError,
    listed,
    shown,
    warn_user,
    with_message,
)
from ....base.files import file_name, naming
from ....image import imdecode, imread
from ....recordio import unpack
from ..dataset import Dataset
from ..record import RecordFileDataset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....typing import FileName

_DEFAULT_EXTENSIONS = (".jpg", ".jpeg", ".png")  # file name endings of images, as in MXNet


def _is_system_file(name):
    """Return whether an operating system created the file, so that it is skipped silently."""
    name = os.path.basename(name).lower()
    return name.startswith(".") or name in ("thumbs.db", "desktop.ini")


class _UnreadableSkippingDataset:
    """A dataset of images that can skip unreadable images."""

    skip_damaged = False
    skipped = 0

    def _load_sample(self, idx):
        raise UndefinedError(f"{type(self).__name__} defines no _load_sample")

    def _read_sample(self, idx):
        """Return (image, label) at an index, or of the next readable image."""
        if not self.skip_damaged:
            return self._load_sample(idx)
        count = len(self)
        for at in range(idx, idx + count):
            try:
                return self._load_sample(at if at < count else at - count)
            except (FormatError, FileError) as error:
                self.skipped += 1
                logging.getLogger("cynet").warning("left out: %s", error)
        raise FormatError(f"{type(self).__name__}: no image can be read")


class ImageRecordDataset(_UnreadableSkippingDataset, RecordFileDataset):
    """The images and labels of a record file.

    Parameters
    ----------
    filename : str
        ``NAME.rec``; its index is ``NAME.idx``.
    transform : callable, optional
        Called as ``transform(image, label)``; returns the sample.

    Examples
    --------
    >>> with mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w") as writer:
    ...     header = mx.recordio.IRHeader(0, 7, 0, 0)
    ...     image = np.zeros((8, 10, 3), "uint8")
    ...     writer.write_idx(0, mx.recordio.pack_img(header, image, img_fmt=".png"))
    ...
    >>> data = mx.gluon.data.vision.ImageRecordDataset("data.rec")
    >>> image, label = data[0]
    >>> image.shape, label
    ((8, 10, 3), 7.0)
    """

    def __init__(
        self,
        filename: FileName,
        flag: int = 1,
        transform: Callable[..., Any] | None = None,
        skip_damaged: bool = False,
    ) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform
        self.skip_damaged = skip_damaged

    def _load_sample(self, idx):
        header, content = unpack(super().__getitem__(idx))
        try:
            return imdecode(content, self._flag), header.label
        except CynetError as error:
            raise with_message(error, f"record {idx} of {shown(self.filename)}: {error}") from error

    def __getitem__(self, idx: int) -> Any:
        image, label = self._read_sample(idx)
        if self._transform is not None:
            return self._transform(image, label)
        return image, label


class ImageFolderDataset(_UnreadableSkippingDataset, Dataset):
    """The images of a folder whose subfolders are the classes.

    Parameters
    ----------
    root : str
        Folder with one folder for each class, which holds files with the endings `exts`.
    transform : callable, optional
        Called as ``transform(image, label)``; returns the sample.
    exts : sequence of str
        Endings of the files that are images, in any case: ``[".bmp", ".webp"]`` and what else
        OpenCV reads.

    Attributes
    ----------
    synsets : list of str
        Names of the classes, sorted; a label is the place in it.
    items : list of (str, int)
        Path and label of each image.

    Raises
    ------
    MissingFileError
        There is no such folder.
    FormatError
        It has no folders with images.

    Examples
    --------
    >>> from pathlib import Path
    >>> for kind in ("cat", "dog"):
    ...     Path("pets", kind).mkdir(parents=True)
    ...     header, image = mx.recordio.IRHeader(0, 0, 0, 0), np.zeros((8, 10, 3), "uint8")
    ...     packed = mx.recordio.pack_img(header, image, img_fmt=".png")
    ...     _ = Path("pets", kind, "0.png").write_bytes(mx.recordio.unpack(packed)[1])
    >>> data = mx.gluon.data.vision.ImageFolderDataset("pets")
    >>> data.synsets, len(data)
    (['cat', 'dog'], 2)
    >>> image, label = data[1]
    >>> image.shape, label
    ((8, 10, 3), 1)
    """

    def __init__(
        self,
        root: FileName,
        flag: int = 1,
        transform: Callable[..., Any] | None = None,
        skip_damaged: bool = False,
        exts: Sequence[str] = _DEFAULT_EXTENSIONS,
    ) -> None:
        self.skip_damaged = skip_damaged
        self._root = os.path.expanduser(file_name(root, "root: a folder"))
        self._flag = flag
        self._transform = transform
        self._exts = _check_extensions(exts)
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        left_out: list[str] = []
        with naming("read", self._root):
            for folder in sorted(os.listdir(self._root)):
                path = os.path.join(self._root, folder)
                if not os.path.isdir(path):
                    left_out.append(folder)
                    continue
                self._add_image(path, folder, left_out)
                self.synsets.append(folder)
        hidden = [name for name in self.synsets if name.startswith(".")]
        if hidden:
            warn_user(
                f"ImageFolderDataset: in {shown(self._root)} hidden folders are classes, too, with"
                f" labels of their own: {listed(hidden)}; remove what is none"
            )
        left_out = [name for name in left_out if not _is_system_file(name)]
        if left_out:
            warn_user(
                f"ImageFolderDataset: of {shown(self._root)} {len(left_out)} files are left out,"
                f" which are not {', '.join(self._exts)} files in the folder of a class:"
                f" {listed(left_out)}; exts= names other endings"
            )
        if not self.items:
            raise FormatError(
                f"{shown(self._root)} has no folders with {', '.join(self._exts)} files"
            )

    def _add_image(self, path, folder, left_out):
        for name in sorted(os.listdir(path)):
            if os.path.splitext(name)[1].lower() in self._exts:
                self.items.append((os.path.join(path, name), len(self.synsets)))
            else:
                left_out.append(os.path.join(folder, name))

    def _load_sample(self, idx):
        path, label = self.items[idx]
        return imread(path, self._flag), label

    def __getitem__(self, idx: int) -> Any:
        image, label = self._read_sample(idx)
        if self._transform is not None:
            return self._transform(image, label)
        return image, label

    def __len__(self) -> int:
        return len(self.items)


def _check_extensions(exts):
    """Return the file name extensions in lower case; an error if there are none."""
    if isinstance(exts, str) or not all(isinstance(e, str) and e[:1] == "." for e in exts):
        raise ArgumentTypeError(
            f"ImageFolderDataset: exts must be a list of endings, as ['.png', '.bmp'], got "
            f"{shown(exts)}"
        )
    return tuple(each.lower() for each in exts)
