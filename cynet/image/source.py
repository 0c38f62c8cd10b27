"""Sources of images: record files, list files, lists; samples are read by index."""

import os

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, FormatError, StateError, shown
from ..base.files import file_name, naming, open_for_reading, read_file
from ..recordio.files import read_index
from ..recordio.framing import RecordFile
from ..recordio.packing import HEADER_SIZE, read_header, unpack


def record_files(path):
    """Return the record files of a path: one file, several separated by ``;``, or all files of a
    folder sorted by name.

    Raises FormatError when a folder has none.
    """
    name = file_name(path, "a file of records").removeprefix("file://")
    parts = [name] if os.path.exists(name) else [each for each in name.split(";") if each]
    found = []
    for each in parts or [name]:
        if not os.path.isdir(each):
            found.append(each)
            continue
        with naming("read", each):
            inside = sorted(os.path.join(each, n) for n in os.listdir(each) if n.endswith(".rec"))
        if not inside:
            raise FormatError(f"{shown(each)} is a folder without files *.rec")
        found += inside
    return found


class RecordSource:  # images and labels in record files
    """Images in record files.

    path (str or path): See :func:`record_files`.
    index (str or path, optional): The index of a single file; without one the headers are looked
        through first.
    labels (dict, optional): Number of an image to its label, instead of the labels in the records.
    skipped (callable, optional): Called with the error of each damaged record that is found without
        an index.
    """

    def __init__(self, path, index=None, labels=None, skipped=None):
        self.path = path
        self._files = [RecordFile(name) for name in record_files(path)]
        self.keys = None  # keys of the index
        if index is None:
            found = [np.fromiter(file.record_offsets(skipped), np.int64) for file in self._files]
        elif len(self._files) == 1:
            read = read_index(index)
            self.keys, found = list(read), [np.fromiter(read.values(), np.int64)]
        else:
            raise ArgumentError(
                f"one index, {shown(index)}, for {len(self._files)} files of records"
            )
        self._offsets = np.concatenate(found)
        self._ends = np.cumsum([len(each) for each in found])  # end index of each file's samples
        self.labels = labels

    def __len__(self):
        return len(self._offsets)

    def single_file(self):
        """Return the name of the record file; refuse several files."""
        if len(self._files) > 1:
            raise StateError(f"{shown(self.path)} are {len(self._files)} files of records, not one")
        return self._files[0].name

    def _sample_position(self, index):
        """Return (file, offset) of a sample."""
        file = self._files[int(np.searchsorted(self._ends, index, side="right"))]
        return file, int(self._offsets[index])

    def name(self, index):
        file, offset = self._sample_position(index)
        return f"{shown(file.name)}, record at offset {offset}"

    def sample(self, index):
        """Return (label, bytes of the image)."""
        return self.sample_with_id(index)[1:]

    def sample_with_id(self, index):
        """Return (id in the record's header, label, bytes of the image)."""
        file, offset = self._sample_position(index)
        header, content = unpack(file.read_at(offset)[0])
        return header.id, self._sample_label(header, index), content

    def _sample_label(self, header, index):
        if self.labels is None:
            return header.label
        try:
            return self.labels[header.id]
        except KeyError:
            raise FormatError(
                f"{self.name(index)}: the list has no image with number {header.id}"
            ) from None

    def label(self, index):
        return self.sample(index)[0]

    def label_size(self, index):
        """Return the length of a label, from its record's header."""
        file, offset = self._sample_position(index)
        beginning = file.read_beginning(offset, HEADER_SIZE)
        header = read_header(*beginning)
        if self.labels is None:
            return max(header.flag, 1)
        return len(self._sample_label(header, index))


class FileSource:  # images in separate files, with labels
    """Images in separate files.

    entries: list of (label, path)
    root: str or path, optional
    """

    def __init__(self, entries, root=None):
        self.entries = entries
        # an empty root leaves names unchanged, as in os.path.join
        self.root = "" if root is None or root == "" else file_name(root, "path_root: a folder")

    def __len__(self):
        return len(self.entries)

    def path(self, index):
        return os.path.join(self.root, self.entries[index][1])

    def name(self, index):
        return shown(self.path(index))

    def sample(self, index):
        """Return (label, bytes of the image)."""
        return self.entries[index][0], read_file(self.path(index))

    def label(self, index):
        return self.entries[index][0]


def read_list_file(path):
    """Read a list file into a dict of image id to (label, path); its lines are id, labels and path,
    separated by tabs.

    Raises FormatError for any other line; the message names file and line.
    """
    found = {}
    with open_for_reading(path) as file:
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


def parse_image_list(imglist):
    """Return entries (label, path) of a list of [label or labels, path] in memory."""
    entries = []
    for each in imglist:
        if len(each) < 2 or not isinstance(each[-1], (str, os.PathLike)):
            raise ArgumentTypeError(f"imglist has items [label, path], got {shown(each)}")
        label = each[0] if len(each) == 2 else each[:-1]
        entries.append((np.array(label, np.float32).reshape(-1), os.fspath(each[-1])))
    return entries


def part_range(count, part_index, num_parts):
    """Return the sample range of one of several equal parts; drop a remainder."""
    if num_parts < 1 or not 0 <= part_index < num_parts:
        raise ArgumentError(f"part_index is from 0 to num_parts - 1, got {part_index}, {num_parts}")
    each = count // num_parts
    return range(part_index * each, (part_index + 1) * each)
