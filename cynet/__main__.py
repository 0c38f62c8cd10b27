"""``python -m cynet script.py args``: run a script written for MXNet; without one: a description.

``python -m cynet -m package.module args`` runs a module. ``import mxnet`` finds cynet there, and
NumPy has the names of MXNet's time (``np.int``); see base/as_mxnet.py.
"""

import os
import runpy
import sys

from .base.as_mxnet import install_as_mxnet

_USAGE = "usage: python -m cynet [script.py | -m module] [arguments of the script]"


def main(arguments):
    """Run what the command line names; the exit status."""
    if not arguments:
        from .runtime import describe

        print(describe())
        return 0
    if arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print(_USAGE)
        return 0 if arguments[0] != "-m" else 2
    if arguments[0] == "-m":
        install_as_mxnet()
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    script = arguments[0]
    if not os.path.isfile(script):
        print(f"python -m cynet: there is no script {script}\n{_USAGE}", file=sys.stderr)
        return 2
    install_as_mxnet()
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
