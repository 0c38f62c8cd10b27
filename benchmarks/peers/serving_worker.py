"""The simplest server of a network around waitress, for ONNX Runtime or PyTorch; on any free port.

python serving_worker.py THREADS onnxruntime MODEL.onnx | torch NETWORK PARAMS.npz

THREADS of one prediction; 0 is what the library does by itself.
"""

import io
import sys

import numpy as np
import waitress


def of_onnxruntime(threads, path):
    """Probabilities of rows, by ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda rows: session.run(None, {name: rows})[0]


def of_torch(threads, network, path):
    """Probabilities of rows, by PyTorch."""
    import torch
    from torch import nn

    if threads:
        torch.set_num_threads(threads)
    if network == "mlp":
        layers = [
            nn.Flatten(),
            nn.Linear(784, 128),
            nn.ReLU(),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        ]
    else:
        layers = [
            nn.Conv2d(1, 8, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(256, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        ]
    model = nn.Sequential(*layers, nn.Softmax(dim=1)).eval()
    values = np.load(path)
    with torch.no_grad():
        for param, name in zip(model.parameters(), values.files):
            param.copy_(torch.from_numpy(values[name]))

    def run(rows):
        with torch.inference_mode():
            return model(torch.from_numpy(rows)).numpy()

    return run


def application(run):
    """A WSGI application: a ``.npy`` body in, one out."""

    def app(environ, start_response):
        size = int(environ["CONTENT_LENGTH"])
        rows = np.load(io.BytesIO(environ["wsgi.input"].read(size)), allow_pickle=False)
        file = io.BytesIO()
        np.save(file, run(rows))
        body = file.getvalue()
        head = [("Content-Type", "application/x-npy"), ("Content-Length", str(len(body)))]
        start_response("200 OK", head)
        return [body]

    return app


def main():
    """Serve until killed; the first line says the port."""
    threads, kind, *rest = sys.argv[1:]
    run = {"onnxruntime": of_onnxruntime, "torch": of_torch}[kind](int(threads), *rest)
    server = waitress.create_server(application(run), host="127.0.0.1", port=0, threads=32)
    print(f"http://127.0.0.1:{server.effective_port}", flush=True)
    server.run()


if __name__ == "__main__":
    main()
