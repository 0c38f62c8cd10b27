"""Serve a page on which one drops an image and reads its classes.

python examples/serving/page.py                       a network of digits, which is trained first
python examples/serving/page.py -- PREFIX --shape 3,224,224 --classes names.txt ...   yours
"""

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np

import cynet as mx
from cynet.tools.serve import application, parser, serve

HERE = Path(__file__).parent
DIGITS = HERE.parent / "image_classification" / "data" / "digits.npz"
PAGE = (HERE / "page.html").read_bytes()


class Page:
    """The application of a Predictor, and a page at its root that asks it."""

    def __init__(self, app):
        self._app, self.close, self.max_body = app, app.close, app.max_body

    def __call__(self, environ, start_response):
        if environ.get("PATH_INFO") not in ("", "/"):
            return self._app(environ, start_response)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            start_response("405 Method Not Allowed", [("Allow", "GET"), ("Content-Length", "0")])
            return []
        kind = ("Content-Type", "text/html; charset=utf-8")
        start_response("200 OK", [kind, ("Content-Length", str(len(PAGE)))])
        return [PAGE if environ["REQUEST_METHOD"] == "GET" else b""]


def network():
    """A small convolutional network for images of 28x28 and ten classes."""
    x = mx.sym.Variable("data")
    for i, filters in enumerate((16, 32)):
        x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="relu")
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=64, name="fc0")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="relu"), num_hidden=10, name="fc1")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def train(folder, epochs):
    """Train on the bundled digits; write the checkpoint, names and ten images to drop."""
    with np.load(DIGITS) as file:
        pixels, labels = file["images"], file["labels"]
    grown = np.kron(pixels.astype("float32") / 16, np.ones((3, 3), "float32"))
    images = np.pad(grown, ((0, 0), (2, 2), (2, 2)))[:, None]
    seen = np.arange(len(labels)) % 5 != 4  # every fifth image validates
    mx.random.seed(0)
    module = mx.mod.Module(network())
    module.fit(
        mx.io.NDArrayIter(images[seen], labels[seen].astype("float32"), 64, shuffle=True),
        mx.io.NDArrayIter(images[~seen], labels[~seen].astype("float32"), 64),
        num_epoch=epochs,
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.002},
    )
    folder.mkdir(parents=True, exist_ok=True)
    module.save_checkpoint(str(folder / "digits"), epochs)
    (folder / "classes.txt").write_text("".join(f"{i}\n" for i in range(10)))
    for digit in range(10):
        first = images[~seen][labels[~seen] == digit][0, 0]
        cv2.imwrite(str(folder / f"digit-{digit}.png"), (first * 255).astype("uint8"))


class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Help that keeps the lines of the description, and tells the default of an option that has
    one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=Formatter)
    options.add_argument("--out", type=Path, default="digits", help="folder that is written")
    options.add_argument("--epochs", type=int, default=8, help="epochs of training")
    options.add_argument("--port", type=int, default=8080, help="port to listen on; 0 for any")
    options.add_argument(
        "served", nargs="*", help="behind --: a model and options of python -m cynet.tools.serve"
    )
    args = options.parse_args()
    served = args.served
    if not served:
        train(args.out, args.epochs)
        print(f"{args.out} has images to drop: digit-0.png to digit-9.png", flush=True)
        served = [str(args.out / "digits"), "--shape", "1,28,28", "--top", "3"]
        served += ["--classes", str(args.out / "classes.txt")]
    settings = parser().parse_args([*served, "--port", str(args.port)])
    if settings.classes is None:
        options.error("the page needs the names of classes: --classes FILE")
    serve(Page(application(settings)), settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
