"""Datasets of images: in a file of records, and in a folder of folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ....base.errors import CynetError, FormatError, reworded, shown, warn_user
from ....base.files import file_name, naming
from ....base.guard import guarded
from ....image import imdecode, imread
from ....recordio import unpack
from ..dataset import Dataset
from ..record import RecordFileDataset

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....base.typing import FileName

_ENDINGS = (".jpg", ".jpeg", ".png")


@guarded(but=("__getitem__", "__len__"))
class ImageRecordDataset(RecordFileDataset):
    """Images and labels of a file of records.

    Parameters
    ----------
    filename : str
        ``NAME.rec``; its index is ``NAME.idx``.
    flag : int
        1: images (H, W, 3) in colors; 0: (H, W, 1) in grey.
    transform : callable, optional
        ``transform(image, label)`` gives the sample.
    """

    def __init__(
        self,
        filename: FileName,
        flag: int = 1,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        header, content = unpack(super().__getitem__(idx))
        try:
            image = imdecode(content, self._flag)
        except CynetError as error:
            raise reworded(error, f"record {idx} of {shown(self.filename)}: {error}") from error
        if self._transform is not None:
            return self._transform(image, header.label)
        return image, header.label


@guarded(but=("__getitem__", "__len__"))
class ImageFolderDataset(Dataset):
    """Images of a folder whose folders are the classes.

    Parameters
    ----------
    root : str
        Has a folder for each class, with its .jpg, .jpeg and .png files.
    flag : int
        1: images (H, W, 3) in colors; 0: (H, W, 1) in grey.
    transform : callable, optional
        ``transform(image, label)`` gives the sample.

    Attributes
    ----------
    synsets : list of str
        Names of the classes, sorted; a label is the place in it.
    items : list of (str, int)
        Path and label of each image.
    """

    def __init__(
        self, root: FileName, flag: int = 1, transform: Callable[..., Any] | None = None
    ) -> None:
        self._root = os.path.expanduser(file_name(root, "root: a folder"))
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        with naming("read", self._root):
            for folder in sorted(os.listdir(self._root)):
                path = os.path.join(self._root, folder)
                if not os.path.isdir(path):
                    warn_user(f"{shown(path)} is left out: it is no folder of a class")
                    continue
                self._add(path, len(self.synsets))
                self.synsets.append(folder)
        if not self.items:
            raise FormatError(
                f"{shown(self._root)} has no folders with {', '.join(_ENDINGS)} files"
            )

    def _add(self, folder, label):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if os.path.splitext(name)[1].lower() in _ENDINGS:
                self.items.append((path, label))
            else:
                warn_user(f"{shown(path)} is left out: it is no {', '.join(_ENDINGS)} file")

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        image = imread(path, self._flag)
        if self._transform is not None:
            return self._transform(image, label)
        return image, label

    def __len__(self) -> int:
        return len(self.items)
