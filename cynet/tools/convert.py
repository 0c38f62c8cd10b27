"""Convert parameter files, and PyTorch's parameter names to the model zoo's.

python -m cynet.tools.convert IN OUT             .params, .npz and .safetensors, by the endings
... IN OUT --network resnet18_v1 --from torch    a state dict of torchvision for load_parameters
... IN OUT --network resnet18_v1 --to torch      parameters of the zoo as torchvision's state dict

... --unpickle IN.states OUT.states              optimizer states of MXNet, for Module and KVStore
... --unpickle IN OUT --names weight,bias        for a Trainer: its parameters in MXNet's order

Pickles of PyTorch (.pt, .pth) are not read; save them there as safetensors or with numpy.savez.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from .. import ndarray as nd
from ..base.errors import ArgumentError, CynetError, shown
from ..gluon.model_zoo.torch_state import from_torch, to_torch
from ..optimizer.mxnet_states import convert as unpickled

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXTENSIONS_READ = (".params", ".npz", ".safetensors")  # of input files


def check_extension(name: str) -> None:
    """Refuse a file name whose extension is not a format that can be written."""
    extension = os.path.splitext(name)[1].lower()
    if extension not in _EXTENSIONS_READ:
        raise ArgumentError(
            f"{name}: the ending says what is written, {', '.join(_EXTENSIONS_READ)};"
            f" {shown(extension)} is none of them"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m cynet.tools.convert",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="IN", help="file to read")
    parser.add_argument("target", metavar="OUT", help="file to write; its ending says the format")
    parser.add_argument("--network", help="network of the model zoo, e.g. resnet18_v1")
    parser.add_argument(
        "--from", dest="origin", choices=["torch"], help="the names in IN are those of torchvision"
    )
    parser.add_argument(
        "--to", dest="goal", choices=["torch"], help="write the names of torchvision to OUT"
    )
    parser.add_argument(
        "--unpickle", action="store_true", help="IN are optimizer states as MXNet writes them"
    )
    parser.add_argument(
        "--names",
        type=lambda text: text.split(","),
        metavar="NAME,NAME,...",
        help="names of parameters, in the order of MXNet's Trainer: sorted by their full names",
    )
    args = parser.parse_args(argv)
    if (args.unpickle and args.network) or (args.names and not args.unpickle):
        parser.error("--unpickle goes without --network, and --names with --unpickle")
    if bool(args.network) != bool(args.origin or args.goal) or (args.origin and args.goal):
        parser.error("--network goes with either --from torch or --to torch")
    try:
        if args.unpickle:
            count = unpickled(args.source, args.target, args.names)
            print(f"{args.target}: states of {count} parameters")
            return 0
        check_extension(args.target)
        found = nd.load(args.source)
        if args.network and not isinstance(found, dict):
            raise ArgumentError(f"{args.source}: the arrays have no names")
        if args.origin:
            found = from_torch(args.network, found)
        elif args.goal:
            found = to_torch(args.network, found)
        nd.save(args.target, found)
    except (CynetError, ImportError) as error:
        print(f"convert: {error}", file=sys.stderr)
        return 1
    print(f"{args.target}: {len(found)} arrays")
    return 0


if __name__ == "__main__":
    sys.exit(main())
