"""How well a trained network tells the images of a file of records apart, and how fast."""

import argparse
import time

from common import fit, modelzoo, records
from tqdm import tqdm

import cynet as mx


def parser():
    """The command line; ``--help`` shows all options with their defaults."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=fit.Formatter)
    out.add_argument(
        "--model",
        required=True,
        metavar="PREFIX[,EPOCH]",
        help="checkpoint; without a number the last one",
    )
    out.add_argument("--data-val", required=True, metavar="FILE.rec", help="records of images")
    out.add_argument("--gpus", type=fit.indices, help="GPUs to use, e.g. 0 or 0,2; none: the CPU")
    out.add_argument("--batch-size", type=fit.positive, default=32, help="images of a batch")
    out.add_argument("--data-nthreads", type=int, default=4, help="threads that read images")
    out.add_argument("--max-num-examples", type=fit.positive, help="look at so many images only")
    out.add_argument("--top-k", type=int, default=5, help="report top-k accuracy too")
    records.add_image_args(out)
    return out


def score(args):
    """(metric of a network's outputs for each image once, how many images there were)."""
    symbol, arg_params, aux_params = modelzoo.load(args.model)
    data, label = modelzoo.inputs(symbol, arg_params)
    images = records.reader(
        args,
        "--data-val",
        args.data_val,
        round_batch=False,
        data_name=data,
        label_name=label or "softmax_label",
    )
    module = mx.mod.Module(symbol, (data,), (label,) if label else None, context=fit.devices(args))
    maximum = left = min(args.max_num_examples or images.num_data, images.num_data)
    try:
        module.bind(images.provide_data, images.provide_label if label else None, False)
        module.set_params(arg_params, aux_params)
        metric = mx.metric.CompositeEvalMetric([mx.metric.Accuracy()])
        if 1 < args.top_k < module.output_shapes[0][1][1]:
            metric.add(mx.metric.TopKAccuracy(top_k=args.top_k))
        bar = tqdm(total=left, unit=" images", disable=None)
        for batch in images:
            module.forward(batch, is_train=False)
            count = min(args.batch_size - batch.pad, left)  # the last batch is filled up
            outputs = [each[:count] for each in module.get_outputs()]
            metric.update([each[:count] for each in batch.label], outputs)
            bar.update(count)
            left -= count
            if not left:
                break
        bar.close()
    except mx.base.MXNetError as error:
        raise SystemExit(f"--model {args.model}: {error}") from None
    finally:
        images.close()
    return metric, maximum - left


def main(argv=None):
    """Print accuracy and speed."""
    args = parser().parse_args(argv)
    start = time.perf_counter()
    metric, count = score(args)
    seconds = time.perf_counter() - start
    for name, value in metric.get_name_value():
        print(f"{name}: {100 * value:.2f} %")
    print(f"{count} images, {count / seconds:.1f} a second")


if __name__ == "__main__":
    main()
