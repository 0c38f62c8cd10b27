"""Trains a Module in as many processes as there are: python -m cynet.launch -n 2 train_module.py"""

import digits

import cynet as mx


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64)
    net = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.FullyConnected(net, num_hidden=10)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def main(argv=None):
    """Train; returns the validation accuracy."""
    args = digits.arguments(__doc__, argv, resume=True)
    kv = mx.kv.create("dist_sync")
    train, val = digits.load()

    def iterator(images, labels, shuffle):
        mine = slice(kv.rank, None, kv.num_workers)  # this rank's part
        return mx.io.NDArrayIter(images[mine], labels[mine], args.batch_size, shuffle=shuffle)

    module = mx.mod.Module(network())
    module.fit(
        iterator(*train, True),
        eval_data=iterator(*val, False),
        num_epoch=args.epochs,
        kvstore=kv,
        optimizer="sgd",
        optimizer_params={"learning_rate": args.lr, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        resume=args.resume,
    )
    (_, accuracy), *_ = module.score(iterator(*val, False), "acc")  # over all ranks' parts
    if kv.rank == 0:
        print(f"{kv.num_workers} ranks: validation accuracy {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
