"""``python -m cynet.launch._rank script.py``: the program that each process of a job runs.

It runs ``python script.py``, reports a failure of the script to the other ranks, and then exits
with the script's own code, where MPI_Finalize would wait for ranks that have ended.
"""

import os
import runpy
import sys

from ..base.errors import describe_error
from ..distributed import is_joined, shutdown
from ..distributed.launched import report_early_end


def main(arguments):
    """Run a script, or ``-m`` and a module, as the program of this process."""
    script = arguments[0]
    if hasattr(sys.stderr, "reconfigure"):  # Python writes a traceback in pieces, and
        # MPICH's launcher puts the rank before each piece
        sys.stderr.reconfigure(line_buffering=True, write_through=False)
    try:
        if script == "-m":
            sys.argv = arguments[1:]
            sys.path[0] = os.getcwd()
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            sys.path[0] = os.path.dirname(os.path.abspath(script))
            runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        code = stop.code
        _report_script_end(code if isinstance(code, int) else int(code is not None), "sys.exit")
        raise
    except BaseException as error:
        # the program's frames begin below the frames of this file and of runpy
        trace = error.__traceback__
        while trace.tb_next is not None and _is_launcher_file(trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        _report_script_end(1, describe_error(error))
        sys.exit(1)
    else:
        _report_script_end(0, "its end")


def _report_script_end(code, how):
    """Report to the ranks that wait for this one that the script has ended."""
    shutdown.set_exit_code(code)
    if not is_joined():
        report_early_end(code, how)


def _is_launcher_file(file):
    return file == __file__ or "runpy" in file


if __name__ == "__main__":
    main(sys.argv[1:])
