"""Trains the last layer of a trained network, and the others on from where they are, for new
classes."""

import argparse
import json

from common import fit, modelzoo, records, script

import cynet as mx


def parser():
    """The command line; ``--help`` shows all options with their defaults."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=fit.Formatter)
    fit.add_fit_args(out)
    records.add_data_args(out)
    records.add_augmentation_args(out)
    records.set_augmentation_level(out, 1)
    out.add_argument(
        "--pretrained-model",
        required=True,
        metavar="PREFIX[,EPOCH]",
        help="checkpoint to begin with; without a number the last one",
    )
    out.add_argument(
        "--layer-before-fullc",
        metavar="NAME",
        help="layer whose output goes to the new one (default: what the last fully connected layer "
        "reads)",
    )
    out.set_defaults(num_epochs=8, lr=0.01, lr_step_epochs="4,6", wd=0, batch_size=32)
    return out


def new_head(symbol, arg_params, num_classes, layer=None):
    """A network with another last layer, and the weights that it keeps.

    Parameters
    ----------
    symbol : Symbol
    arg_params : dict
    num_classes : int
    layer : str, optional
        What the new layer reads; None: what the last fully connected one does.

    Returns
    -------
    (Symbol, dict)
    """
    nodes = json.loads(symbol.tojson())["nodes"]
    if layer is None:
        last = [node for node in nodes if node["op"] == "FullyConnected"]
        if not last:
            raise SystemExit("--layer-before-fullc: the network has no fully connected layer")
        layer = nodes[last[-1]["inputs"][0][0]]["name"]
    outputs = symbol.get_internals()
    if f"{layer}_output" not in outputs.list_outputs():
        known = ", ".join(node["name"] for node in nodes if node["op"] != "null")
        raise SystemExit(f"--layer-before-fullc {layer}: the layers are {known}")
    net = outputs[f"{layer}_output"]
    name = "fc"
    while f"{name}_weight" in arg_params:
        name += "_new"
    net = mx.sym.FullyConnected(net, num_hidden=num_classes, name=name)
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    kept = {key: arg_params[key] for key in net.list_arguments() if key in arg_params}
    return net, kept


def main(argv=None):
    """Train, and report the validation accuracy of the last epoch."""
    args = parser().parse_args(argv)
    symbol, arg_params, aux_params = modelzoo.load(args.pretrained_model, "--pretrained-model")
    network, kept = new_head(symbol, arg_params, args.num_classes, args.layer_before_fullc)
    args.network = f"{args.pretrained_model} with a new last layer"
    script.train(args, network, (kept, aux_params))


if __name__ == "__main__":
    main()
