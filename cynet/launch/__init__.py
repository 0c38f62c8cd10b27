"""``python -m cynet.launch -n 4 script.py``: one script in several processes, over MPI."""

from .command import Job, command_line

__all__ = ["Job", "command_line"]
