"""What each graph pass brings: training steps with all passes, with one left out, and with none.

``python benchmarks/passes.py``; ratios are the time over that with all passes, runs turn about.
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
ROUNDS = 7


def main():
    """Print a table."""
    import cynet as mx

    sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "image_classification"))
    print(f"{'network':<32}" + "".join(f"{plan:>10}" for plan in PLANS))
    for name, (file, options, batch_size, shape) in CASES.items():
        symbol = importlib.import_module(f"symbols.{file}").get_symbol(10, **options)
        steps = {}
        for plan in PLANS:
            os.environ["CYNET_GRAPH_PASSES"] = plan
            steps[plan] = step(mx, symbol, batch_size, shape)
            steps[plan]()
        times = {plan: [] for plan in PLANS}
        for _ in range(ROUNDS):
            for plan, run in steps.items():
                run()  # its arrays come back into the caches
                start = time.perf_counter()
                run()
                times[plan].append(time.perf_counter() - start)
        whole = statistics.median(times["all"])
        ratios = (f"{statistics.median(times[plan]) / whole:10.2f}" for plan in PLANS[1:])
        print(f"{name:<32}{whole * 1e3:>7.1f} ms" + "".join(ratios))


if __name__ == "__main__":
    main()
