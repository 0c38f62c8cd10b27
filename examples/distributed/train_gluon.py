"""Trains a Block in as many processes as there are, with a loop of its own."""

import logging
import sys
from pathlib import Path

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


def main(argv=None):
    """Train; returns the validation accuracy."""
    parser = common.parser(__doc__, without=["workers", "gpu"], epochs=6, lr=0.1, batch_size=25)
    common.add_dataset(parser)
    args = parser.parse_args(argv)
    kv = mx.kv.create("dist_sync")
    common.start(args, quiet=kv.rank > 0)
    (images, labels), (others, answers) = common.arrays(args.dataset)
    logging.info("%d images, ranks: %d", len(images), kv.num_workers)
    dataset = gluon.data.ArrayDataset(images, labels)
    sampler = gluon.data.PartSampler(len(dataset))  # this rank's part; all parts have one length
    loader = gluon.data.DataLoader(dataset, args.batch_size, sampler=sampler, last_batch="discard")
    net = nn.HybridSequential()
    net.add(nn.Dense(64, activation="relu"), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    if not args.eager:
        net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": args.lr, "momentum": 0.9}, kvstore=kv
    )
    history = common.History("loss", "accuracy")
    unseen, answers = mx.nd.array(others), mx.nd.array(answers)
    for _ in range(args.epochs):
        total = mx.metric.Loss()  # loss of this rank's images
        for x, y in common.progress(loader, "epoch", quiet=kv.rank > 0):
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(args.batch_size * kv.num_workers)  # the images of all ranks
            total.update(None, loss)
        accuracy = mx.metric.Accuracy()  # all ranks have the same weights
        accuracy.update(answers, net(unseen))
        history.add(total.get()[1], accuracy.get()[1])
    if kv.rank == 0:
        common.finish(args, "block", net, history, unseen[:1])
    logging.info("validation accuracy: %.2f %%", 100 * accuracy.get()[1])
    return accuracy.get()[1]


if __name__ == "__main__":
    main()
