"""Trains a network on digits and goes on in two ways for as many epochs: in floats, which are
rounded at the end, and rounded from then on, so that training makes up for what that loses."""

import logging
import sys
from pathlib import Path

import quantize

import cynet as mx
from cynet.contrib import quantization

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common

BATCH = 64  # images of a batch, on which ranges are found


def rounded(net, bits, images):
    """The network with weights and activations of so many bits, by the ranges of these images."""
    small = quantization.prepare_qat(net, weight_bits=bits, activation_bits=bits)
    small.hybridize()
    with mx.autograd.train_mode():
        for start in range(0, len(images), BATCH):
            small(mx.nd.array(images[start : start + BATCH]))
    return small


def main(argv=None):
    """Train and round; returns the accuracies in percent by name."""
    parser = common.parser(__doc__, without=["workers", "eager", "gpu"], epochs=15, lr=0.003)
    common.add_dataset(parser)
    add = parser.add_argument
    add("--network", choices=("lenet", "resnet20"), default="lenet", help="the network to train")
    add("--more", type=common.positive, default=5, help="epochs of both ways")
    add("--more-images", type=common.positive, help="of these epochs; all by default")
    add("--bits", type=int, nargs="+", default=[8, 4, 2], help="of weights and activations, 2 to 8")
    add("--calib-examples", type=common.positive, default=512, help="that ranges are found on")
    args = parser.parse_args(argv)
    if not all(2 <= each <= 8 for each in args.bits):
        parser.error(f"--bits {' '.join(map(str, args.bits))}: each is from 2 to 8")
    common.start(args)
    samples, unseen = common.arrays(args.dataset)
    some = samples[0][: args.calib_examples]
    net = quantize.NETWORKS[args.network]()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    history = quantize.train(net, samples, unseen, args)
    start = Path(args.out) / f"{args.network}.params"
    net.save_parameters(start)
    args.epochs, args.lr = args.more, args.lr / 5
    samples = [each[: args.more_images] for each in samples]

    logging.info("in floats:")
    quantize.train(net, samples, unseen, args)
    found = {"float32": quantize.measure(net, *unseen)[0]}
    for bits in args.bits:
        found[f"rounded to {bits} bits"] = quantize.measure(rounded(net, bits, some), *unseen)[0]
    for bits in args.bits:
        logging.info("in %d bits:", bits)
        net.load_parameters(start)
        small = rounded(net, bits, some)
        quantize.train(small, samples, unseen, args)
        found[f"trained in {bits} bits"] = quantize.measure(small, *unseen)[0]
        if bits == 8:
            whole = quantization.convert(small)
            whole.hybridize()
            found["int8 layers"] = quantize.measure(whole, *unseen)[0]
            example = mx.nd.array(unseen[0][:1])
            common.finish(args, f"{args.network}-trained-int8", whole, history, example)
    for name, accuracy in found.items():
        logging.info("%s: %.2f %%", name, accuracy)
    return found


if __name__ == "__main__":
    main()
