"""Where images come from: files of records, list files, lists; each sample by its number."""

import os

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, FormatError, shown
from ..base.files import file_name, opened, read_file
from ..recordio.files import read_index
from ..recordio.framing import RecordFile
from ..recordio.packing import HEADER_SIZE, read_header, unpack


class RecordSource:
    """Images in a file of records.

    Parameters
    ----------
    path : str or path
    index : str or path, optional
        Its index; without one the file's headers are looked through first.
    labels : dict, optional
        Number of an image to its label, instead of the labels in the records.
    skipped : callable, optional
        Called with the error of each damaged record that is found without an index.
    """

    def __init__(self, path, index=None, labels=None, skipped=None):
        self.file = RecordFile(path)
        if index is None:
            self.offsets = np.fromiter(self.file.offsets(skipped), np.int64)
        else:
            self.offsets = np.fromiter(read_index(index).values(), np.int64)
        self.labels = labels

    def __len__(self):
        return len(self.offsets)

    def name(self, number):
        return f"{shown(self.file.name)}, record at offset {self.offsets[number]}"

    def sample(self, number):
        """(label, bytes of the image)."""
        return self.numbered(number)[1:]

    def numbered(self, number):
        """(number that the record says, label, bytes of the image)."""
        header, content = unpack(self.file.read_at(int(self.offsets[number]))[0])
        return header.id, self._label(header, number), content

    def _label(self, header, number):
        if self.labels is None:
            return header.label
        try:
            return self.labels[header.id]
        except KeyError:
            raise FormatError(
                f"{self.name(number)}: the list has no image with number {header.id}"
            ) from None

    def label(self, number):
        return self.sample(number)[0]

    def label_size(self, number):
        """How many numbers a label has, from its record's header."""
        beginning = self.file.beginning(int(self.offsets[number]), HEADER_SIZE)
        header = read_header(*beginning)
        if self.labels is None:
            return max(header.flag, 1)
        return len(self._label(header, number))


class FileSource:
    """Images in files.

    Parameters
    ----------
    entries : list of (label, path)
    root : str or path, optional
    """

    def __init__(self, entries, root=None):
        self.entries = entries
        self.root = "" if root is None else file_name(root, "path_root: a folder")

    def __len__(self):
        return len(self.entries)

    def path(self, number):
        return os.path.join(self.root, self.entries[number][1])

    def name(self, number):
        return shown(self.path(number))

    def sample(self, number):
        """(label, bytes of the image)."""
        return self.entries[number][0], read_file(self.path(number))

    def label(self, number):
        return self.entries[number][0]


def read_list(path):
    """Dict of a list file: number of an image to (label, path), from lines of number, labels and
    path with tabs between.

    Raises
    ------
    FormatError
        When a line is none; the message names file and line.
    """
    found = {}
    with opened(path) as file:
        for line_number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                first, *numbers, name = line.decode().strip().split("\t")
                label = np.array([float(each) for each in numbers], np.float32)
                if not len(label):
                    raise FormatError("it has no label")
                found[int(float(first))] = label, name
            except (ValueError, OverflowError) as error:
                raise FormatError(
                    f"{shown(os.fspath(path))}, line {line_number}: a line has number, labels and"
                    f" path with tabs between: {error}"
                ) from None
    return found


def listed(imglist):
    """Entries (label, path) of a list [label or labels, path] in memory."""
    entries = []
    for each in imglist:
        if len(each) < 2 or not isinstance(each[-1], (str, os.PathLike)):
            raise ArgumentTypeError(f"imglist has items [label, path], got {shown(each)}")
        label = each[0] if len(each) == 2 else each[:-1]
        entries.append((np.array(label, np.float32).reshape(-1), os.fspath(each[-1])))
    return entries


def part(count, part_index, num_parts):
    """The range of samples of one of several parts of the same size; what is left over belongs to
    none."""
    if num_parts < 1 or not 0 <= part_index < num_parts:
        raise ArgumentError(f"part_index is from 0 to num_parts - 1, got {part_index}, {num_parts}")
    each = count // num_parts
    return range(part_index * each, (part_index + 1) * each)
