"""``python -m cynet script.py args``: run a script written for MXNet; without it: a description.

``python -m cynet -m package.module args`` runs a module. ``import mxnet`` finds cynet there, and
NumPy has the names of MXNet's time (``np.int``); see base/as_mxnet.py.
"""

import importlib
import os
import runpy
import sys

from .base import config
from .base.as_mxnet import install_as_mxnet
from .libinfo import __version__, missing_names, replacement_for

_USAGE = """usage: python -m cynet [script.py | -m module] [arguments of the script]
       python -m cynet --check script.py folder ...

Without arguments: describes this build and machine. With a script or a module: runs it, with
`import mxnet` finding cynet.

  --check FILES   say what scripts use that cynet does not have, without running them
  --missing       list the names of MXNet 1.9.1 that cynet does not have
  --settings      list the environment variables that cynet reads
  --version       print the version
  --help          print this text

Tools: python -m cynet.tools"""


_COMMANDS = {  # command -> (module, help text)
    "run": ("", "a script written for MXNet: run script.py, run -m module"),
    "check": ("", "what scripts use that cynet does not have, without running them"),
    "info": ("", "this build and machine"),
    "serve": ("tools.serve", "a network over HTTP"),
    "launch": ("launch.__main__", "a script in several processes or on several machines"),
    "convert": ("tools.convert", "files of weights and of optimizer states"),
    "im2rec": ("tools.im2rec", "a folder of images to record files"),
    "rec": ("tools.rec", "look into record files"),
}


def command(arguments=None):
    """Run the program ``cynet``, whose first argument names a command; returns the exit status."""
    word, *others = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if word in ("-h", "--help"):
        print("usage: cynet COMMAND [arguments]; cynet COMMAND --help\n")
        for name, (_, what) in _COMMANDS.items():
            print(f"  {name:10}{what}")
        return 0
    if word in ("-V", "--version"):
        return main([word])
    if word not in _COMMANDS:
        print(f"cynet: there is no command {word}, only {', '.join(_COMMANDS)}", file=sys.stderr)
        return 2
    module, _ = _COMMANDS[word]
    if module:
        return importlib.import_module(f"{__package__}.{module}").main(others)
    if word == "run":
        return main(others or ["--help"])
    return main(["--check", *others] if word == "check" else [])


def print_missing_names():
    for path, names in sorted(missing_names().items()):
        for name in sorted(names):
            note = replacement_for(name)
            print(f"{path}.{name}" + (f": {note}" if note else ""))


def print_settings():
    for setting in config.settings():
        print(f"{setting.name} (default: {setting.default})\n    {setting.doc}")


def main(arguments):
    """Run the command that the command line names; return the exit status."""
    if not arguments:
        from .runtime import describe

        print(describe())
        return 0
    first, *others = arguments
    if first in ("-h", "--help") or arguments == ["-m"]:
        print(_USAGE)
        return 0 if first != "-m" else 2
    if first in ("-V", "--version"):
        print(f"cynet {__version__}")
        return 0
    if first == "--check":
        from .tools.check import main as check

        return check(others)
    if first == "--missing":
        print_missing_names()
        return 0
    if first == "--settings":
        print_settings()
        return 0
    if arguments[0] == "-m":
        install_as_mxnet()
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    script = first
    if script.startswith("-") and not os.path.isfile(script):
        print(f"python -m cynet: unknown option {script}\n{_USAGE}", file=sys.stderr)
        return 2
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
