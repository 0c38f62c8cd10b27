"""Convert files of parameters, and names of PyTorch to those of the model zoo.

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
import re
import sys
from typing import TYPE_CHECKING

from .. import ndarray as nd
from ..base.errors import ArgumentError, CynetError, FormatError, shown
from ..gluon.model_zoo.torch_names import torch_names
from ..optimizer.mxnet_states import convert as unpickled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ndarray import NDArray

_ENDINGS = (".params", ".npz", ".safetensors")
_IGNORED = (".num_batches_tracked",)
_OLDER = (  # old names in torchvision's files, and the present ones
    (re.compile(r"(denselayer\d+\.(?:norm|conv))\.([12])\."), r"\1\2."),
    (re.compile(r"\.mlp\.linear_1\."), ".mlp.0."),
    (re.compile(r"\.mlp\.linear_2\."), ".mlp.3."),
)


def from_torch(network: str, state: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """The arrays of torchvision's state dict under the zoo's structural names.

    Parameters
    ----------
    network : str
        A name of the model zoo.
    state : dict of str to NDArray

    Returns
    -------
    dict of str to NDArray
        What ``net.load_parameters`` takes from a file.

    Raises
    ------
    FormatError
        Names that are missing, or that no parameter has.
    """
    names = torch_names(network)
    state = {_renamed(name): value for name, value in state.items()}
    wanted = set(names.values())
    missing = sorted(wanted - state.keys())
    if missing:
        raise FormatError(
            f"{network}: the state dict lacks {shown(missing[0])} ({len(missing)} in all)"
        )
    extra = sorted(
        k
        for k in state.keys() - wanted
        if not k.endswith(_IGNORED) and not k.startswith("AuxLogits.")
    )
    if extra:
        raise FormatError(f"{network}: no layer takes {shown(extra[0])} ({len(extra)} in all)")
    found = {}
    for theirs, ours in _by_theirs(names).items():
        found.update(zip(ours, _parts(network, theirs, state[theirs], len(ours))))
    return {ours: found[ours] for ours in names}


def _renamed(name):
    for pattern, since in _OLDER:
        name = pattern.sub(since, name)
    return name


def _by_theirs(names):
    """torchvision's names to lists of the zoo's names for them."""
    found: dict[str, list[str]] = {}
    for ours, theirs in names.items():
        found.setdefault(theirs, []).append(ours)
    return found


def _parts(network, name, value, count):
    """Split an array into `count` equal parts along its first axis."""
    if count == 1:
        return [value]
    if not value.ndim or value.shape[0] % count:
        raise FormatError(
            f"{network}: {name} of shape {value.shape} is not {count} arrays of one length"
        )
    size = value.shape[0] // count
    return [value[i * size : (i + 1) * size] for i in range(count)]


def to_torch(network: str, params: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Parameters under the zoo's structural names as torchvision's state dict names them.

    ``num_batches_tracked`` is left out; PyTorch begins it at 0.

    Raises
    ------
    FormatError
        A parameter that is missing.
    """
    names = torch_names(network)
    missing = [name for name in names if name not in params]
    if missing:
        raise FormatError(f"{network}: there is no parameter {shown(missing[0])}")
    return {
        theirs: params[ours[0]] if len(ours) == 1 else nd.concat(*(params[k] for k in ours), dim=0)
        for theirs, ours in _by_theirs(names).items()
    }


def check_ending(name: str) -> None:
    """Refuse a file name without a known extension of a format to write."""
    ending = os.path.splitext(name)[1].lower()
    if ending not in _ENDINGS:
        raise ArgumentError(
            f"{name}: the ending says what is written, {', '.join(_ENDINGS)}; {shown(ending)} is"
            " none of them"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """The program; its exit status."""
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
        check_ending(args.target)
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
