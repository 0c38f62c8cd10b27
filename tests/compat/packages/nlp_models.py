"""BERT-base and an AWD-LSTM of gluonnlp 0.10.0 with weights drawn by NumPy.

``python nlp_models.py OUT.npz``: prediction, and a training step's loss and gradients, written as
sums and first numbers of each array. It imports mxnet, as scripts for gluonnlp do: MXNet 1.9.1
runs it as it is, cynet by ``python -m cynet nlp_models.py``.
"""

import sys

import gluonnlp as nlp
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

found = {}


def keep(name, array):
    array = array.asnumpy().astype("float64")
    flat = array.reshape(-1)
    found[name] = np.concatenate([[flat.sum(), np.abs(flat).sum(), array.size], flat[:8]])


def vocabulary(size):
    words = [f"w{i}" for i in range(size)]
    return nlp.vocab.BERTVocab(nlp.data.count_tokens(words))


def set_weights(net, seed):
    rng = np.random.RandomState(seed)
    for name, parameter in sorted(net._collect_params_with_prefix().items()):
        shape = parameter.shape
        if name.endswith("gamma"):
            values = 1 + 0.1 * rng.standard_normal(shape)
        elif "weight" in name:
            values = 0.02 * rng.standard_normal(shape)
        else:
            values = 0.01 * rng.standard_normal(shape)
        parameter.set_data(mx.nd.array(values, dtype="float32"))
    return net


def keep_gradients(label, net):
    for name, parameter in sorted(net._collect_params_with_prefix().items()):
        # the gradient of a bias of keys is 0 but for rounding: softmax takes it away
        if parameter.grad_req != "null" and not name.endswith("proj_key.bias"):
            keep(f"{label}/grad/{name}", parameter.grad())


def bert(hybridize):
    label = "bert-hybrid" if hybridize else "bert"
    vocab = vocabulary(200)
    net, _ = nlp.model.get_model(
        "bert_12_768_12", dataset_name=None, vocab=vocab, pretrained=False,
        use_pooler=True, use_decoder=True, use_classifier=True, dropout=0.0,
    )  # fmt: skip
    net.initialize(mx.init.Zero())
    rng = np.random.RandomState(1)
    tokens = mx.nd.array(rng.randint(0, len(vocab), (2, 12)), dtype="float32")
    types = mx.nd.array(rng.randint(0, 2, (2, 12)), dtype="float32")
    length = mx.nd.array([12, 9], dtype="float32")
    positions = mx.nd.array([[1, 4, 7], [0, 2, 5]], dtype="int32")
    net(tokens, types, length, positions)  # shapes
    set_weights(net, 7)
    if hybridize:
        net.hybridize(static_alloc=True)
    outputs = net(tokens, types, length, positions)
    for i, each in enumerate(outputs):
        keep(f"{label}/out{i}", each)
    loss_fn = gluon.loss.SoftmaxCELoss()
    labels = mx.nd.array(rng.randint(0, len(vocab), (2, 3)))
    following = mx.nd.array([0, 1])
    with autograd.record():
        _, _, classes, decoded = net(tokens, types, length, positions)
        loss = loss_fn(decoded, labels).mean() + loss_fn(classes, following).mean()
    loss.backward()
    keep(f"{label}/loss", loss)
    keep_gradients(label, net)
    trainer = gluon.Trainer(net.collect_params(), "bertadam", {"learning_rate": 1e-3, "wd": 0.01})
    trainer.step(1)
    keep(f"{label}/after", net(tokens, types, length, positions)[0])


def awd_lstm():
    vocab = vocabulary(100)
    net, _ = nlp.model.get_model(
        "awd_lstm_lm_1150", dataset_name=None, vocab=vocab, pretrained=False, dropout=0.0,
        drop_h=0.0, drop_i=0.0, drop_e=0.0, weight_drop=0.0,
    )  # fmt: skip
    net.initialize(mx.init.Zero())
    rng = np.random.RandomState(2)
    data = mx.nd.array(rng.randint(0, len(vocab), (6, 2)))
    state = net.begin_state(batch_size=2, func=mx.nd.zeros)
    net(data, state)
    set_weights(net, 8)
    state = net.begin_state(batch_size=2, func=mx.nd.zeros)
    loss_fn = gluon.loss.SoftmaxCELoss()
    with autograd.record():
        output, state = net(data, state)
        loss = loss_fn(output.reshape((-3, -1)), data.reshape((-1,))).mean()
    loss.backward()
    keep("awd/out", output)
    for i, each in enumerate(state):
        for k, array in enumerate(each if isinstance(each, (list, tuple)) else [each]):
            keep(f"awd/state{i}-{k}", array)
    keep("awd/loss", loss)
    keep_gradients("awd", net)


if __name__ == "__main__":
    bert(False)
    bert(True)
    awd_lstm()
    np.savez_compressed(sys.argv[1], **found)
    print("ran", len(found))
