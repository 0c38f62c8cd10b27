"""Programs for files of data: ``python -m cynet.tools.im2rec``, ``python -m cynet.tools.rec``."""
