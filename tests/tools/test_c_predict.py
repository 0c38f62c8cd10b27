"""The predict API in C: a program asks a network, and makes mistakes; threads; what is missing."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import CynetError
from cynet.tools import c_predict
from cynet_cuda_cpu.compiler import host_compiler

PROGRAM = Path(__file__).parents[1] / "serving" / "c_predict.c"
HERE = sysconfig.get_config_var("Py_ENABLE_SHARED") and shutil.which("cc")
pytestmark = pytest.mark.skipif(not HERE, reason="this Python is no shared library, or no cc")

THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "c_predict_api.h"
static char text[1 << 16];
static void *ask(void *given) {
    const char *keys[] = {"data"};
    mx_uint starts[] = {0, 2}, lengths[] = {1, 4}, i;
    mx_float input[4], output[2], first = -1;
    PredictorHandle net;
    long number = (long)given;
    FILE *file = fopen("net-0001.params", "rb");
    char bytes[1 << 12];
    int size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (i = 0; i < 4; ++i) input[i] = number;
    if (MXPredCreate(text, bytes, size, 1, 0, 1, keys, starts, lengths, &net)) return "create";
    for (i = 0; i < 50; ++i) {
        if (MXPredSetInput(net, "data", input, 4) || MXPredForward(net)) return "forward";
        if (MXPredGetOutput(net, 0, output, 2)) return "output";
        if (first < 0) first = output[0];
        if (output[0] != first) return "differs";
    }
    return MXPredFree(net) ? "free" : NULL;
}
int main(void) {
    pthread_t threads[4];
    void *said;
    long i;
    FILE *file = fopen("net-symbol.json", "rb");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    for (i = 0; i < 4; ++i) pthread_create(threads + i, NULL, ask, (void *)i);
    for (i = 0; i < 4; ++i) {
        pthread_join(threads[i], &said);
        if (said) printf("%s: %s\n", (char *)said, MXGetLastError());
    }
    printf("done\n");
    return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("c predict")  # the name has a space
    assert c_predict.main([str(folder)]) == 0
    return folder


@pytest.fixture
def network(tmp_path, rng):
    """A checkpoint net-0001 of a network with two layers, and what it computes."""
    net = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="hidden")
    net = mx.sym.BatchNorm(mx.sym.Activation(net, act_type="tanh"), name="norm", fix_gamma=False)
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.init_params(mx.init.Xavier())
    args, auxs = module.get_params()
    args = {k: mx.nd.array(rng.standard_normal(v.shape)) for k, v in args.items()}
    auxs = {k: mx.nd.array(rng.random(v.shape) + 0.5) for k, v in auxs.items()}
    module.set_params(args, auxs)
    module.save_checkpoint(str(tmp_path / "net"), 1)
    a = {k: v.asnumpy().astype("float64") for k, v in {**args, **auxs}.items()}

    def computed(x):
        hidden = x @ a["hidden_weight"].T + a["hidden_bias"]
        scaled = np.tanh(hidden) - a["norm_moving_mean"]
        scaled = scaled / np.sqrt(a["norm_moving_var"] + 1e-3) * a["norm_gamma"] + a["norm_beta"]
        out = np.exp(scaled @ a["fc_weight"].T + a["fc_bias"])
        return hidden, out / out.sum(axis=1, keepdims=True)

    return computed


def compiled(library, source, target, *options):
    command = ["cc", "-Wall", "-Werror", "-std=c99", source, *options, f"-I{library}"]
    command += [f"-L{library}", "-lcynet_predict", f"-Wl,-rpath,{library}", "-o", target]
    subprocess.run(command, check=True)
    return str(target)


def run(program, folder):
    done = subprocess.run(
        [program, "net-symbol.json", "net-0001.params"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout.splitlines()


def test_a_program_in_c(library, network, tmp_path):
    lines = run(compiled(library, PROGRAM, tmp_path / "program"), tmp_path)
    assert lines.pop() == "done 1"
    two, three = (np.arange(rows * 4).reshape(rows, 4) * 0.25 for rows in (2, 3))
    wanted = {
        "whole 2 2": network(two)[1],
        "inner 2 3": network(two)[0],
        "other 3 2": network(three)[1],
    }
    for line in lines[:4]:
        head, _, numbers = line.partition(":")
        found = np.array(numbers.split(), float)
        np.testing.assert_allclose(found, wanted[head].reshape(-1), rtol=1e-4, atol=1e-5)
    assert [line.partition(":")[0] for line in lines[:4]] == [*wanted, "whole 2 2"]
    assert lines[4] == "list 8 10"
    for line, said in zip(
        lines[5:],
        [
            "FormatError",
            "dev_type must be 1 (CPU) or 2 (GPU), got 7",
            "no input is called 'date'; there are",
            "input_shape_indptr must not descend",
            "FormatError",
            "'hidden_weight' is neither a parameter of the file nor an input",
            "a pointer is NULL",
            "there is no layer 'date'",
            "no input is called 'fc_weight'; there are",
            "'data' has shape (2, 4), which is 8 numbers, got 3",
            "output 0 has shape (2, 2), which is 4 numbers, got room for 3",
            "there is no output 9, there are 1",
            "no input is called 'date'",
            "a pointer is NULL",
            "FormatError",
            "a pointer is NULL",
        ],
        strict=True,
    ):
        assert line.startswith("-1 ") and said in line


def test_threads(library, network, tmp_path):
    (tmp_path / "threads.c").write_text(THREADS)
    program = compiled(library, tmp_path / "threads.c", tmp_path / "threads", "-pthread")
    for _ in range(3):
        assert run(program, tmp_path) == ["done"]


def test_what_is_missing_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(c_predict.sysconfig, "get_config_var", lambda key: str(tmp_path))
    assert c_predict.main([str(tmp_path / "lib")]) == 1
    assert "is no shared library (Debian: apt-get install" in capsys.readouterr().err
    monkeypatch.undo()
    host_compiler.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(CynetError, match="'no-such-compiler' was not found; c_predict needs one"):
        c_predict.build(str(tmp_path / "other"))
    monkeypatch.setenv("CXX", shutil.which("false"))
    host_compiler.cache_clear()
    with pytest.raises(CynetError, match="c_predict: .*failed"):
        c_predict.build(str(tmp_path / "third"))
    host_compiler.cache_clear()
