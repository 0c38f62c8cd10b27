"""What each graph pass brings: training steps and predictions with all passes, with some left out,
and with none.

``python benchmarks/passes.py``; ratios are the time over that with all passes, runs interleaved.
"""

import importlib
import os
import statistics
import sys
import time
from pathlib import Path

from training_step import step

CASES = {  # name: file of symbols/, options, batch size, shape of an image
    "LeNet, batch 128": ("lenet", {}, 128, (1, 28, 28)),
    "ResNet-20, 32x32, batch 64": ("resnet", {"num_layers": 20}, 64, (3, 32, 32)),
    "Inception-BN, 64x64, batch 16": (
        "inception_bn",
        {"image_shape": (3, 64, 64)},
        16,
        (3, 64, 64),
    ),
}
PLANS = ("all", "-layout", "-fuse", "-commute", "-inplace", "-reuse", "none")
PREDICTIONS = {  # name: file of symbols/, options; batch 1 of 224x224
    "ResNet-50, prediction": ("resnet", {"num_layers": 50, "image_shape": (3, 224, 224)}),
    "Inception-BN, prediction": ("inception_bn", {}),
}
PREDICTION_PLANS = ("all", "-sum", "-pack", "none")
ROUNDS = 7


def prediction(mx, symbol):
    """A function that predicts one image and waits for it."""
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=(1, 3, 224, 224))
    for array in executor.arg_arrays:
        array[:] = mx.nd.random.uniform(-0.05, 0.05, array.shape)
    return lambda: executor.forward()[0].wait_to_read()


def compare(cases, plans, make):
    """A line a case: milliseconds with all passes, and how many times as long with the others."""
    print(f"{'network':<32}" + "".join(f"{plan:>15}" for plan in plans))
    for name, case in cases.items():
        runs = {}
        for plan in plans:
            os.environ["CYNET_GRAPH_PASSES"] = plan
            runs[plan] = make(*case)
            runs[plan]()
        times = {plan: [] for plan in plans}
        for _ in range(ROUNDS):
            for plan, run in runs.items():
                run()  # a first run brings the arrays into the caches
                start = time.perf_counter()
                run()
                times[plan].append(time.perf_counter() - start)
        whole = statistics.median(times["all"])
        ratios = (f"{statistics.median(times[plan]) / whole:15.2f}" for plan in plans[1:])
        print(f"{name:<32}{whole * 1e3:>12.1f} ms" + "".join(ratios), flush=True)


def main():
    """Print a table for training and one for prediction."""
    import cynet as mx

    sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "image_classification"))

    def symbol(file, options, classes):
        return importlib.import_module(f"symbols.{file}").get_symbol(classes, **options)

    compare(
        PREDICTIONS,
        PREDICTION_PLANS,
        lambda file, options: prediction(mx, symbol(file, options, 1000)),
    )
    compare(
        CASES,
        PLANS,
        lambda file, options, size, shape: step(mx, symbol(file, options, 10), size, shape),
    )


if __name__ == "__main__":
    main()
