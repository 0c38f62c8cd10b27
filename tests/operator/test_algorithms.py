"""What the log says of the algorithms of imperative calls (CYNET_LOG_ALGORITHMS)."""

import logging

import numpy as np
import pytest

import cynet as mx


def logged(caplog, call):
    caplog.clear()
    with caplog.at_level(logging.INFO, "cynet"):
        call()
    return [record.getMessage() for record in caplog.records if record.name == "cynet"]


CALLS = {
    "Convolution": lambda: mx.nd.Convolution(
        mx.nd.ones((2, 3, 11, 13)),
        mx.nd.ones((5, 3, 3, 3)),
        no_bias=True,
        kernel=(3, 3),
        num_filter=5,
    ),
    "FullyConnected": lambda: mx.nd.FullyConnected(
        mx.nd.ones((7, 11)), mx.nd.ones((13, 11)), no_bias=True, num_hidden=13
    ),
    "dot": lambda: mx.nd.dot(mx.nd.ones((7, 13)), mx.nd.ones((13, 17))),
    "batch_dot": lambda: mx.nd.batch_dot(mx.nd.ones((3, 7, 13)), mx.nd.ones((3, 13, 17))),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_log_names_the_algorithm_once_for_each_signature(name, caplog, monkeypatch):
    mx.operator.get_operator(name).cache.clear()
    monkeypatch.setenv("CYNET_LOG_ALGORITHMS", "1")
    monkeypatch.setenv("CYNET_GEMM_ALGORITHM", "blas")
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", "gemm")
    lines = logged(caplog, CALLS[name])
    assert any(line.startswith(f"{name} on ((") and "float32" in line for line in lines), lines
    if name != "Convolution":  # which BLAS alone does not compute
        assert any(": blas (forced" in line for line in lines), lines
    assert logged(caplog, CALLS[name]) == []


def test_nothing_is_logged_without_the_setting_or_a_choice(caplog, monkeypatch):
    shape = (3, 19)
    assert logged(caplog, lambda: mx.nd.dot(mx.nd.ones(shape), mx.nd.ones((19, 5)))) == []
    monkeypatch.setenv("CYNET_LOG_ALGORITHMS", "1")
    x = mx.nd.array(np.ones(shape))
    assert logged(caplog, lambda: mx.nd.sigmoid(x)) == []
