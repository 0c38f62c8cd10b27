"""Language model's way: an embedding with sparse gradients before a recurrent network, by Gluon."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn, rnn

WORDS, SIZE, STEPS, BATCH = 500, 16, 8, 10


class Model(gluon.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = nn.HybridSequential(prefix="embedding_")
            with self.embedding.name_scope():
                self.embedding.add(nn.Embedding(WORDS, SIZE, sparse_grad=True))
                self.embedding.add(nn.Dropout(0.0))
            self.encoder = rnn.LSTM(32, 1)
            self.decoder = nn.Dense(WORDS, flatten=False)

    def forward(self, words, states):
        encoded, states = self.encoder(self.embedding(words), states)
        return self.decoder(encoded), states


class SkipGram(nn.HybridBlock):
    """Words that stand together, against words drawn at random."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.center = nn.Embedding(
                WORDS, SIZE, sparse_grad=True, weight_initializer=mx.init.Uniform(1.0 / SIZE)
            )
            self.context = nn.Embedding(
                WORDS, SIZE, sparse_grad=True, weight_initializer=mx.init.Uniform(1.0 / SIZE)
            )

    def hybrid_forward(self, F, center, words):
        centers = self.center(center).expand_dims(axis=1)
        return F.batch_dot(centers, self.context(words).swapaxes(1, 2)).squeeze(axis=1)


def texts():
    rng = np.random.default_rng(5)
    follows = rng.permutation(WORDS)
    words = [0]
    for _ in range(BATCH * (STEPS * 20 + 1) - 1):
        words.append(follows[words[-1]] if rng.random() < 0.95 else rng.integers(WORDS))
    return mx.nd.array(np.array(words).reshape(BATCH, -1).T)


def train_language_model(text):
    model = Model()
    model.initialize(mx.init.Xavier())
    model.embedding.hybridize()
    model.decoder.hybridize()
    trainer = gluon.Trainer(model.collect_params(), "adam", {"learning_rate": 0.02})
    loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
    seen = []
    for _ in range(6):
        states, total, count = model.encoder.begin_state(BATCH), 0.0, 0
        for begin in range(0, len(text) - 1 - STEPS, STEPS):
            words, wanted = text[begin : begin + STEPS], text[begin + 1 : begin + 1 + STEPS]
            states = [each.detach() for each in states]
            with autograd.record():
                output, states = model(words, states)
                loss = loss_function(output.reshape((-3, -1)), wanted.reshape((-1,)))
            loss.backward()
            grads = [p.grad() for p in model.collect_params().values() if p.grad_req != "null"]
            dense = [g for g in grads if g.stype == "default"]
            gluon.utils.clip_global_norm(dense, 1.0 * STEPS * BATCH)
            trainer.step(STEPS * BATCH)
            total, count = total + loss.mean().asscalar(), count + 1
        seen.append(total / count)
    grad = model.embedding[0].weight.grad()
    assert grad.stype == "row_sparse" and len(grad.indices) <= STEPS * BATCH
    return seen


def train_skip_gram(text):
    net = SkipGram()
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(
        net.collect_params(), mx.optimizer.contrib.GroupAdaGrad(learning_rate=0.3), kvstore=None
    )
    loss_function = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    rng, seen = np.random.default_rng(6), []
    flat = text.asnumpy().T.ravel().astype(int)
    for _ in range(60):
        places = rng.integers(0, len(flat) - 1, 128)
        centers = mx.nd.array(flat[places])
        words = np.concatenate([flat[places + 1, None], rng.integers(0, WORDS, (128, 4))], 1)
        label = mx.nd.array(np.repeat([[1, 0, 0, 0, 0]], 128, 0))
        with autograd.record():
            loss = loss_function(net(centers, mx.nd.array(words)), label)
        loss.backward()
        trainer.step(1)
        seen.append(loss.mean().asscalar())
    return seen


if __name__ == "__main__":
    mx.random.seed(8)
    np.random.seed(8)
    text = texts()
    losses = train_language_model(text)
    assert losses[-1] < 0.6 * losses[0], losses
    pairs = train_skip_gram(text)
    assert np.mean(pairs[-5:]) < 0.9 * pairs[0], pairs
    print("losses", losses[-1], np.mean(pairs[-5:]))
