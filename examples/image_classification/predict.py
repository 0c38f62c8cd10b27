"""Says what a trained network sees in image files."""

import argparse
from pathlib import Path

import numpy as np
from common import fit, modelzoo, records

import cynet as mx


def parser():
    """The command line; ``--help`` shows all options with their defaults."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=fit.Formatter)
    out.add_argument("images", nargs="+", metavar="IMAGE", help="JPEG, PNG or other file")
    out.add_argument(
        "--model",
        required=True,
        metavar="PREFIX[,EPOCH]",
        help="checkpoint; without a number the last one",
    )
    out.add_argument(
        "--synset", metavar="FILE", help="names of the classes, one a line (im2rec writes one)"
    )
    out.add_argument("--top-k", type=fit.positive, default=5, help="how many classes are printed")
    out.add_argument(
        "--resize",
        type=int,
        help="length of the shorter side before the middle is cut out (default: 8/7 of it)",
    )
    out.add_argument("--gpus", type=fit.indices, help="GPUs to use, e.g. 0 or 0,2; none: the CPU")
    records.add_image_args(out)
    return out


def load(path, args):
    """The pixels of an image file as the network takes them: (1, channels, height, width)."""
    channels, height, width = args.image_shape
    try:
        image = mx.image.imread(path, flag={1: 0, 3: 1}.get(channels, -1))
    except (OSError, mx.base.MXNetError) as error:
        raise SystemExit(f"{path}: {error}") from None
    if image.shape[2] != channels:
        raise SystemExit(f"{path}: it has {image.shape[2]} channels, --image-shape {channels}")
    short = args.resize or round(min(height, width) * 8 / 7)
    image, _ = mx.image.center_crop(mx.image.resize_short(image, short), (width, height))
    pixels = image.asnumpy().astype(np.float32)
    pixels = (pixels - np.float32(args.rgb_mean)) / np.float32(args.rgb_std)
    return pixels.transpose(2, 0, 1)[None]


def main(argv=None):
    """Print the most probable classes of each image."""
    args = parser().parse_args(argv)
    symbol, arg_params, aux_params = modelzoo.load(args.model)
    names = None
    if args.synset:
        if not Path(args.synset).is_file():
            raise SystemExit(f"--synset {args.synset}: there is no such file")
        names = Path(args.synset).read_text().splitlines()
    data, _ = modelzoo.inputs(symbol, arg_params)
    module = mx.mod.Module(symbol, (data,), None, context=fit.devices(args))
    try:
        module.bind([(data, (1, *args.image_shape))], for_training=False)
        module.set_params(arg_params, aux_params)
        for path in args.images:
            batch = mx.io.DataBatch([mx.nd.array(load(path, args))])
            module.forward(batch, is_train=False)
            found = module.get_outputs()[0].asnumpy()[0]
            print(path)
            for number in found.argsort()[::-1][: args.top_k]:
                name = names[number] if names and number < len(names) else f"class {number}"
                print(f"  {100 * found[number]:6.2f} %  {name}")
    except mx.base.MXNetError as error:
        raise SystemExit(f"--model {args.model}: {error}") from None


if __name__ == "__main__":
    main()
