"""The command line of `cynet.launch`; see options.py."""

import sys

from ..base.errors import CynetError
from .options import parse_arguments
from .outputs import print_message
from .run import run


def main(arguments):
    """Run the launcher's command line; return the exit code."""
    try:
        return run(*parse_arguments(arguments))
    except CynetError as error:
        print_message(error)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
