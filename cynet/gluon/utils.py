"""mx.gluon.utils: batches split over contexts, gradients clipped, files downloaded and checked."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from .. import ndarray as nd
from ..autograd.hooks import HookHandle
from ..base import config
from ..base.errors import ArgumentError, ArgumentTypeError, FileError, shown, warn_user
from ..base.files import file_name, open_for_reading, write_atomically
from ..base.guard import guarded
from ..base.np_shape import uses_np_arrays
from ..io.fetch import fetch_bytes
from ..operator.parameters import MAX_ARRAYS
from ..optimizer.clipping import clip_global_norm
from .parameter.contexts import context_list
from .parameter.shapes import shape_is_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import ArrayLike, ContextLike, FileName

__all__ = [
    "HookHandle",
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "shape_is_known",
    "split_and_load",
    "split_data",
]

_REPOSITORY_URL = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"
_CHUNK_BYTES = 1 << 20  # bytes


@guarded
def split_data(
    data: nd.NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True
) -> list[nd.NDArray]:
    """Split an array along an axis.

    Parameters
    ----------
    data : NDArray
        A batch.
    num_slice : int
        Number of parts.
    batch_axis : int
        The axis to split along.
    even_split : bool
        Refuse parts of different sizes; if False, the first parts have one sample more.

    Raises
    ------
    ArgumentError
        `num_slice` is below 1, or with `even_split` does not divide the number of samples.

    Examples
    --------
    >>> [part.shape for part in split_data(mx.nd.zeros((7, 2)), 3, even_split=False)]
    [(3, 2), (2, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if not 1 <= num_slice <= MAX_ARRAYS:
        raise ArgumentError(
            f"split_data: num_slice must be 1 to {MAX_ARRAYS}, got {shown(num_slice)}"
        )
    if even_split and size % num_slice != 0:
        raise ArgumentError(
            f"split_data: {size} samples (axis {batch_axis} of {data.shape}) make no {num_slice}"
            " equal parts; even_split=False makes unequal ones"
        )
    if num_slice == 1:
        return [data]
    each, more = divmod(size, num_slice)
    parts, at = [], 0
    for i in range(num_slice):
        end = at + each + (i < more)
        if batch_axis == 0:
            parts.append(data[at:end])
        else:
            parts.append(nd.slice_axis(data, axis=batch_axis, begin=at, end=end))
        at = end
    return parts


@guarded
def split_and_load(
    data: ArrayLike, ctx_list: Sequence[ContextLike], batch_axis: int = 0, even_split: bool = True
) -> list[nd.NDArray]:
    """Split an array along an axis, and copy each part to its context.

    Parameters
    ----------
    data : NDArray or array_like
        A batch.
    ctx_list : list of Context
        Devices; each gets one part.
    batch_axis : int
        The axis to split along.
    even_split : bool
        See :func:`split_data`.

    Examples
    --------
    >>> parts = split_and_load(mx.nd.zeros((4, 2)), [mx.cpu(0), mx.cpu(1)])
    >>> [part.context for part in parts]
    [cpu(0), cpu(1)]
    """
    contexts = context_list(ctx_list)
    if not isinstance(data, nd.NDArray):
        data = nd.array(data, ctx=contexts[0])
    if uses_np_arrays():
        data = data.as_np_ndarray()
    if len(contexts) == 1:
        return [data.as_in_context(contexts[0])]
    parts = split_data(data, len(contexts), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, contexts)]


@guarded
def check_sha1(filename: FileName, sha1_hash: str) -> bool:
    """Return whether the SHA-1 of a file is, or begins with, the given text.

    Parameters
    ----------
    filename : str
        Path of the file.
    sha1_hash : str
        The expected hash, or its beginning, in hexadecimal digits.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "empty")
    >>> open(path, "w").close()
    >>> check_sha1(path, "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    True
    """
    digest = hashlib.sha1()
    with open_for_reading(filename) as file:
        while piece := file.read(_CHUNK_BYTES):
            digest.update(piece)
    name = digest.hexdigest()
    length = min(len(name), len(sha1_hash))
    return length > 0 and name[:length] == sha1_hash[:length].lower()


@guarded
def replace_file(src: FileName, dst: FileName) -> None:
    """Replace a file by another one atomically.

    Parameters
    ----------
    src : str
        The file to rename.
    dst : str
        Its new name; a file of that name is replaced.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("new.txt").write_text("new")
    >>> mx.gluon.utils.replace_file("new.txt", "old.txt")
    >>> Path("old.txt").read_text()
    'new'
    """
    os.replace(file_name(src), file_name(dst))


@guarded
def download(
    url: str,
    path: FileName | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Download a file, unless it is there already, and return its path.

    Parameters
    ----------
    url : str
        Address of the file, ``https://...``.
    path : str, optional
        A file or a folder; by default the URL's last part, here.
    overwrite : bool
        Download it even if it is there.
    sha1_hash : str, optional
        A file that is there with another hash is downloaded again; one that comes with another is
        refused.
    retries : int
        How often to try again after a failure.
    verify_ssl : bool
        Whether to check the server's certificate; False warns.

    Raises
    ------
    FileError
        It cannot be read, or has another hash.
    ArgumentError
        `retries` is below 0.

    Examples
    --------
    A file that is there is not downloaded:

    >>> with open("words.txt", "w") as file:
    ...     size = file.write("to be or not to be")
    >>> download("https://example.com/texts/words.txt")
    'words.txt'
    """
    if not isinstance(url, str):
        raise ArgumentTypeError(f"download: a URL is a str, got {shown(url)}")
    if retries < 0:
        raise ArgumentError(f"download: retries is 0 or more, got {shown(retries)}")
    last = url.split("?")[0].rstrip("/").split("/")[-1]
    if path is None:
        name = last
    else:
        name = os.path.expanduser(file_name(path))
        if os.path.isdir(name):
            name = os.path.join(name, last)
    if not name:
        raise ArgumentError(f"download: {shown(url)} names no file; give a path")
    there = os.path.exists(name)
    if there and not overwrite and (not sha1_hash or check_sha1(name, sha1_hash)):
        return name
    folder = os.path.dirname(os.path.abspath(name))
    os.makedirs(folder, exist_ok=True)
    if not verify_ssl:
        warn_user("download: verify_ssl=False takes whatever server answers")
    for left in range(retries, -1, -1):
        try:
            content = fetch_bytes(url, verify_ssl)
        except FileError as error:
            if left == 0:
                raise FileError(f"download of {error}") from None
            continue
        if sha1_hash and not _matches_sha1(content, sha1_hash):
            if left == 0:
                raise FileError(
                    f"download: the content of {url} has another hash than {sha1_hash}; it may be"
                    " outdated, or was cut off"
                )
            continue
        write_atomically(name, content)
        return name
    return name


def _matches_sha1(content, sha1_hash):
    return hashlib.sha1(content).hexdigest().startswith(sha1_hash.lower())


def _get_repo_url():
    """Return the URL of MXNet's files, ending in a slash."""
    address = config.get("CYNET_GLUON_REPO") or _REPOSITORY_URL
    return address if address.endswith("/") else f"{address}/"


def _get_repo_file_url(namespace, filename):
    """Return the URL of MXNet's file ``namespace/filename``."""
    return f"{_get_repo_url()}{namespace}/{filename}"
