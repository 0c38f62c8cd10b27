"""The format of record files: framing of a record, and reading at an offset or in sequence.

A record is the word MAGIC, a word whose upper 3 bits say which part it is (0 whole, 1 first, 2 in
between, 3 last) and whose lower 29 are the number of bytes, those bytes, and zeros up to a multiple
of 4. MAGIC at such a multiple inside of the data is where a record is cut into parts; it is left
out there.
"""

import os
import struct

from ..base.errors import ArgumentError, BoundsError, FormatError, StateError, file_error, shown
from ..base.files import file_name, open_for_reading

MAGIC = 0xCED7230A  # first 4 bytes of each part of a record
_MAGIC_BYTES = struct.pack("<I", MAGIC)  # MAGIC as it is in files
_MAX_PART_BYTES = (1 << 29) - 1  # bytes of a part
_WHOLE_PART, _FIRST_PART, _MIDDLE_PART, _LAST_PART = range(4)  # kinds of parts
_HEADER_STRUCT = struct.Struct("<II")  # header of a part: MAGIC; kind and length
_READ_AHEAD_BYTES = 1 << 18  # read at once when records are read in sequence
# larger records are read alone: with read-ahead much would be read twice
_LARGE_RECORD_BYTES = _READ_AHEAD_BYTES // 4  # nothing is read ahead of such a one
_PADDING_BY_REMAINDER = (b"", b"\0\0\0", b"\0\0", b"\0")  # to a multiple of 4 bytes


def frame_record(data):
    """Return the chunks of bytes that represent a record in a file.

    >>> b"".join(frame_record(b"abcde")).hex()
    '0a23d7ce050000006162636465000000'
    """
    if len(data) > _MAX_PART_BYTES:
        raise ArgumentError(f"a record has at most {_MAX_PART_BYTES} bytes, got {len(data)}")
    start, at, chunks = 0, data.find(_MAGIC_BYTES), []
    while at >= 0:
        if at % 4:
            at = data.find(_MAGIC_BYTES, at + 1)
            continue
        chunks += (
            _HEADER_STRUCT.pack(
                MAGIC, (_MIDDLE_PART if start else _FIRST_PART) << 29 | (at - start)
            ),
            data[start:at],
        )
        start = at + 4
        at = data.find(_MAGIC_BYTES, start)
    kind = _LAST_PART if start else _WHOLE_PART
    chunks += _HEADER_STRUCT.pack(MAGIC, kind << 29 | (len(data) - start)), data[start:]
    chunks.append(_PADDING_BY_REMAINDER[len(data) % 4])
    return chunks


class _FileDescriptor:
    """A file descriptor that is closed with its last reference: a thread can go on reading while
    another one closes the file, and never reads from a reused descriptor.
    """

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def __del__(self):
        os.close(self.number)


class RecordFile:
    """A record file that is open for reading.

    Threads may read at offsets at once: nothing that they share is changed. One that reads while
    another one closes the file gets its record, or a StateError.

    path: str or path
    """

    def __init__(self, path):
        self.name = file_name(path)
        with open_for_reading(self.name) as file:  # refuses folders and devices
            if not file.seekable():
                raise FormatError(f"{shown(self.name)}: records are read from files, not pipes")
            self._open = _FileDescriptor(os.dup(file.fileno()))
        self.size = os.fstat(self._open.number).st_size
        self._block = 0, b""
        self._large = False  # whether the last record was large

    def close(self):
        self._open = None

    def _require_descriptor(self):
        descriptor = self._open
        if descriptor is None:
            raise StateError(f"{shown(self.name)} is closed")
        return descriptor

    def _get_bytes(self, offset, size, ahead):
        """Return `size` bytes at an offset, fewer at the end of the file."""
        start, block = self._block
        inside = offset - start
        if inside >= 0 and inside + size <= len(block):
            return block[inside : inside + size]
        descriptor = self._require_descriptor()
        if offset + size > self.size:
            self.size = os.fstat(descriptor.number).st_size  # a writer may have appended records
            size = max(0, min(size, self.size - offset))
        wanted, pieces = max(size, min(ahead, self.size - offset)), []
        try:
            while wanted > 0:
                piece = os.pread(descriptor.number, wanted, offset + sum(map(len, pieces)))
                if not piece:
                    break
                pieces.append(piece)
                wanted -= len(piece)
        except OSError as error:
            raise file_error(error, "read", self.name) from None
        got = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if ahead:
            self._block = offset, got
        return got[:size]

    def _read_header(self, offset, ahead):
        """Read (part kind, byte count) from the header at an offset; None at the file's end."""
        head = self._get_bytes(offset, 8, ahead)
        if not head and offset == self.size:
            return None
        if len(head) < 8:
            raise self._damage_error(offset, f"a header of 8 bytes is cut off after {len(head)}")
        magic, word = _HEADER_STRUCT.unpack(head)
        if magic != MAGIC:
            raise self._damage_error(
                offset, f"a record begins with {MAGIC:#010x}, not {magic:#010x}"
            )
        part, length = word >> 29, word & _MAX_PART_BYTES
        if part > _LAST_PART:
            raise self._damage_error(offset, f"there is no part of kind {part}")
        if offset + 8 + length > self.size:
            self.size = os.fstat(self._require_descriptor().number).st_size
            if offset + 8 + length > self.size:
                left = self.size - offset - 8
                raise self._damage_error(offset, f"{length} bytes are said to follow, {left} do")
        return part, length

    def _damage_error(self, offset, what):
        return FormatError(f"{shown(self.name)}: damaged record at offset {offset}: {what}")

    def _iterate_parts(self, offset, ahead):
        """Yield (offset of the bytes, byte count, offset behind) of each part of a record."""
        at, first = offset, True
        while True:
            head = self._read_header(at, ahead)
            if head is None:
                if first:
                    return
                raise self._damage_error(offset, "its last part is missing")
            part, length = head
            if first != (part in (_WHOLE_PART, _FIRST_PART)):
                raise self._damage_error(at, f"a part of kind {part} cannot stand here")
            behind = at + 8 + (length + 3) // 4 * 4
            yield at + 8, length, min(behind, self.size)
            if part in (_WHOLE_PART, _LAST_PART):
                return
            at, first = behind, False

    def read(self, offset, ahead=_READ_AHEAD_BYTES):
        """Read (record, offset of the next record); (None, offset) at the end of the file.

        offset: int
        ahead (int): How many bytes to read at once; 0 where the next record will be another one.

        Raises FormatError when there is no whole record at the offset.
        """
        pieces, behind = [], offset
        ahead = 0 if self._large else ahead
        for at, length, behind in self._iterate_parts(offset, ahead):  # noqa: B007
            self._large = length > _LARGE_RECORD_BYTES
            piece = self._get_bytes(at, length, 0 if self._large else ahead)
            if len(piece) < length:
                raise self._damage_error(
                    offset, f"the file ends after {len(piece)} of {length} bytes"
                )
            pieces.append(piece)
        if not pieces:
            return None, offset
        return pieces[0] if len(pieces) == 1 else _MAGIC_BYTES.join(pieces), behind

    def read_at(self, offset):
        """Read (record, offset of the next record) at an offset from an index.

        Raises BoundsError when the offset is past the end of the file. Raises FormatError.
        """
        found = self.read(offset, 0) if 0 <= offset <= self.size else (None, offset)
        if found[0] is None:
            raise BoundsError(
                f"{shown(self.name)} has no record at offset {offset}: it has {self.size} bytes"
            )
        return found

    def read_beginning(self, offset, size):
        """Return (at most the first `size` bytes, length) of the record at an offset."""
        part, length = self._read_header(offset, 0) or (None, 0)
        if part == _WHOLE_PART:
            return self._get_bytes(offset + 8, min(size, length), 0), length
        record = self.read_at(offset)[0]
        return record[:size], len(record)

    def next_record_offset(self, offset):
        """Return the next offset behind `offset` that looks like a record, or the file's size."""
        at = offset + 4 - offset % 4
        while at < self.size:
            block = self._get_bytes(at, min(_READ_AHEAD_BYTES, self.size - at), _READ_AHEAD_BYTES)
            if not block:
                break
            inside = block.find(_MAGIC_BYTES)
            while inside >= 0 and (at + inside) % 4:
                inside = block.find(_MAGIC_BYTES, inside + 1)
            if inside < 0:
                at += max(len(block) - 3, 4) // 4 * 4
                continue
            try:
                if self._read_header(at + inside, _READ_AHEAD_BYTES)[0] in (
                    _WHOLE_PART,
                    _FIRST_PART,
                ):
                    return at + inside
            except FormatError:
                pass  # a magic number by chance, or more damage
            at += inside + 4
        return self.size

    def record_offsets(self, skip=None):
        """Yield the offset of each record, found by the headers alone.

        skip (callable, optional): Called with each FormatError; without it the first one is raised.
        """
        at = 0
        while True:
            behind = None
            try:
                for _, _, behind in self._iterate_parts(at, 0):  # noqa: B007
                    pass
            except FormatError as error:
                if skip is None:
                    raise
                skip(error)
                at = self.next_record_offset(at)
                continue
            if behind is None:
                return
            yield at
            at = behind
