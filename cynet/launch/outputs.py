"""Forwards the output of a job's processes: with the rank before each line, and to files."""

import os
import re
import sys
import threading

from ..base.errors import file_error

_RANK_TAG_PATTERN = re.compile(rb"^\[(?:\d+,)?(\d+)\](?:<std(?:out|err)>)?: ?|^\[(\d+)\] ")
# a line that Open MPI prints when a rank dies; the ranks report the reason
_OPEN_MPI_NOISE = b"NBC_Progress: an error "


class OutputForwarder:
    """Forwards the lines that the launcher's processes print.

    prefix (bool): Show the number of the rank: ``[1] line``.
    folder (str or None): Each rank's lines are also written there, to ``rank-1.log``.
    """

    def __init__(self, prefix, folder):
        self._prefix, self._folder = prefix, folder
        self._files, self._lock = {}, threading.Lock()
        if folder is not None:
            try:
                os.makedirs(folder, exist_ok=True)
            except OSError as error:
                raise file_error(error, "make", folder) from None

    def follow_pipe(self, pipe, target):
        """Start a thread that copies a pipe's output to `target`."""
        thread = threading.Thread(target=self._forward_output, args=(pipe, target), daemon=True)
        thread.start()
        return thread

    def _forward_output(self, pipe, target):
        rank, skips = None, False
        for line in pipe:
            found = _RANK_TAG_PATTERN.match(line)
            if found is not None:
                rank = int(found[1] or found[2])
                line = line[found.end() :]
            was_noise, skips = skips, line.startswith(_OPEN_MPI_NOISE)
            if skips or (was_noise and not line.strip()):
                continue
            if rank is not None and self._folder is not None:
                self._output_file(rank).write(line)
            if rank is not None and self._prefix:
                line = b"[%d] " % rank + line
            with self._lock:
                target.buffer.write(line)
                target.flush()

    def _output_file(self, rank):
        with self._lock:
            if rank not in self._files:
                path = os.path.join(self._folder, f"rank-{rank}.log")
                self._files[rank] = open(path, "ab", 0)  # noqa: SIM115
            return self._files[rank]

    def close(self):
        """Close the files."""
        for each in self._files.values():
            each.close()


def print_message(text):
    """Print a message of the launcher itself."""
    print(f"cynet.launch: {text}", file=sys.stderr, flush=True)
