"""The command line of `cynet.launch`; see options.py."""

import sys

from ..base.errors import CynetError
from .options import read
from .outputs import say
from .run import run


def main(arguments):
    """Run the launcher's command line; return the exit code."""
    try:
        return run(*read(arguments))
    except CynetError as error:
        say(error)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
