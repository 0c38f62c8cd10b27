"""Prediction in int8 beside float32 and bfloat16: ResNet-50 and MobileNet v2, batch 1 and 8.

    python benchmarks/int8.py [--threads N] [--networks mobilenet_v2 ...]

Weights are random; limits are found on the batch itself. Rounds of all forms are interleaved, the
best of each counts. Which instructions there are, says the first line: with VNNI or AMX int8 has
two to eight times the products of float32, with AVX2 alone, whose exact products are those of
integers of 16 bits, 1.7 times.
"""

import argparse
import time

import numpy as np
from cynet.kernels.isa.dispatch import cpu_capability

import cynet as mx
from cynet.contrib import quantization

NETWORKS = {
    "resnet50": mx.gluon.model_zoo.vision.resnet50_v1,
    "mobilenet_v2": mx.gluon.model_zoo.vision.mobilenet_v2_1_0,
}


def executors(make, batch):
    """Name of a form to a function that predicts, and how far int8 is from float32."""
    data = mx.nd.random.uniform(shape=(batch, 3, 224, 224))
    net = make()
    net.initialize(mx.init.Xavier())
    net(data)
    small = quantization.quantize_net(net, calib_mode="naive", calib_data=[data])
    found = {}
    for name, block in (("float32", net), ("int8", small)):
        block.hybridize(static_alloc=True, static_shape=True)
        found[name] = lambda block=block: block(data).wait_to_read()
    wanted, made = net(data).asnumpy(), small(data).asnumpy()
    error = np.sqrt(np.square(made - wanted).mean() / np.square(wanted).mean())
    return found, error


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 8])
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    print("level:", cpu_capability())
    for name in args.networks:
        for batch in args.batches:
            forms, error = executors(NETWORKS[name], batch)
            best = dict.fromkeys(forms, float("inf"))
            for _ in range(args.rounds):
                for form, run in forms.items():
                    start = time.perf_counter()
                    run()
                    best[form] = min(best[form], time.perf_counter() - start)
            times = ", ".join(f"{form} {1e3 * seconds:.1f} ms" for form, seconds in best.items())
            gain = best["float32"] / best["int8"]
            print(f"{name}, batch {batch}: {times}, {gain:.2f} times; outputs differ {error:.3f}")


if __name__ == "__main__":
    main()
