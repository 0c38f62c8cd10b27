"""Fools a network that reads digits: small steps along the sign of the gradient of the image."""

import logging
import sys
from pathlib import Path

import numpy as np

import cynet as mx

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


def network():
    """Two convolutions with maxima, two linear maps."""
    net = mx.sym.Variable("data")
    for number, filters in enumerate((16, 32), 1):
        net = mx.sym.Convolution(
            net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{number}"
        )
        net = mx.sym.relu(net)
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.relu(mx.sym.FullyConnected(net, num_hidden=64, name="fc1"))
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def fgsm(module, batch, epsilon):
    """The batch's images, each pixel moved by `epsilon` so that the loss rises most.

    `module` is bound with ``inputs_need_grad=True``; its parameters stay.
    """
    module.forward(batch, is_train=True)
    module.backward()
    (slope,) = module.get_input_grads()
    return mx.nd.clip(batch.data[0] + epsilon * mx.nd.sign(slope), 0, 1)


def noise(images, epsilon):
    """The images, each pixel moved by `epsilon` in a random direction."""
    signs = mx.nd.sign(mx.nd.random.uniform(-1, 1, shape=images.shape, ctx=images.context))
    return mx.nd.clip(images + epsilon * signs, 0, 1)


def train(module, batches, args, epsilon, history):
    """Train; with an `epsilon` half of the updates are those of images that fool the network."""
    metric = mx.metric.CompositeEvalMetric([mx.metric.CrossEntropy(), mx.metric.Accuracy()])
    count = -(-batches.num_data // args.batch_size)
    for _ in range(args.epochs):
        metric.reset()
        batches.reset()
        for batch in common.progress(batches, "epoch", count):
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
            if epsilon:
                changed = mx.io.DataBatch([fgsm(module, batch, epsilon)], batch.label)
                module.forward_backward(changed)
                module.update()
        history.add(*(value for _, value in metric.get_name_value()))


def accuracies(module, batches, epsilons):
    """(by FGSM, by noise): accuracy at each of `epsilons`; the images of the last one, their labels
    and what the network takes them for."""
    by = {"gradient": [], "noise": []}
    for epsilon in common.progress(epsilons, "epsilon"):
        metrics = {name: mx.metric.Accuracy() for name in by}
        seen = []
        batches.reset()
        for batch in batches:
            changed = {
                "gradient": fgsm(module, batch, epsilon),
                "noise": noise(batch.data[0], epsilon),
            }
            count = batch.data[0].shape[0] - batch.pad
            for name, images in changed.items():
                module.forward(mx.io.DataBatch([images], batch.label), is_train=False)
                metrics[name].update([batch.label[0][:count]], [module.get_outputs()[0][:count]])
                if name == "gradient":
                    taken = module.get_outputs()[0].asnumpy().argmax(axis=1)
                    seen.append([x[:count] for x in (images.asnumpy(), taken)])
        for name, metric in metrics.items():
            by[name].append(metric.get()[1])
    return by, [np.concatenate(parts) for parts in zip(*seen)]


def draw(path, epsilons, curves, pairs):
    """Accuracy over epsilon; and a few digits before and after, with what they are taken for."""
    pyplot = common.matplotlib_or_word("plot")
    if pyplot is None:
        return
    figure = pyplot.figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(5, 6))
    axis = left.subplots()
    for name, values in curves.items():
        axis.plot(epsilons, values, marker="o", label=name)
    axis.set(xlabel="step of each pixel (they are from 0 to 1)", title="accuracy", ylim=(0, 1))
    axis.grid(alpha=0.3)
    axis.legend()
    axes = right.subplots(2, len(pairs))
    right.suptitle(f"read right, and fooled by a step of {epsilons[-1]:g}")
    for column, (before, label, after, taken) in zip(axes.T, pairs):
        for axis, image, title in zip(column, (before, after), (label, taken)):
            axis.imshow(image, cmap="gray", vmin=0, vmax=1)
            axis.set(title=str(title), xticks=(), yticks=())
    figure.savefig(path, dpi=100, format="png")
    pyplot.close(figure)
    logging.info("plot: %s", path)


def main(argv=None):
    """Train and fool; returns the accuracies without a step, and with the largest of both kinds."""
    parser = common.parser(__doc__, without=["workers", "eager"], epochs=15, lr=0.003)
    common.add_dataset(parser)
    parser.add_argument(
        "--epsilon", type=float, default=0.2, help="largest step of a pixel, from 0 to 1"
    )
    parser.add_argument("--steps", type=common.positive, default=5, help="how many steps are tried")
    parser.add_argument("--defend", action="store_true", help="train on such images, too")
    args = parser.parse_args(argv)
    if not 0 < args.epsilon <= 1:
        parser.error(f"--epsilon {args.epsilon:g} is not between 0 and 1")
    ctx = common.start(args)
    (images, labels), (others, answers) = common.arrays(args.dataset)
    logging.info("%d images to train on, %d to be fooled with", len(images), len(others))
    batches = mx.io.NDArrayIter(images, labels, args.batch_size, shuffle=True)
    unseen = mx.io.NDArrayIter(others, answers, args.batch_size)
    module = mx.mod.Module(network(), context=ctx)
    module.bind(batches.provide_data, batches.provide_label, inputs_need_grad=True)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": args.lr})
    history = common.History("cross-entropy", "accuracy")
    train(module, batches, args, args.epsilon if args.defend else 0, history)

    epsilons = np.linspace(0, args.epsilon, args.steps + 1)
    curves, (changed, taken) = accuracies(module, unseen, epsilons)
    for epsilon, *values in zip(epsilons, *curves.values()):
        logging.info("step %.3f  accuracy %.4f  by noise %.4f", epsilon, *values)
    plain = module.predict(unseen).asnumpy().argmax(axis=1)
    fooled = np.flatnonzero((plain == answers) & (taken != answers))[:6]
    pairs = [(others[i, 0], answers[i], changed[i, 0], taken[i]) for i in fooled]
    name = "defended" if args.defend else "plain"
    folder = Path(args.out)
    draw(folder / f"{name}.png", epsilons, curves, pairs)
    np.savez(folder / f"{name}-fooling.npz", images=changed, labels=answers, taken=taken)
    module.save_checkpoint(str(folder / name), args.epochs)
    logging.info("use it: module = mx.mod.Module.load('%s', %d)", folder / name, args.epochs)
    return curves["gradient"][0], curves["gradient"][-1], curves["noise"][-1]


if __name__ == "__main__":
    main()
