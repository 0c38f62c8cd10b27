"""Runs scripts as ``python script arguments`` does, each in a process of its own.

The process is forked from one that has imported cynet: of a short run in a fresh interpreter most
is spent on imports. Where the interpreter itself is looked at, tests start one.
"""

import atexit
import multiprocessing
import os
import random
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
import zlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FORKED = multiprocessing.get_context("forkserver")
# Most of the examples draw a plot: matplotlib takes 0.4 s to import, half of a short run.
_FORKED.set_forkserver_preload(
    ["numpy", "cynet", "cynet.gluon", "cynet.image", "cynet.recordio", "matplotlib.pyplot"]
)


def _child(run, name, arguments, cwd, environ, output):
    """The script, `run` by runpy, in the forked process; its outputs go to two files."""
    import numpy as np

    for number, path in enumerate(output, 1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    # as text of a file: lines of both outputs stay in order among themselves
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(cwd)
    sys.argv = [name, *arguments]
    # without folders of other programs, which earlier tests may have put first
    own = [path for path in sys.path if not path.startswith(f"{ROOT}{os.sep}") or "site-" in path]
    first = os.path.dirname(name) if run == "run_path" else cwd
    sys.path[:] = [first, *environ["PYTHONPATH"].split(os.pathsep), *own]
    others = [folder for folder in environ["PYTHONPATH"].split(os.pathsep) if folder != str(ROOT)]
    hidden = {path.stem for folder in others for path in Path(folder).glob("*.py")}
    for each in [name for name in sys.modules if name.partition(".")[0] in hidden]:
        del sys.modules[each]  # imported before the fork; a test has put another in its place
    seed = zlib.crc32(" ".join([os.path.basename(name), *arguments]).encode())
    random.seed(seed)  # a program that draws no seed has one accuracy, which a test may ask for
    np.random.seed(seed)
    status = 1
    try:
        if run == "run_path":
            runpy.run_path(name, run_name="__main__")
        else:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    threading._shutdown()  # joins threads, those of pools, too
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def run(script, *arguments, cwd=None, timeout=280, **environment):
    """Run a script, a path, or a module, a name as ``"cynet.tools.convert"``.

    Parameters
    ----------
    script : path or str
    arguments : objects
        Given as text.
    cwd : path, optional
        Where it runs.
    timeout : float
        Seconds, after which it is killed and a ``TimeoutExpired`` raised.
    environment : str
        Variables beside this process's.

    Returns
    -------
    subprocess.CompletedProcess
        With ``stdout`` and ``stderr`` as text.
    """
    how, name = ("run_path", str(script)) if os.sep in str(script) else ("run_module", script)
    arguments = [str(each) for each in arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    with tempfile.TemporaryDirectory() as folder:
        output = [os.path.join(folder, kind) for kind in ("out", "err")]
        task = (how, name, arguments, str(cwd or os.getcwd()), environ, output)
        process = _FORKED.Process(target=_child, args=task)
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired([name, *arguments], timeout)
        texts = [Path(path).read_text() if os.path.exists(path) else "" for path in output]
    return subprocess.CompletedProcess([name, *arguments], process.exitcode, *texts)
