"""Networks and weights from the folders that Hugging Face's transformers writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import ndarray
from ....base.errors import (
    ArgumentError,
    FormatError,
    MissingFileError,
    UndefinedError,
    listed,
    shown,
)
from ....base.guard import guarded
from ....base.kinds import read_json
from ...errors import MismatchError
from .bert import BERT
from .gpt import GPT2

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....typing import FileName
    from ...block import HybridBlock
    from ...parameter.parameter import Contexts

_NORM_KEYS = {"gamma": "weight", "beta": "bias"}  # our parameter names -> Hugging Face's
_DENSE_KEYS = {"weight": "weight", "bias": "bias"}  # the same of Dense layers
# Arrays in files that are no weights of the network: masks, tied copies, pretraining heads.
_IGNORED_KEYS = re.compile(  # arrays of a file that are not parameters
    r"(.*\.)?(attn\.bias|attn\.masked_bias|position_ids)|lm_head\.weight|cls\..*|classifier\..*"
)


def _rename_map(ours: str, theirs: str, words: dict[str, str]):
    return {f"{ours}.{word}": f"{theirs}.{name}" for word, name in words.items()}


def _gpt_name_map(net: GPT2) -> dict[str, str]:
    names = {
        "weight": "wte.weight",
        "place.weight": "wpe.weight",
        **_rename_map("norm", "ln_f", _NORM_KEYS),
    }
    for i in range(len(net.layers)):
        ours, theirs = f"layers.{i}", f"h.{i}"
        for own, name in (("norm1", "ln_1"), ("norm2", "ln_2")):
            names |= _rename_map(f"{ours}.{own}", f"{theirs}.{name}", _NORM_KEYS)
        parts = {"attention.qkv": "attn.c_attn", "attention.proj": "attn.c_proj"}
        parts |= {"wide": "mlp.c_fc", "narrow": "mlp.c_proj"}
        for own, name in parts.items():
            names |= _rename_map(f"{ours}.{own}", f"{theirs}.{name}", _DENSE_KEYS)
    return names


def _bert_name_map(net: BERT) -> dict[str, str]:
    names = _rename_map("norm", "embeddings.LayerNorm", _NORM_KEYS) | _rename_map(
        "pooler", "pooler.dense", _DENSE_KEYS
    )
    for own, name in (("word", "word"), ("place", "position"), ("type", "token_type")):
        names[f"{own}.weight"] = f"embeddings.{name}_embeddings.weight"
    for i in range(len(net.encoder.layers)):
        ours, theirs = f"encoder.layers.{i}", f"encoder.layer.{i}"
        parts = {
            f"self_attn.{each}_proj": f"attention.self.{each}" for each in ("query", "key", "value")
        }
        parts |= {"self_attn.out_proj": "attention.output.dense"}
        parts |= {"linear1": "intermediate.dense", "linear2": "output.dense"}
        for own, name in parts.items():
            names |= _rename_map(f"{ours}.{own}", f"{theirs}.{name}", _DENSE_KEYS)
        norms = {"norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm"}
        for own, name in norms.items():
            names |= _rename_map(f"{ours}.{own}", f"{theirs}.{name}", _NORM_KEYS)
    return names if net.output is None else names | _rename_map("output", "classifier", _DENSE_KEYS)


def _gpt_network(config: _Config, _: int | None) -> GPT2:
    config.require_value("activation_function", "gelu_new")
    config.require_value("layer_norm_epsilon", 1e-5)
    for name in ("scale_attn_by_inverse_layer_idx", "add_cross_attention"):
        config.require_value(name, False)
    for name in ("scale_attn_weights", "tie_word_embeddings"):
        config.require_value(name, True)
    return GPT2(
        config["vocab_size"],
        config["n_embd"],
        config["n_layer"],
        config["n_head"],
        config.get("n_inner"),
        config["n_positions"],
        config.get("resid_pdrop", 0.1),
    )


def _bert_network(config: _Config, classes: int | None) -> BERT:
    config.require_value("position_embedding_type", "absolute")
    config.require_value("is_decoder", False)
    if classes is None and "BertForSequenceClassification" in config["architectures"]:
        classes = len(config.get("id2label") or (0, 1))
    return BERT(
        config["vocab_size"],
        config["hidden_size"],
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["intermediate_size"],
        config["max_position_embeddings"],
        config["type_vocab_size"],
        config.get("hidden_dropout_prob", 0.1),
        config.get("hidden_act", "gelu"),
        config.get("layer_norm_eps", 1e-12),
        classes,
    )


_NETWORK_TYPES: dict[str, tuple[Callable, Callable, str]] = {  # network, names, prefix
    "gpt2": (_gpt_network, _gpt_name_map, "transformer."),
    "bert": (_bert_network, _bert_name_map, "bert."),
}


class _Config(dict):  # the settings in a model's config.json
    """The settings in a file config.json."""

    def __init__(self, path: Path) -> None:
        found = read_json(_read_text(path))
        if not isinstance(found, dict):
            raise FormatError(f"{path} is not an object of settings, got {shown(found)}")
        super().__init__(found)
        self.path = path

    def __missing__(self, key: str) -> Any:
        raise FormatError(f"{self.path} has no {key!r}")

    def require_value(self, name: str, wanted: Any) -> None:
        if self.get(name, wanted) != wanted:
            raise UndefinedError(
                f"{self.path}: {name}={shown(self[name])} is not there, only {wanted!r}"
            )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingFileError(f"there is no {path}") from None


def _load_arrays(folder: Path) -> dict[str, Any]:
    """Load the arrays of a folder's weight files, by name."""
    index = folder / "model.safetensors.index.json"
    files = ["model.safetensors"]
    if index.exists():
        files = sorted(set(read_json(_read_text(index)).get("weight_map", {}).values()))
    found: dict[str, Any] = {}
    for file in files:
        if Path(file).name != file:
            raise FormatError(f"{index}: {shown(file)} is not a file of this folder")
        path = folder / file
        if not path.exists():
            raise MissingFileError(
                f"there is no {path}: a pickle (pytorch_model.bin) is not read; save_pretrained of"
                " transformers writes model.safetensors"
            )
        found |= ndarray.load(str(path))
    return found


@guarded
def from_hugging_face(
    folder: FileName, ctx: Contexts | None = None, classes: int | None = None
) -> HybridBlock:
    """Load a network with its weights from a folder that transformers' ``save_pretrained`` wrote.

    GPT-2 and BERT are known; of BERT the encoder is read and, of ``BertForSequenceClassification``,
    the classifier. Needs the package safetensors; nothing is fetched.

    Parameters
    ----------
    folder : str
        Where ``config.json`` and ``model.safetensors`` lie, the latter in one file or several.
    ctx : Context or list of Context, optional
        Devices of the parameters; the CPU by default.
    classes : int, optional
        BERT: a new classifier of so many classes, whose weights are drawn, in place of that of the
        file.

    Raises
    ------
    MissingFileError
        One of the files is not there.
    UndefinedError
        The network is another one, or has a setting that is not there.
    MismatchError
        Weights are missing, superfluous or of another shape.

    Examples
    --------
    >>> def model(folder, prompt):
    ...     from tokenizers import Tokenizer
    ...
    ...     tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    ...     net = mx.gluon.model_zoo.text.from_hugging_face(folder)
    ...     tokens = tokenizer.encode(prompt).ids
    ...     return tokenizer.decode(mx.gluon.model_zoo.text.generate(net, tokens, 20))
    """
    folder = Path(folder)
    config = _Config(folder / "config.json")
    kind = config["model_type"]
    if kind not in _NETWORK_TYPES:
        raise UndefinedError(
            f"{config.path}: the network {shown(kind)} is not there, only {listed(_NETWORK_TYPES)}"
        )
    if classes is not None and kind != "bert":
        raise ArgumentError(f"from_hugging_face: {kind} has no classes")
    make, names_of, prefix = _NETWORK_TYPES[kind]
    net = make(config, classes)
    net.initialize(ctx=ctx)
    given = {name.removeprefix(prefix): value for name, value in _load_arrays(folder).items()}
    given = {_rename_gamma_beta(name): value for name, value in given.items()}
    names = names_of(net)
    if classes is not None:
        names = {ours: name for ours, name in names.items() if not ours.startswith("output.")}
    _set_parameters(net, names, given, folder)
    return net


def _rename_gamma_beta(name: str) -> str:
    """Rename the gamma and beta of older files to weight and bias."""
    where, _, word = name.rpartition(".")
    return f"{where}.{_NORM_KEYS[word]}" if word in _NORM_KEYS else name


def _set_parameters(net, names, given, folder):
    missing = sorted(set(names.values()) - set(given))
    left = sorted(
        name for name in set(given) - set(names.values()) if not _IGNORED_KEYS.fullmatch(name)
    )
    if missing or left:
        raise MismatchError(
            f"{folder}: "
            + "; ".join(
                f"{what} {listed(each)}"
                for what, each in (("the weights lack", missing), ("no parameter is", left))
                if each
            )
        )
    params = net._collect_params_with_prefix()
    for ours, theirs in names.items():
        value, param = given[theirs].asnumpy(), params[ours]
        if isinstance(net, GPT2) and theirs.startswith("h.") and value.ndim == 2:
            value = np.ascontiguousarray(value.T)  # GPT-2 stores weights transposed
        if any(n not in (0, m) for n, m in zip(param.shape, value.shape)) or (
            len(param.shape) != value.ndim
        ):
            raise MismatchError(
                f"{folder}: {theirs} is of shape {value.shape}, and {ours} of {param.shape}"
            )
        param.set_data(ndarray.array(value, dtype=param.dtype))
