"""Paints one image in the style of another one: gradients of an image through a network."""

import logging
import sys
from pathlib import Path

import numpy as np
import pictures

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn

sys.path.append(str(Path(__file__).parents[1] / "gluon"))
import common


class Features(gluon.HybridBlock):
    """Images (N, 3, h, w) to what three convolutions see, each at half the size of the last."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.stages = nn.HybridSequential()
            for filters in (16, 32, 64):
                self.stages.add(nn.Conv2D(filters, 3, padding=1, activation="relu"))

    def hybrid_forward(self, F, x):
        x, seen = 4 * x - 2, []
        for number, stage in enumerate(self.stages):
            if number:
                x = F.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg")
            x = stage(x)
            seen.append(x)
        return seen


class Classifier(gluon.HybridBlock):
    """Names a texture, by the means of the features over the image."""

    def __init__(self, features, classes, **kwargs):
        super().__init__(**kwargs)
        self.features = features
        with self.name_scope():
            self.out = nn.Dense(classes)

    def hybrid_forward(self, F, x):
        means = [F.mean(each, axis=(2, 3)) for each in self.features(x)]
        return self.out(F.concat(*means, dim=1))


def learn_textures(net, args, ctx, rng):
    """Train the network to tell textures apart; returns the accuracy of the last batches."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005})
    metric = mx.metric.Accuracy()
    for number in common.progress(range(args.batches), "textures"):
        if number == args.batches * 3 // 4:
            metric.reset()
        x, y = (mx.nd.array(each, ctx=ctx) for each in pictures.textures(32, 32, rng))
        with autograd.record():
            scores = net(x)
            each = loss(scores, y)
        each.backward()
        trainer.step(len(x))
        metric.update(y, scores)
    return metric.get()[1]


def gram(x):
    """Correlations of features at all positions: (1, c, h, w) to (c, c)."""
    rows = x.reshape((x.shape[1], -1))
    return mx.nd.dot(rows, rows, transpose_b=True) / rows.shape[1]


def paint(features, content, style, args):
    """The image, the loss of style at the beginning, and the history of both losses."""
    wanted = features(content)[-1]
    grams = [gram(x) for x in features(style)]
    scales = [1 / (g**2).mean() for g in grams]
    scale = 1 / (wanted**2).mean()
    image = content.copy()
    image.attach_grad()
    rates = mx.lr_scheduler.CosineScheduler(args.steps, base_lr=args.lr)
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam", lr_scheduler=rates))
    history = common.History("style", "content", unit="step", every=max(1, args.steps // 10))
    for step in common.progress(range(1, args.steps + 1), "step"):
        with autograd.record():
            seen = features(image)
            far = scale * ((seen[-1] - wanted) ** 2).mean()
            unlike = sum(s * ((gram(x) - g) ** 2).mean() for x, g, s in zip(seen, grams, scales))
            unlike = unlike / len(grams)
            rough = ((image[:, :, 1:] - image[:, :, :-1]) ** 2).mean()
            rough = rough + ((image[:, :, :, 1:] - image[:, :, :, :-1]) ** 2).mean()
            loss = args.style_weight * unlike + far + args.smooth * rough
        if step == 1:
            begin = unlike.asscalar()
        loss.backward()
        updater(0, image.grad, image)
        image[:] = image.clip(0, 1)
        if step % history.every == 0:
            history.add(unlike.asscalar(), far.asscalar())
    return image, begin, history


def draw(path, images):
    """The images beside each other."""
    pyplot = common.matplotlib_or_word("picture")
    if pyplot is None:
        return
    figure, axes = pyplot.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
    for axis, (title, image) in zip(axes, images.items()):
        axis.imshow(pictures.pixels(image))
        axis.set(title=title, xticks=(), yticks=())
    figure.savefig(path, dpi=100, format="png")
    pyplot.close(figure)
    logging.info("picture: %s", path)


def main(argv=None):
    """Paint; returns the accuracy, the loss of style at first, and both losses in the end."""
    parser = common.parser(__doc__, without=["workers", "epochs", "batch_size"], lr=0.05)
    parser.add_argument("--content", metavar="FILE", help="image to paint (default: one made up)")
    parser.add_argument("--style", metavar="FILE", help="image to learn from (default: waves)")
    parser.add_argument("--size", type=common.positive, default=96, help="pixels of a side")
    parser.add_argument("--steps", type=common.positive, default=200, help="changes of the image")
    parser.add_argument(
        "--batches", type=common.positive, default=150, help="batches of textures to learn from"
    )
    parser.add_argument("--style-weight", type=float, default=100.0, help="weight of the style")
    parser.add_argument("--smooth", type=float, default=5.0, help="weight of smoothness")
    args = parser.parse_args(argv)
    if args.size < 16:
        parser.error(f"--size {args.size}: 16 or more")
    ctx = common.start(args)
    rng = np.random.default_rng(args.seed)
    try:
        content = pictures.read(args.content, args.size) if args.content else None
        style = pictures.read(args.style, args.size) if args.style else None
    except (OSError, mx.base.MXNetError) as error:
        parser.error(f"--content, --style: {error}")
    content = pictures.landscape(args.size) if content is None else content
    style = pictures.waves(args.size) if style is None else style
    logging.info("images of %d x %d, %d steps", args.size, args.size, args.steps)

    features = Features()
    net = Classifier(features, len(pictures.KINDS))
    net.initialize(mx.init.Xavier(magnitude=2), ctx=ctx)
    if not args.eager:
        net.hybridize()
    accuracy = learn_textures(net, args, ctx, rng)
    logging.info("tells %d textures apart: %.2f %%", len(pictures.KINDS), 100 * accuracy)
    if not args.eager:
        features.hybridize()
    content, style = (mx.nd.array(each[None], ctx=ctx) for each in (content, style))
    image, begin, history = paint(features, content, style, args)
    folder = Path(args.out)
    arrays = {"content": content, "style": style, "painted": image}
    draw(folder / "painted.png", {name: each[0].asnumpy() for name, each in arrays.items()})
    mx.nd.save(str(folder / "painted.nd"), arrays)
    common.finish(args, "textures", net, history, content)
    end, far = history.rows[-1]
    logging.info("loss of style: %.4f, at the beginning %.4f", end, begin)
    return accuracy, begin, end, far


if __name__ == "__main__":
    main()
