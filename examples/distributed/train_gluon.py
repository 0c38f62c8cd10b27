"""Trains a hybridized Block in as many processes as there are, with a loop of its own."""

import digits

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn


def main(argv=None):
    """Train; returns the validation accuracy."""
    args = digits.arguments(__doc__, argv)
    kv = mx.kv.create("dist_sync")
    train, (val_images, val_labels) = digits.load()
    dataset = gluon.data.ArrayDataset(*train)
    sampler = gluon.data.PartSampler(len(dataset))  # this rank's part, as long as all others
    loader = gluon.data.DataLoader(dataset, args.batch_size, sampler=sampler, last_batch="discard")
    net = nn.HybridSequential()
    net.add(nn.Dense(64, activation="relu"), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": args.lr, "momentum": 0.9}, kvstore=kv
    )
    for epoch in range(args.epochs):
        total = 0.0
        for images, labels in loader:
            with autograd.record():
                loss = loss_of(net(images), labels)
            loss.backward()
            trainer.step(args.batch_size * kv.num_workers)  # the examples of all ranks
            total += loss.mean().asscalar()
        if kv.rank == 0:
            print(f"epoch {epoch}: loss {total / len(loader):.3f} on rank 0")
    accuracy = mx.metric.Accuracy()  # all ranks have the same weights
    accuracy.update([mx.nd.array(val_labels)], [net(mx.nd.array(val_images))])
    if kv.rank == 0:
        print(f"{kv.num_workers} ranks: validation accuracy {accuracy.get()[1]:.3f}")
    return accuracy.get()[1]


if __name__ == "__main__":
    main()
