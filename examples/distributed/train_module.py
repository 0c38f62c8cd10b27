"""Trains a Module in as many processes as there are: python -m cynet.launch -n 2 train_module.py"""

import logging
import sys
from pathlib import Path

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64)
    net = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.FullyConnected(net, num_hidden=10)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def main(argv=None):
    """Train; returns the validation accuracy."""
    parser = common.parser(
        __doc__, without=["workers", "gpu", "eager"], epochs=6, lr=0.1, batch_size=25
    )
    common.add_dataset(parser)
    parser.add_argument(
        "--resume", metavar="PREFIX", help="write PREFIX.training each epoch, and go on from it"
    )
    args = parser.parse_args(argv)
    kv = mx.kv.create("dist_sync")
    common.start(args, quiet=kv.rank > 0)
    train, val = common.arrays(args.dataset)
    logging.info("%d images, ranks: %d", len(train[0]), kv.num_workers)

    def iterator(images, labels, shuffle):
        mine = slice(kv.rank, None, kv.num_workers)  # this rank's part
        return mx.io.NDArrayIter(images[mine], labels[mine], args.batch_size, shuffle=shuffle)

    module = mx.mod.Module(network())
    batches = iterator(*train, True)
    history = module.fit(
        batches,
        eval_data=iterator(*val, False),
        num_epoch=args.epochs,
        kvstore=kv,
        optimizer="sgd",
        optimizer_params={"learning_rate": args.lr, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        resume=args.resume,
        batch_end_callback=None if kv.rank else common.bar(-(-batches.num_data // args.batch_size)),
    )
    (_, accuracy), *_ = module.score(iterator(*val, False), "acc")  # over all ranks' parts
    if kv.rank == 0:
        prefix = Path(args.out) / "module"
        common.plot_fit(history, prefix.with_suffix(".png"))
        module.save_checkpoint(str(prefix), args.epochs)
        logging.info("use it: net = mx.Predictor('%s', shapes=%s)", prefix, train[0].shape[1:])
    logging.info("validation accuracy: %.2f %%", 100 * accuracy)
    return accuracy


if __name__ == "__main__":
    main()
