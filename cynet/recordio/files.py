"""MXRecordIO and MXIndexedRecordIO: record files without and with an index."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    NotFoundError,
    StateError,
    shown,
)
from ..base.files import NewFile, file_name, naming, open_for_reading
from ..base.guard import guarded
from ..base.interrupts import delay_interrupts
from ..base.overrides import is_internal, overridden_methods
from .framing import RecordFile, frame_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import FileName


_open_files: weakref.WeakSet[MXRecordIO] = weakref.WeakSet()  # all files that may be open


@atexit.register
def _close_open_files():
    """Close open files at exit; after an exception, unfinished files are discarded."""
    failed = getattr(sys, "last_value", None) is not None and not hasattr(sys, "ps1")
    for each in list(_open_files):
        if each.is_open and each.writable and failed:
            each._discard_files()
        each.close()


@guarded
class MXRecordIO:
    """Reads or writes the records of a file, one after another.

    What is written takes the place of an old file when it is closed, whole: until then the old one
    stays as it is, and whatever ends the program before, or fails to be written, leaves it. As a
    context, ``with MXRecordIO(...) as record:``, it is closed at the end, and an exception leaves
    the old file. An object that nobody closes is closed when it goes, unless an exception has ended
    the program.

    Threads may share it: each record is read once, or written whole. An object that went into
    another process (by fork) must be ``reset`` there before it is used; one that was pickled is
    opened anew, and reads from the beginning.

    Parameters
    ----------
    uri : str or path
        The file of records.
    flag : str
        ``'r'`` to read the file, ``'w'`` to write a new one.
    skip_damaged : bool
        Skip damaged records, and count them in ``skipped``, instead of raising an error.

    Raises
    ------
    FileError
        When it cannot be opened; also the OSError of its kind.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.rec")
    >>> record = MXRecordIO(path, "w")
    >>> record.write(b"first")
    >>> record.write(b"second")
    >>> record.close()
    >>> record = MXRecordIO(path, "r")
    >>> record.read(), record.read(), record.read()
    (b'first', b'second', None)
    """

    def __init__(self, uri: FileName, flag: str, skip_damaged: bool = False) -> None:
        self.uri = file_name(uri, "the name of a file of records")
        if flag not in ("r", "w"):
            raise ArgumentError(f"flag is 'r' or 'w', got {shown(flag)}")
        self.flag = flag
        self.skip_damaged = skip_damaged
        self.skipped = 0
        self.is_open = False
        # new files of a writer: the records, and a subclass's index
        self._new_files: list[NewFile] = []
        _open_files.add(self)
        self.open()

    def open(self) -> None:
        """Open the file at its beginning; a new file is begun for writing.

        Raises
        ------
        FileError
            If it cannot be opened; also the OSError of its kind.

        Examples
        --------
        >>> record = mx.recordio.MXRecordIO("two.rec", "w")
        >>> record.write(b"lost")
        >>> record.open()
        >>> record.write(b"kept")
        >>> record.close()
        >>> mx.recordio.MXRecordIO("two.rec", "r").read()
        b'kept'
        """
        if self.is_open and self.writable:
            self._discard_files()
        self.close()
        self.writable = self.flag == "w"
        self._failed = False
        if self.writable:
            # Unbuffered: a forked process would write a buffer a second time.
            self._new_files = [NewFile(self.uri, buffering=0)]
        else:
            self._file = RecordFile(self.uri)
        self._at = 0
        self.skipped = 0
        # A new lock: after a fork, the thread that held the old one may exist only in the parent.
        self._lock = threading.RLock()
        self.pid = os.getpid()
        self.is_open = True

    def close(self) -> None:
        """Close the file; a written file is now complete, and replaces the old one.

        Where a write has failed the old file stays.
        """
        if not self.is_open:
            return
        # in a forked process the lock may be held by a thread of the parent
        with self._lock if self.pid == os.getpid() else nullcontext():
            if not self.is_open:  # another thread has opened the file
                return
            if not self.writable:
                self.is_open, self.pid = False, None
                self._file.close()
            elif self._failed or self.pid != os.getpid():
                self._discard_files()
            else:
                try:
                    for each in self._new_files:
                        each.flush_to_disk()
                    with delay_interrupts():
                        self._publish_files()
                finally:
                    self._discard_files()

    def _publish_files(self):
        """Move new, complete files to their final names."""
        for each in self._new_files:
            each.replace_old()

    def _discard_files(self):
        """End writing; delete unfinished files if this process has begun them."""
        files, self._new_files = self._new_files, []
        own = self.pid == os.getpid()
        self.is_open, self.pid = False, None
        for each in files:
            if own:
                each.discard()
            else:  # this process is a fork of the writing process
                each.file.close()

    def __enter__(self) -> MXRecordIO:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None and self.is_open and self.writable:
            self._discard_files()
        self.close()

    def __del__(self):
        if getattr(self, "is_open", False):
            self.close()

    def __getstate__(self):
        if self.is_open and self.writable:
            raise StateError(f"{shown(self.uri)} is being written: it cannot be pickled")
        state = dict(self.__dict__)
        for own in ("_file", "pid", "_at", "_new_files", "_lock"):
            state.pop(own, None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._new_files = []
        _open_files.add(self)
        was_open, self.is_open = self.is_open, False
        if was_open:
            self.open()

    def _check_pid(self, allow_reset=False):
        """Check that this process, not its parent, opened the file; `allow_reset` reopens it."""
        if self.is_open and self.pid == os.getpid():
            return
        if allow_reset and self.is_open:
            self.reset()
            return
        why = "was opened by another process: call reset first" if self.is_open else "is closed"
        raise StateError(f"{shown(self.uri)} {why}")

    def _require_open_flag(self, flag):
        if self.flag != flag:
            does = "writes" if self.flag == "w" else "reads"
            raise StateError(f"{shown(self.uri)} is open with flag {self.flag!r}: it only {does}")

    def reset(self) -> None:
        """Move to the beginning; a file that is being written begins anew.

        Examples
        --------
        >>> with mx.recordio.MXRecordIO("two.rec", "w") as record:
        ...     record.write(b"first")
        ...     record.write(b"second")
        >>> record = mx.recordio.MXRecordIO("two.rec", "r")
        >>> record.read(), record.read(), record.read()
        (b'first', b'second', None)
        >>> record.reset()
        >>> record.read()
        b'first'
        """
        if not (is_internal(self.open) and is_internal(self.close)):  # MXNet calls both
            self.close()
        elif self.is_open and not self.writable and self.pid == os.getpid():
            with self._lock:
                self._at = 0
            return
        self.open()

    def write(self, buf: bytes) -> None:
        """Append a record.

        Parameters
        ----------
        buf : bytes
            Contents of the record, at most 512 MB.

        Raises
        ------
        ArgumentTypeError
            `buf` is not bytes.
        """
        self._require_open_flag("w")
        self._check_pid()
        if not isinstance(buf, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError(f"a record is bytes, got {type(buf).__name__}")
        content = b"".join(frame_record(bytes(buf)))
        with self._lock:
            self._check_pid()  # checked again: another thread may have closed the file
            self._write_to_new_file(0, content)
            self._at += len(content)

    def _write_to_new_file(self, which, content):
        """Write bytes to one of the new files."""
        new = self._new_files[which]
        done, self._failed = self._failed, True  # Ctrl-C may leave a part of a record
        with naming("write", new.name):
            rest = memoryview(content)
            while rest:
                rest = rest[new.file.write(rest) :]
        self._failed = done

    def read(self) -> bytes | None:
        """Read the next record, or None at the end.

        Raises
        ------
        FormatError
            If it is damaged: the message has file and offset. The next call tries it again.
        StateError
            If the file is closed, was opened by another process, or is being written.
        """
        self._require_open_flag("r")
        self._check_pid()
        with self._lock:
            while True:
                try:
                    record, self._at = self._file.read(self._at)
                    return record
                except FormatError:
                    if not self.skip_damaged:
                        raise
                    self.skipped += 1
                    self._at = self._file.next_record_offset(self._at)


@guarded
class MXIndexedRecordIO(MXRecordIO):
    """Reads or writes a record file with an index: a line with key and offset for each record.

    Both files are put in their places when both are whole; in between there is no index, never one
    of other records.

    Parameters
    ----------
    idx_path : str or path
        The index.
    uri, flag
        See :class:`MXRecordIO`.
    key_type : callable
        Makes a key from its text.
    skip_damaged : bool
        Skip damaged records in ``read``, and count them in ``skipped``; ``read_idx`` raises an
        error in any case.

    Attributes
    ----------
    keys : list
        The keys, in the order of the index.
    idx : dict
        Offset of each key.

    Raises
    ------
    FormatError
        When a line of the index is none; the message names file and line.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> paths = [os.path.join(folder, name) for name in ("two.idx", "two.rec")]
    >>> record = MXIndexedRecordIO(*paths, "w")
    >>> record.write_idx(3, b"first")
    >>> record.write_idx(7, b"second")
    >>> record.close()
    >>> MXIndexedRecordIO(*paths, "r").read_idx(7)
    b'second'
    """

    def __init__(
        self,
        idx_path: FileName,
        uri: FileName,
        flag: str,
        key_type: Callable[[str], Any] = int,
        skip_damaged: bool = False,
    ) -> None:
        self.idx_path = file_name(idx_path, "the name of an index")
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        # methods that a user overrides: read_idx must call them
        self._of_user = overridden_methods(type(self), ("seek", "read"))
        super().__init__(uri, flag, skip_damaged)

    def open(self) -> None:
        super().open()
        self.idx, self.keys = {}, []
        try:
            if self.writable:
                self._new_files.append(NewFile(self.idx_path, buffering=0))
            else:
                self.idx = read_index(self.idx_path, self.key_type)
                self.keys = list(self.idx)
        except BaseException:
            if self.writable:
                self._discard_files()
            self.close()
            raise

    def _publish_files(self):
        records, index = self._new_files
        if index.is_regular:
            with suppress(FileNotFoundError), naming("write", self.idx_path):
                os.unlink(self.idx_path)
        records.replace_old()
        index.replace_old()

    def seek(self, idx: Any) -> None:
        """Move to the record with this key, for ``read``.

        Parameters
        ----------
        idx : int
            Key of the record.

        Raises
        ------
        NotFoundError
            If the index has no such key; also a KeyError.
        StateError
            If the file is closed or is being written.

        Examples
        --------
        >>> with mx.recordio.MXIndexedRecordIO("two.idx", "two.rec", "w") as record:
        ...     record.write_idx(3, b"first")
        ...     record.write_idx(7, b"second")
        >>> record = mx.recordio.MXIndexedRecordIO("two.idx", "two.rec", "r")
        >>> record.seek(7)
        >>> record.read()
        b'second'
        """
        self._require_open_flag("r")
        self._check_pid(allow_reset=True)
        with self._lock:
            self._at = self._record_offset(idx)

    def tell(self) -> int:
        """Return the byte offset at which the next record is written.

        Raises
        ------
        StateError
            If the file is closed or is being read.

        Examples
        --------
        >>> with mx.recordio.MXIndexedRecordIO("two.idx", "two.rec", "w") as record:
        ...     record.write_idx(0, b"first")
        ...     record.tell()
        16
        """
        self._require_open_flag("w")
        self._check_pid()
        return self._at

    def read_idx(self, idx: Any) -> bytes:
        """Read the record with this key; ``read`` continues behind it. Threads may call it at once.

        Parameters
        ----------
        idx : int
            Key of the record.

        Raises
        ------
        NotFoundError
            When the index has no such key; also a KeyError.
        BoundsError
            When its offset is past the end of the file.
        FormatError
        """
        self._require_open_flag("r")
        self._check_pid(allow_reset=True)
        own = vars(self)
        if self._of_user or "seek" in own or "read" in own:
            with self._lock:
                self.seek(idx)
                return self.read()
        record, behind = self._file.read_at(self._record_offset(idx))  # needs no lock
        with self._lock:
            self._at = behind
        return record

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Append a record with this key.

        Parameters
        ----------
        idx : int
            Key of the record.
        buf : bytes
            Contents of the record.

        Raises
        ------
        ArgumentError
            The key has a tab or an end of line.
        """
        self._require_open_flag("w")
        self._check_pid()
        key = self.key_type(idx)
        text = str(key)
        if "\t" in text or "\n" in text or "\r" in text:
            raise ArgumentError(f"a key must not have tabs or ends of lines, got {shown(text)}")
        with self._lock:
            at = self.tell()  # raises if another thread has closed the file
            self.write(buf)
            self._write_to_new_file(1, f"{text}\t{at}\n".encode())
            self.idx[key] = at
            self.keys.append(key)

    def _record_offset(self, idx):
        try:
            return self.idx[idx]
        except KeyError:
            raise NotFoundError(
                f"{shown(self.idx_path)} has no key {shown(idx)}, but {len(self.idx)} others"
            ) from None


def read_index(path, key_type=int):
    """Read an index file into a dict of key to offset."""
    found = {}
    with open_for_reading(path) as file:
        for number, line in enumerate(file, 1):
            parts = line.strip(b"\r\n").split(b"\t")
            try:
                key, offset = parts[0], int(parts[1])
                if offset < 0:
                    raise FormatError("it is below 0")
                found[key_type(key.decode())] = offset
            except (IndexError, ValueError) as error:
                raise FormatError(
                    f"{shown(os.fspath(path))}, line {number}: expected a key, got "
                    f"{shown(line[:80])}"
                    f" and offset with a tab between ({error})"
                ) from None
    return found
