"""Trained parameters for a network that was made."""

from ....context import cpu
from ..model_store import ROOT, get_model_file

CPU = cpu()


def loaded(net, name, pretrained, ctx=CPU, root=ROOT):
    """`net`, with the parameters of `name` where `pretrained`."""
    if pretrained:
        net.load_parameters(get_model_file(name, root), ctx=ctx)
    return net
