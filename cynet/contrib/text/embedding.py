"""mx.contrib.text.embedding: token vectors read from text files."""

from __future__ import annotations

import io
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ...base.errors import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    MissingFileError,
    NotFoundError,
    shown,
)
from ...base.files import open_for_reading
from ...base.guard import guarded
from ...gluon.errors import MismatchError
from .vocab import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ndarray import NDArray

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "TokenEmbedding",
    "create",
    "get_pretrained_file_names",
    "register",
]
_DEFAULT_ROOT = os.path.join("~", ".mxnet", "embeddings")
_REGISTRY: dict[str, type[TokenEmbedding]] = {}  # lower-case name -> class


@guarded
class TokenEmbedding(Vocabulary):
    """A vocabulary with a vector for each token; base of the embeddings here.

    Parameters
    ----------
    counter, most_freq_count, min_freq, unknown_token, reserved_tokens
        See `mx.contrib.text.vocab.Vocabulary`.

    Attributes
    ----------
    vec_len : int
        Length of each vector.
    idx_to_vec : NDArray of shape (tokens, vec_len)
        The vectors; row 0 is that of unknown tokens.

    Examples
    --------
    >>> with open("vectors.txt", "w") as file:
    ...     _ = file.write("sun 1 2\\nmoon 3 4\\n")
    >>> vectors = mx.contrib.text.embedding.CustomEmbedding("vectors.txt")
    >>> vectors.idx_to_token, vectors.vec_len
    (['<unk>', 'sun', 'moon'], 2)
    >>> vectors.idx_to_vec[1].asnumpy().tolist()
    [1.0, 2.0]
    """

    pretrained_file_name_sha1: dict[str, str] = {}
    pretrained_archive_name_sha1: dict[str, str] = {}
    _vectors: NDArray

    @property
    def vec_len(self) -> int:
        """The length of the vectors."""
        return int(self._vectors.shape[1])

    @property
    def idx_to_vec(self) -> NDArray:
        """The vectors of all tokens, one per row."""
        return self._vectors

    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: bool = False) -> NDArray:
        """Return the vector of a token, or a matrix for several; unknown tokens have vector 0.

        Parameters
        ----------
        tokens : str or list of str
            The tokens to look up.
        lower_case_backup : bool
            Whether to look up an unknown token in lower case.

        Returns
        -------
        NDArray
            (vec_len,) for a str, (tokens, vec_len) for a list.

        Examples
        --------
        >>> with open("vectors.txt", "w") as file:
        ...     _ = file.write("sun 1 2\\nmoon 3 4\\n")
        >>> vectors = mx.contrib.text.embedding.CustomEmbedding("vectors.txt")
        >>> vectors.get_vecs_by_tokens("MOON", lower_case_backup=True).asnumpy().tolist()
        [3.0, 4.0]
        """
        single = isinstance(tokens, str)
        numbers = []
        for each in [tokens] if single else tokens:
            number = self._numbers.get(each)
            if number is None and lower_case_backup:
                number = self._numbers.get(each.lower())
            numbers.append(number or 0)
        found = nd.take(self._vectors, nd.array(numbers, dtype="int32"))
        return found[0] if single else found

    def update_token_vectors(self, tokens: Any, new_vectors: NDArray) -> None:
        """Replace the vectors of tokens.

        Parameters
        ----------
        tokens : str or list of str
            Tokens that get new vectors.
        new_vectors : NDArray
            Their vectors: of shape (vec_len,) for one token, (tokens, vec_len) for several.

        Raises
        ------
        ArgumentError
            An unknown token; name the unknown token itself to change its vector.
        MismatchError
            `new_vectors` has another shape.

        Examples
        --------
        >>> with open("vectors.txt", "w") as file:
        ...     _ = file.write("sun 1 2\\nmoon 3 4\\n")
        >>> vectors = mx.contrib.text.embedding.CustomEmbedding("vectors.txt")
        >>> vectors.update_token_vectors("sun", mx.nd.array([5, 6]))
        >>> vectors.get_vecs_by_tokens("sun").asnumpy().tolist()
        [5.0, 6.0]
        """
        names = [tokens] if isinstance(tokens, str) else list(tokens)
        wanted = {(len(names), self.vec_len)} | ({(self.vec_len,)} if len(names) == 1 else set())
        if tuple(new_vectors.shape) not in wanted:
            raise MismatchError(
                f"update_token_vectors: {len(names)} tokens have vectors of shape "
                f"({len(names)}, {self.vec_len}), got {tuple(new_vectors.shape)}"
            )
        unknown = [each for each in names if each not in self._numbers]
        if unknown:
            raise ArgumentError(f"update_token_vectors: the token {shown(unknown[0])} is unknown")
        rows = [self._numbers[each] for each in names]
        self._vectors[nd.array(rows, dtype="int32")] = new_vectors.reshape((len(rows), -1))

    # --- reading ----------------------------------------------------------------------------------
    def _read_file(self, path, delimiter, encoding, init_unknown_vec):
        """Read tokens and vectors from a file: a token and its vector on each line."""
        try:
            with open_for_reading(path) as raw:
                lines = io.TextIOWrapper(raw, encoding)
                seen, rows, unknown = self._read_vectors(lines, path, delimiter)
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: expected text in {encoding}: {error}") from None
        if not rows:
            raise FormatError(f"{path}: the file has no vectors")
        if unknown is None:
            unknown = init_unknown_vec(shape=len(rows[0])).asnumpy().astype("float32")
        self._tokens = [self._unknown, *seen]
        self._numbers = {token: i for i, token in enumerate(self._tokens)}
        self._vectors = nd.array(np.stack([unknown, *rows]))

    def _read_vectors(self, file, path, delimiter):
        """Read (tokens in order, their vectors, the unknown token's vector or None)."""
        seen, rows = {}, []
        unknown = None
        for number, line in enumerate(file, 1):
            token, *numbers = line.rstrip().split(delimiter)
            if number == 1 and len(numbers) <= 1:
                continue  # fastText's first line: the number of rows
            if len(numbers) <= 1:
                warnings.warn(
                    f"{path}:{number}: the vector of {shown(token)} has "
                    f"{len(numbers)} numbers; the line is left out",
                    stacklevel=5,
                )
                continue
            try:
                vector = np.array(numbers, "float32")
            except ValueError:
                raise FormatError(f"{path}:{number}: no numbers behind {shown(token)}") from None
            if rows and len(vector) != len(rows[0]):
                raise MismatchError(
                    f"{path}:{number}: the vector of {shown(token)} has {len(vector)} numbers, "
                    f"those before have {len(rows[0])}"
                )
            if token == self._unknown and unknown is None:
                unknown = vector
            elif token in seen:
                warnings.warn(
                    f"{path}:{number}: {shown(token)} appears twice; the first counts", stacklevel=5
                )
            else:
                seen[token] = None
                rows.append(vector)
        return seen, rows, unknown

    def _restrict_to_vocabulary(self, vocabulary):
        """Reduce the embedding to the tokens of a vocabulary, with the vocabulary's indices."""
        if not isinstance(vocabulary, Vocabulary):
            raise ArgumentTypeError(
                f"vocabulary must be a Vocabulary, got {type(vocabulary).__name__}"
            )
        vectors = self.get_vecs_by_tokens(vocabulary.idx_to_token)
        self._copy_vocabulary(vocabulary)
        self._vectors = vectors

    def _copy_vocabulary(self, vocabulary):
        self._tokens = list(vocabulary.idx_to_token)
        self._numbers = dict(vocabulary.token_to_idx)
        self._unknown = vocabulary.unknown_token
        self._reserved = vocabulary.reserved_tokens

    def _init_vocabulary(self, kwargs):
        Vocabulary.__init__(self, **kwargs)


def register(embedding_cls: type[TokenEmbedding]) -> type[TokenEmbedding]:
    """Decorator: register a class for `create` under its name in lower case.

    Parameters
    ----------
    embedding_cls : type
        A subclass of `TokenEmbedding`.

    Examples
    --------
    >>> from cynet.contrib.text import embedding
    >>> @embedding.register
    ... class Mine(embedding.CustomEmbedding):
    ...     pass
    >>> embedding.get_pretrained_file_names("mine")
    []
    >>> _ = embedding._REGISTRY.pop("mine")  # removes the class again
    """
    _REGISTRY[embedding_cls.__name__.lower()] = embedding_cls
    return embedding_cls


@guarded
def create(embedding_name: str, **kwargs: Any) -> TokenEmbedding:
    """Create an embedding by its name.

    Parameters
    ----------
    embedding_name : str
        ``"glove"``, ``"fasttext"`` or the name of a class that was registered.
    **kwargs
        Arguments of its class.

    Raises
    ------
    MismatchError
        No class is registered under that name.

    Examples
    --------
    >>> import os
    >>> os.mkdir("glove")
    >>> with open("glove/glove.6B.50d.txt", "w") as file:  # a file as downloaded, with two tokens
    ...     _ = file.write("sun 1 2\\nmoon 3 4\\n")
    >>> vectors = mx.contrib.text.embedding.create(
    ...     "glove", pretrained_file_name="glove.6B.50d.txt", embedding_root="."
    ... )
    >>> vectors.get_vecs_by_tokens("moon").asnumpy().tolist()
    [3.0, 4.0]
    """
    made = _REGISTRY.get(str(embedding_name).lower())
    if made is None:
        raise MismatchError(
            f"there is no embedding {shown(embedding_name)}; there are {', '.join(_REGISTRY)}"
        )
    return made(**kwargs)


@guarded
def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Return the file names of an embedding, or of all embeddings.

    Parameters
    ----------
    embedding_name : str, optional
        ``"glove"``, ``"fasttext"``; by default all of them.

    Returns
    -------
    list of str, or dict of str to list of str
        Files of one embedding, or ``{name: files}``.

    Raises
    ------
    NotFoundError
        No class is registered under that name.

    Examples
    --------
    >>> mx.contrib.text.embedding.get_pretrained_file_names("glove")[:2]
    ['glove.42B.300d.txt', 'glove.6B.50d.txt']
    """
    if embedding_name is not None:
        made = _REGISTRY.get(str(embedding_name).lower())
        if made is None:
            raise NotFoundError(
                f"there is no embedding {shown(embedding_name)}; there are {', '.join(_REGISTRY)}"
            )
        return list(made.pretrained_file_name_sha1)
    return {name: list(made.pretrained_file_name_sha1) for name, made in _REGISTRY.items()}


class _PretrainedEmbedding(TokenEmbedding):
    """Base of embeddings that are read from a published file in a local folder."""

    _home = ""

    def _load_file(self, name, root, init_unknown_vec, vocabulary, kwargs):
        self._init_vocabulary(kwargs)
        known = self.pretrained_file_name_sha1
        if known and name not in known:
            raise NotFoundError(f"there is no file {shown(name)}; there are {', '.join(known)}")
        path = os.path.join(os.path.expanduser(root), type(self).__name__.lower(), name)
        if not os.path.isfile(path):
            raise MissingFileError(
                f"{type(self).__name__}: there is no file {path}; take it from {self._home}, "
                "where it is published, and put it there"
            )
        self._read_file(path, " ", "utf8", init_unknown_vec)
        if vocabulary is not None:
            self._restrict_to_vocabulary(vocabulary)


@register
class GloVe(_PretrainedEmbedding):
    """GloVe vectors, from a file that the user downloaded.

    Parameters
    ----------
    pretrained_file_name : str
        One of ``get_pretrained_file_names("glove")``.
    embedding_root : path
        Folder whose folder ``glove`` holds the file.
    init_unknown_vec : callable
        ``f(shape=n)`` returns the vector of unknown tokens, unless the file has one.
    vocabulary : Vocabulary, optional
        Vocabulary whose tokens are read; all by default.
    **kwargs
        Arguments of `mx.contrib.text.vocab.Vocabulary`.

    Raises
    ------
    NotFoundError
        There is no file of that name.
    MissingFileError
        The file is not in the folder; the message says where it is published.

    Examples
    --------
    >>> import os
    >>> os.mkdir("glove")
    >>> with open("glove/glove.6B.50d.txt", "w") as file:  # a file as downloaded, with two tokens
    ...     _ = file.write("sun 1 2\\nmoon 3 4\\n")
    >>> vectors = mx.contrib.text.embedding.GloVe("glove.6B.50d.txt", embedding_root=".")
    >>> vectors.idx_to_token
    ['<unk>', 'sun', 'moon']
    """

    _home = "https://nlp.stanford.edu/projects/glove"
    pretrained_file_name_sha1 = {
        "glove.42B.300d.txt": "876767977d6bd4d947c0f84d44510677bc94612a",
        "glove.6B.50d.txt": "21bf566a9d27f84d253e0cd4d4be9dcc07976a6d",
        "glove.6B.100d.txt": "16b1dbfaf35476790bd9df40c83e2dfbd05312f1",
        "glove.6B.200d.txt": "17d0355ddaa253e298ede39877d1be70f99d9148",
        "glove.6B.300d.txt": "646443dd885090927f8215ecf7a677e9f703858d",
        "glove.840B.300d.txt": "294b9f37fa64cce31f9ebb409c266fc379527708",
        "glove.twitter.27B.25d.txt": "767d80889d8c8a22ae7cd25e09d0650a6ff0a502",
        "glove.twitter.27B.50d.txt": "9585f4be97e286339bf0112d0d3aa7c15a3e864d",
        "glove.twitter.27B.100d.txt": "1bbeab8323c72332bd46ada0fc3c99f2faaa8ca8",
        "glove.twitter.27B.200d.txt": "7921c77a53aa5977b1d9ce3a7c4430cbd9d1207a",
    }
    pretrained_archive_name_sha1 = {
        "glove.42B.300d.zip": "f8e722b39578f776927465b71b231bae2ae8776a",
        "glove.6B.zip": "b64e54f1877d2f735bdd000c1d7d771e25c7dfdc",
        "glove.840B.300d.zip": "8084fbacc2dee3b1fd1ca4cc534cbfff3519ed0d",
        "glove.twitter.27B.zip": "dce69c404025a8312c323197347695e81fd529fc",
    }

    def __init__(
        self,
        pretrained_file_name: str = "glove.840B.300d.txt",
        embedding_root: str = _DEFAULT_ROOT,
        init_unknown_vec: Callable[..., NDArray] = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        self._load_file(pretrained_file_name, embedding_root, init_unknown_vec, vocabulary, kwargs)


@register
class FastText(_PretrainedEmbedding):
    """fastText vectors, from a ``.vec`` file that the user downloaded.

    Parameters
    ----------
    pretrained_file_name : str
        Name of the file; fastText publishes hundreds.
    embedding_root : path
        Folder whose folder ``fasttext`` holds the file.
    init_unknown_vec, vocabulary, **kwargs
        See `GloVe`.

    Raises
    ------
    MissingFileError
        The file is not in the folder; the message says where it is published.

    Examples
    --------
    >>> import os
    >>> os.mkdir("fasttext")
    >>> with open("fasttext/wiki.simple.vec", "w") as file:  # a file as downloaded, with two tokens
    ...     _ = file.write("2 2\\nsun 1 2\\nmoon 3 4\\n")
    >>> mx.contrib.text.embedding.FastText(embedding_root=".").idx_to_token
    ['<unk>', 'sun', 'moon']
    """

    _home = "https://fasttext.cc/docs/en/english-vectors.html"

    def __init__(
        self,
        pretrained_file_name: str = "wiki.simple.vec",
        embedding_root: str = _DEFAULT_ROOT,
        init_unknown_vec: Callable[..., NDArray] = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        self._load_file(pretrained_file_name, embedding_root, init_unknown_vec, vocabulary, kwargs)


@guarded
class CustomEmbedding(TokenEmbedding):
    """Vectors of your own file: a token and its vector on each line.

    Parameters
    ----------
    pretrained_file_path : path
        A text file with one token on each line.
    elem_delim : str
        Separator of a token and its numbers.
    encoding : str
        Encoding of the file.
    init_unknown_vec, vocabulary
        See `GloVe`.
    **kwargs
        Arguments of `mx.contrib.text.vocab.Vocabulary`.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "vectors.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("sun 1 2\\nmoon 3 4\\n")
    >>> vectors = mx.contrib.text.embedding.CustomEmbedding(path)
    >>> vectors.get_vecs_by_tokens(["moon", "mars"]).asnumpy().tolist()
    [[3.0, 4.0], [0.0, 0.0]]
    """

    def __init__(
        self,
        pretrained_file_path: Any,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Callable[..., NDArray] = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        self._init_vocabulary(kwargs)
        self._read_file(pretrained_file_path, elem_delim, encoding, init_unknown_vec)
        if vocabulary is not None:
            self._restrict_to_vocabulary(vocabulary)


@guarded
class CompositeEmbedding(TokenEmbedding):
    """Concatenated vectors of several embeddings, for the tokens of a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary
        The tokens.
    token_embeddings : TokenEmbedding or list of TokenEmbedding
        Embeddings whose vectors are concatenated.

    Raises
    ------
    MismatchError
        `vocabulary` is not a Vocabulary, or a part is not an embedding.

    Examples
    --------
    >>> import collections
    >>> with open("vectors.txt", "w") as file:
    ...     _ = file.write("sun 1 2\\nmoon 3 4\\n")
    >>> vectors = mx.contrib.text.embedding.CustomEmbedding("vectors.txt")
    >>> words = mx.contrib.text.vocab.Vocabulary(collections.Counter(["moon"]))
    >>> both = mx.contrib.text.embedding.CompositeEmbedding(words, [vectors, vectors])
    >>> both.get_vecs_by_tokens("moon").asnumpy().tolist()
    [3.0, 4.0, 3.0, 4.0]
    """

    def __init__(self, vocabulary: Vocabulary, token_embeddings: Any) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise MismatchError(
                f"CompositeEmbedding takes a Vocabulary, got {type(vocabulary).__name__}"
            )
        parts: Sequence[Any] = (
            token_embeddings if isinstance(token_embeddings, (list, tuple)) else [token_embeddings]
        )
        for each in parts:
            if not isinstance(each, TokenEmbedding):
                raise MismatchError(
                    f"CompositeEmbedding: expected embeddings, got a {type(each).__name__}"
                )
        self._copy_vocabulary(vocabulary)
        vectors = [each.get_vecs_by_tokens(self._tokens) for each in parts]
        self._vectors = nd.concat(*vectors, dim=1)
