"""Predicts with an ONNX file in ONNX Runtime or OpenVINO: ``worker_int8.py LIBRARY FILE THREADS``.

Answers each line of its input with the seconds of one prediction. ``worker_int8.py quantize FILE
MADE`` makes a file of integers by ONNX Runtime's own quantizer.
"""

import json
import sys
import time

import numpy as np


def onnxruntime(path, threads):
    """A function that predicts with ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    options.add_session_config_entry("session.force_spinning_stop", "1")  # between runs
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    data = {given.name: np.random.default_rng(0).random(given.shape, "float32")}
    return lambda: session.run(None, data)


def openvino(path, threads):
    """A function that predicts with OpenVINO."""
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    hint = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(model, "CPU", hint).create_infer_request()
    data = np.random.default_rng(0).random(tuple(model.inputs[0].shape), "float32")
    return lambda: request.infer([data])


def quantize(path, made):
    """Write what quantize_static makes of a file in floats: data of uint8, weights of int8 with a
    step for each filter, limits of one batch."""
    import onnxruntime
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Batch(quantization.CalibrationDataReader):
        def __init__(self):
            (given,) = onnxruntime.InferenceSession(path).get_inputs()
            data = np.random.default_rng(0).random(given.shape, "float32")
            self.left = iter([{given.name: data}])

        def get_next(self):
            return next(self.left, None)

    quant_pre_process(path, made, skip_symbolic_shape=True)  # BatchNorm goes into convolutions
    kinds = quantization.QuantType
    quantization.quantize_static(
        made,
        made,
        Batch(),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
        activation_type=kinds.QUInt8,
        weight_type=kinds.QInt8,
    )


def main():
    """Measure as long as lines come."""
    if sys.argv[1] == "quantize":
        return quantize(*sys.argv[2:])
    run = {"onnxruntime": onnxruntime, "openvino": openvino}[sys.argv[1]](
        sys.argv[2], int(sys.argv[3])
    )
    run()
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        run()
        print(json.dumps(time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    main()
