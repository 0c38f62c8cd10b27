"""mx.gluon.model_zoo.model_store: files of trained weights, on disk or downloaded, by checksum."""

from __future__ import annotations

import os
import tempfile
import zipfile
from typing import TYPE_CHECKING

from ...base.errors import (
    ArgumentError,
    FileError,
    FormatError,
    MissingFileError,
    shown,
    warn_user,
    with_message,
)
from ...base.files import file_name, write_atomically
from ...base.guard import guarded
from .. import utils
from ..block.files import load_arrays, read_arrays
from ..errors import MismatchError

if TYPE_CHECKING:
    from ...typing import FileName
    from ..block import HybridBlock
    from ..parameter.parameter import Contexts

__all__ = ["get_model_file", "purge"]

ROOT = "~/.mxnet/models"  # MXNet's folder for pretrained models
_MAX_FILE_BYTES = 1 << 31  # maximum size of an unpacked file
_model_sha1 = {  # name of the network -> SHA-1 digest of its file
    "alexnet": "44335d1f0046b328243b32a26a4fbd62d9057b45",
    "densenet121": "f27dbf2dbd5ce9a80b102d89c7483342cd33cb31",
    "densenet161": "b6c8a95717e3e761bd88d145f4d0a214aaa515dc",
    "densenet169": "2603f878403c6aa5a71a124c4a3307143d6820e9",
    "densenet201": "1cdbc116bc3a1b65832b18cf53e1cb8e7da017eb",
    "inceptionv3": "ed47ec45a937b656fcc94dabde85495bbef5ba1f",
    "mobilenet0.25": "9f83e440996887baf91a6aff1cccc1c903a64274",
    "mobilenet0.5": "8e9d539cc66aa5efa71c4b6af983b936ab8701c3",
    "mobilenet0.75": "529b2c7f4934e6cb851155b22c96c9ab0a7c4dc2",
    "mobilenet1.0": "6b8c5106c730e8750bcd82ceb75220a3351157cd",
    "mobilenetv2_0.25": "ae8f9392789b04822cbb1d98c27283fc5f8aa0a7",
    "mobilenetv2_0.5": "aabd26cd335379fcb72ae6c8fac45a70eab11785",
    "mobilenetv2_0.75": "e2be7b72a79fe4a750d1dd415afedf01c3ea818d",
    "mobilenetv2_1.0": "36da4ff1867abccd32b29592d79fc753bca5a215",
    "resnet101_v1": "d988c13d6159779e907140a638c56f229634cb02",
    "resnet101_v2": "18e93e4f48947e002547f50eabbcc9c83e516aa6",
    "resnet152_v1": "671c637a14387ab9e2654eafd0d493d86b1c8579",
    "resnet152_v2": "f2695542de38cf7e71ed58f02893d82bb409415e",
    "resnet18_v1": "a0666292f0a30ff61f857b0b66efc0228eb6a54b",
    "resnet18_v2": "a81db45fd7b7a2d12ab97cd88ef0a5ac48b8f657",
    "resnet34_v1": "48216ba99a8b1005d75c0f3a0c422301a0473233",
    "resnet34_v2": "9d6b80bbc35169de6b6edecffdd6047c56fdd322",
    "resnet50_v1": "0aee57f96768c0a2d5b23a6ec91eb08dfb0a45ce",
    "resnet50_v2": "ecdde35339c1aadbec4f547857078e734a76fb49",
    "squeezenet1.0": "264ba4970a0cc87a4f15c96e25246a1307caf523",
    "squeezenet1.1": "33ba0f93753c83d86e1eb397f38a667eaf2e9376",
    "vgg11": "dd221b160977f36a53f464cb54648d227c707a05",
    "vgg11_bn": "ee79a8098a91fbe05b7a973fed2017a6117723a8",
    "vgg13": "6bc5de58a05a5e2e7f493e2d75a580d83efde38c",
    "vgg13_bn": "7d97a06c3c7a1aecc88b6e7385c2b373a249e95e",
    "vgg16": "e660d4569ccb679ec68f1fd3cce07a387252a90a",
    "vgg16_bn": "7f01cf050d357127a73826045c245041b0df7363",
    "vgg19": "ad2f660d101905472b83590b59708b71ea22b2e5",
    "vgg19_bn": "f360b758e856f1074a85abd5fd873ed1d98297c3",
}
# MXNet published no weights for these networks; torchvision's are converted
_CONVERTED_NETWORKS = (  # weights from torchvision
    *(f"efficientnet_b{i}" for i in range(8)),
    *(f"convnext_{size}" for size in ("tiny", "small", "base")),
    *(f"resnet{depth}_v1b" for depth in (50, 101, 152)),
    *(f"vit_{size}" for size in ("s_16", "b_16", "b_32", "l_16")),
)


@guarded
def short_hash(name: str) -> str:
    """Return the eight hexadecimal digits in the name of a model's file.

    Examples
    --------
    >>> short_hash("resnet18_v1")
    'a0666292'
    """
    if name not in _model_sha1:
        raise ArgumentError(f"there are no trained weights of {shown(name)}")
    return _model_sha1[name][:8]


@guarded
def get_model_file(name: str, root: FileName = ROOT) -> str:
    """Return the path of a model's trained weights; download them if necessary.

    Networks that MXNet does not have, ``vit_b_16`` for example, have no address to download from:
    their weights are what you put into the folder as ``NAME.params``, for example those of
    torchvision by ``python -m cynet.tools.convert``.

    Parameters
    ----------
    name : str
        As for ``vision.get_model``.
    root : str
        Folder of ``NAME-HASH.params``, or of ``NAME.params``.

    Raises
    ------
    ArgumentError
        A ValueError: there are no weights of this model.
    FileError
        An OSError: they are neither on disk nor can they be downloaded.
    FormatError
        A ValueError: what was downloaded has another checksum.
    """
    if name in _CONVERTED_NETWORKS:
        return _find_torchvision_file(name, root)
    stem = f"{name}-{short_hash(name)}"
    sha1 = _model_sha1[name]
    folder = os.path.expanduser(file_name(root, "root: a folder"))
    path = os.path.join(folder, f"{stem}.params")
    if os.path.exists(path):
        if utils.check_sha1(path, sha1):
            return path
        warn_user(f"{path} has another checksum than that of {name}; it is downloaded again")
    os.makedirs(folder, exist_ok=True)
    url = utils._get_repo_file_url("gluon/models", f"{stem}.zip")
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        try:
            archive = utils.download(url, os.path.join(temporary, "weights.zip"))
        except FileError as error:
            raise FileError(
                f"{error}; with no network: put the file that this address gives into {folder},"
                f" unpacked, as {stem}.params, or give any file of weights, torchvision's among"
                " them, by pretrained='FILE'"
            ) from None
        write_atomically(path, _read_archive_member(archive, f"{stem}.params", url))
    if not utils.check_sha1(path, sha1):
        os.remove(path)
        raise FormatError(f"{url}: the weights have another checksum than {sha1}")
    return path


def _find_torchvision_file(name, root):
    path = os.path.join(os.path.expanduser(file_name(root, "root: a folder")), f"{name}.params")
    if not os.path.exists(path):
        raise MissingFileError(
            f"there are no trained weights of {name} to download: give a file of them,"
            " torchvision's among them, by pretrained='FILE.safetensors', or put it into"
            f" {path}: python -m cynet.tools.convert FILE.safetensors"
            f" {path} --network {name} --from torch"
        )
    return path


def _read_archive_member(archive, name, url):
    """Read a file of a zip archive."""
    try:
        with zipfile.ZipFile(archive) as file:
            size = file.getinfo(name).file_size
            if size > _MAX_FILE_BYTES:
                raise FormatError(f"{url}: {name} of {size} bytes is larger than any weights")
            return file.read(name)
    except (zipfile.BadZipFile, KeyError) as error:
        raise FormatError(f"{url}: no archive with {name} in it ({error})") from None


@guarded
def purge(root: FileName = ROOT) -> None:
    """Remove all files of weights, ``*.params``, from a folder."""
    folder = os.path.expanduser(file_name(root, "root: a folder"))
    for name in os.listdir(folder):
        if name.endswith(".params"):
            os.remove(os.path.join(folder, name))


def load_pretrained(
    net: HybridBlock, name: str, pretrained: bool | FileName, root: FileName, ctx: Contexts | None
) -> None:
    """Load trained weights into a network: those published for its name, or a file's."""
    if not isinstance(pretrained, (str, os.PathLike)):
        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
        return
    from .torch_state import convert_torch_arrays  # imported late: it imports the networks

    path = os.path.expanduser(file_name(pretrained, f"{name}: pretrained"))
    arrays = convert_torch_arrays(name, net, read_arrays(path), path)
    try:
        load_arrays(net, arrays, path, ctx)
    except MismatchError as error:
        if "output." not in str(error):
            raise
        raise with_message(
            error,
            f"{name}: {error}\nFor other classes than those of the file make the network with"
            " as many as it has, and give net.output another layer then",
        ) from None
