"""Vision transformers: an encoder over the sequence of an image's patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError, shown
from ....base.kinds import to_count
from ....initializer import Normal
from ... import nn
from ...block import HybridBlock
from ..model_store import ROOT
from .network import Network, choose_option, network_function, with_pretrained_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....typing import FileName
    from ...parameter.parameter import Contexts

__all__ = ["VisionTransformer", "get_vit", "vit_b_16", "vit_b_32", "vit_l_16", "vit_s_16"]

# name -> (layers, units, heads, hidden units), Dosovitskiy et al. 2021; S: Touvron et al. 2021
_SETTINGS_BY_SIZE = {"s": (12, 384, 6, 1536), "b": (12, 768, 12, 3072), "l": (24, 1024, 16, 4096)}


class _PatchEmbedding(HybridBlock):
    """Converts images (N, C, H, W) to (N, 1 + patches, units): a class token, then a projection of
    each patch, plus learned position embeddings."""

    def __init__(self, patch_size, length, units, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.class_token = self.params.get("class_token", shape=(1, 1, units), init="zeros")
            self.position = self.params.get("position", shape=(1, length, units), init=Normal(0.02))
            self.conv = nn.Conv2D(units, patch_size, strides=patch_size, prefix="conv_")

    def hybrid_forward(self, F: Any, x: Any, class_token: Any, position: Any) -> Any:
        """The sequence."""
        x = F.transpose(F.reshape(self.conv(x), shape=(0, 0, -1)), axes=(0, 2, 1))
        first = F.broadcast_like(class_token, x, lhs_axes=(0,), rhs_axes=(0,))
        return F.broadcast_add(F.concat(first, x, dim=1), position)


class _ClassToken(HybridBlock):  # selects the class token's output
    """Selects the class token, the first position of each sequence: (N, units)."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the first position of each sequence."""
        return F.reshape(F.slice_axis(x, axis=1, begin=0, end=1), shape=(0, -1))


class VisionTransformer(Network):
    """A transformer over the patches of an image.

    Parameters
    ----------
    num_layers : int
        Number of layers of the encoder, see :class:`TransformerEncoder`.
    units, num_heads, hidden_size : int
        Settings of each layer, see :class:`TransformerEncoderLayer`.
    image_size : int
        Length of each side of an image, in pixels; a multiple of `patch_size`. The network takes no
        other size, since each position has weights of its own.
    dropout : float
        Share of the encoder's weights of attention, of outputs of its parts, and of its input, that
        training sets to 0.

    Raises
    ------
    ArgumentError
        `image_size` is not a multiple of `patch_size`, or `units` of `num_heads`.

    Examples
    --------
    >>> net = VisionTransformer(8, 2, units=16, num_heads=2, hidden_size=32, image_size=32)
    >>> net.initialize()
    >>> net(mx.nd.zeros((2, 3, 32, 32))).shape
    (2, 1000)
    """

    def __init__(
        self,
        patch_size: int = 16,
        num_layers: int = 12,
        units: int = 768,
        num_heads: int = 12,
        hidden_size: int = 3072,
        image_size: int = 224,
        dropout: float = 0.0,
        classes: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        to_count("VisionTransformer: patch_size", patch_size)
        to_count("VisionTransformer: image_size", image_size)
        if image_size % patch_size or not image_size:
            raise ArgumentError(
                f"VisionTransformer: image_size {shown(image_size)} is not a multiple of patch_size"
                f" {shown(patch_size)}"
            )
        length = 1 + (image_size // patch_size) ** 2
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(_PatchEmbedding(patch_size, length, units, prefix="patches_"))
            if dropout:
                self.features.add(nn.Dropout(dropout))
            self.features.add(
                nn.TransformerEncoder(
                    num_layers,
                    units,
                    num_heads,
                    hidden_size,
                    dropout=dropout,
                    activation="gelu",
                    pre_norm=True,
                    epsilon=1e-6,
                    prefix="encoder_",
                ),
                _ClassToken(),
            )
            self.output = nn.Dense(classes, in_units=units)


def get_vit(
    size: str,
    patch_size: int,
    pretrained: bool | FileName = False,
    ctx: Contexts | None = None,
    root: FileName = ROOT,
    **kwargs: Any,
) -> VisionTransformer:
    """Vision transformer of a named size: images (N, 3, 224, 224) to scores (N, classes).

    Parameters
    ----------
    size : str
        ``'s'``, ``'b'`` or ``'l'``: layers of 384, 768 or 1024 units.
    pretrained : bool or str
        Load weights from ``NAME.params`` in `root`, see :func:`get_model_file`; or from a file.
    root : str
        Folder of the weights' files.
    **kwargs
        ``image_size``, ``dropout``, ``classes``, ``prefix`` and ``params``.

    Raises
    ------
    MismatchError
        There is no such `size`.
    FileError
        `pretrained` is True, and the weights are not in `root`.

    Examples
    --------
    >>> net = mx.gluon.model_zoo.vision.get_vit("s", 16, classes=10, image_size=64)
    >>> net.output
    Dense(384 -> 10, linear)
    """
    layers, units, heads, hidden = choose_option(_SETTINGS_BY_SIZE, size, "size")
    net = VisionTransformer(patch_size, layers, units, heads, hidden, **kwargs)
    return with_pretrained_weights(net, f"vit_{size}_{patch_size}", pretrained, ctx, root)


def _builder_of(
    size: str, patch: int, word: str, millions: str
) -> Callable[..., VisionTransformer]:
    layers, units, heads, _ = _SETTINGS_BY_SIZE[size]
    return network_function(
        f"vit_{size}_{patch}",
        get_vit,
        {"size": size, "patch_size": patch},
        f"The {word} vision transformer, patches of {patch}x{patch}: {millions} million weights "
        "with 1000 classes.",
        f""">>> len(net.features[1].layers), net.output
({layers}, Dense({units} -> 10, linear))""",
        more=f"{layers} layers of {units} units, {heads} heads.",
        keywords="``image_size``, ``dropout``, ``classes``",
    )


vit_s_16 = _builder_of("s", 16, "small", "22.1")
vit_b_16 = _builder_of("b", 16, "base", "86.6")
vit_b_32 = _builder_of("b", 32, "base", "88.2")
vit_l_16 = _builder_of("l", 16, "large", "304.3")
