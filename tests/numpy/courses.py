"""More programs as courses have them: lessons.py's form, other functions of mx.np and mx.npx.

``python tests/numpy/courses.py`` in an environment of MXNet 1.9.1 writes courses.npz, the values
that the test compares with.
"""

import math
import os
import sys
import tempfile
from pathlib import Path

import numpy as onp

try:
    from .lessons import Lessons, _wave, leaves
except ImportError:  # as a program, in MXNet's environment
    from lessons import Lessons, _wave, leaves

VALUES = Path(__file__).with_suffix(".npz")


def _fill(net, np, scale=0.3):
    for k, p in enumerate(net.collect_params().values()):
        p.set_data(np.array(_wave(p.shape, k, scale)))


class Courses(Lessons):
    """The programs, of the package `mx`; each gives nested lists of arrays and numbers."""

    def linear_regression(self):
        np, ag, gluon, mx = self.np, self.autograd, self.gluon, self.mx
        X = np.array(_wave((20, 3), 1, 1) ** 3)
        y = np.dot(X, np.array([2.0, -3.4, 0.5])) + 4.2
        w, b = np.zeros((3, 1)), np.zeros(1)
        w.attach_grad()
        b.attach_grad()
        data = gluon.data.DataLoader(gluon.data.ArrayDataset(X, y), 6, shuffle=False)
        seen = []
        for _ in range(3):
            for Xb, yb in data:
                with ag.record():
                    cost = (np.dot(Xb, w) + b - yb.reshape(-1, 1)) ** 2 / 2
                cost.backward()
                for p in (w, b):
                    p -= 0.1 * p.grad / len(Xb)
                seen.append(float(cost.mean()))
        parts = gluon.utils.split_and_load(X, [mx.cpu(0)], even_split=False)
        exact = np.linalg.lstsq(np.concatenate([X, np.ones((20, 1))], 1), y, rcond=None)[0]
        return [w, b, seen, parts[0].sum(), exact, len(data)]

    def dropout_and_weight_decay(self):
        np, npx, nn, ag, gluon = self.np, self.npx, self.nn, self.autograd, self.gluon
        X = np.array(_wave((6, 4), 2, 1))
        net = nn.Sequential()
        net.add(nn.Dense(8, activation="relu"), nn.Dropout(0.5), nn.Dense(1))
        net.initialize()
        net(X)
        _fill(net, np)
        net.collect_params(".*bias").setattr("wd_mult", 0)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 3.0})
        with ag.record(train_mode=False):
            cost = gluon.loss.L2Loss()(net(X), np.ones((6, 1)))
        cost.backward()
        trainer.step(6)
        with ag.record():
            dropped = npx.dropout(np.ones((100, 100)), 0.4)
        weights = [p.data() for p in net.collect_params().values()]
        share = float((dropped == 0).astype("float32").mean())
        return [net(X), weights, abs(share - 0.4) < 0.03, np.unique(np.around(dropped, 3))]

    def convolution_scratch(self):
        np, npx, ag, nn = self.np, self.npx, self.autograd, self.nn

        def corr2d(X, K):
            h, w = K.shape
            Y = np.zeros((X.shape[0] - h + 1, X.shape[1] - w + 1))
            for i in range(Y.shape[0]):
                for j in range(Y.shape[1]):
                    Y[i, j] = (X[i : i + h, j : j + w] * K).sum()
            return Y

        def pool2d(X, size, mode="max"):
            Y = np.zeros((X.shape[0] - size + 1, X.shape[1] - size + 1))
            for i in range(Y.shape[0]):
                for j in range(Y.shape[1]):
                    part = X[i : i + size, j : j + size]
                    Y[i, j] = part.max() if mode == "max" else part.mean()
            return Y

        X = np.ones((6, 8))
        X[:, 2:6] = 0
        K = np.array([[1.0, -1.0]])
        Y = corr2d(X, K)
        layer = nn.Conv2D(1, kernel_size=(1, 2), use_bias=False)
        layer.initialize()
        X4, Y4 = X.reshape(1, 1, 6, 8), Y.reshape(1, 1, 6, 7)
        layer(X4)
        layer.weight.set_data(np.array(_wave((1, 1, 1, 2), 1)))
        for _ in range(4):
            with ag.record():
                cost = (layer(X4) - Y4) ** 2
            cost.backward()
            layer.weight.data()[:] -= 3e-2 * layer.weight.grad()
        many = np.stack([corr2d(X, K * k) for k in (1, 2)], 0)
        pooled = npx.pooling(X4, kernel=(2, 2), pool_type="avg", stride=(2, 2))
        padded = np.pad(X, ((1, 1), (0, 2)), "constant")
        own = npx.convolution(X4, np.ones((2, 1, 3, 3)), np.zeros(2), kernel=(3, 3), num_filter=2)
        found = [layer.weight.data(), cost.sum(), many, pool2d(X, 2), pool2d(X, 2, "avg")]
        return [*found, pooled, padded, own]

    def lenet(self):
        np, nn, ag, gluon = self.np, self.nn, self.autograd, self.gluon
        net = nn.Sequential()
        net.add(
            nn.Conv2D(channels=3, kernel_size=5, padding=2, activation="sigmoid"),
            nn.AvgPool2D(pool_size=2, strides=2),
            nn.Conv2D(channels=4, kernel_size=3, activation="sigmoid"),
            nn.AvgPool2D(pool_size=2, strides=2),
            nn.Dense(10, activation="sigmoid"),
            nn.Dense(4),
        )
        net.initialize(init=self.init.Xavier())
        X, y = np.array(_wave((5, 1, 12, 12), 0, 1)), np.array([0, 1, 2, 3, 1])
        shapes, out = [], X
        for layer in net:
            out = layer(out)
            shapes.append(out.shape)
        _fill(net, np, 0.4)
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
        costs = []
        for _ in range(4):
            with ag.record():
                cost = loss(net(X), y)
            cost.backward()
            trainer.step(5)
            costs.append(cost)
        return [costs, shapes, net(X), net[0].weight.data()]

    def batch_norm_by_hand(self):
        np, nn, ag = self.np, self.nn, self.autograd

        def batch_norm(X, gamma, beta, mean_, var_, eps=1e-5, momentum=0.9):
            if not ag.is_training():
                hat = (X - mean_) / np.sqrt(var_ + eps)
            else:
                axes = (0,) if len(X.shape) == 2 else (0, 2, 3)
                mean = X.mean(axis=axes, keepdims=True)
                var = ((X - mean) ** 2).mean(axis=axes, keepdims=True)
                hat = (X - mean) / np.sqrt(var + eps)
                mean_ = momentum * mean_ + (1.0 - momentum) * mean
                var_ = momentum * var_ + (1.0 - momentum) * var
            return gamma * hat + beta, mean_, var_

        class BatchNorm(nn.Block):
            def __init__(self, channels, **kwargs):
                super().__init__(**kwargs)
                shape = (1, channels, 1, 1)
                self.gamma = self.params.get("gamma", shape=shape, init="ones")
                self.beta = self.params.get("beta", shape=shape, init="zeros")
                self.moving_mean, self.moving_var = np.zeros(shape), np.ones(shape)

            def forward(self, X):
                Y, self.moving_mean, self.moving_var = batch_norm(
                    X, self.gamma.data(), self.beta.data(), self.moving_mean, self.moving_var
                )
                return Y

        own, ready = BatchNorm(3), self.nn.BatchNorm(epsilon=1e-5)
        own.initialize()
        ready.initialize()
        X = np.array(_wave((4, 3, 2, 2), 1, 2))
        X.attach_grad()
        found = []
        for net in (own, ready):
            for _ in range(2):
                with ag.record():
                    out = (net(X) ** 3).sum()
                out.backward()
            found += [out, X.grad.copy(), net(X)]
        return [*found, own.moving_mean, ready.running_var.data(), own.gamma.grad()]

    def rnn_scratch(self):
        np, npx, ag = self.np, self.npx, self.autograd
        text = "the time machine by h g wells"
        vocab = {c: i for i, c in enumerate(sorted(set(text)))}
        corpus = np.array([vocab[c] for c in text])
        n, hidden = len(vocab), 6
        X, Y = corpus[:24].reshape(2, 12), corpus[1:25].reshape(2, 12)
        shapes = [(n, hidden), (hidden, hidden), (hidden,), (hidden, n), (n,)]
        params = [np.array(_wave(s, k, 0.3)) for k, s in enumerate(shapes)]
        for p in params:
            p.attach_grad()

        def rnn(inputs, state):
            W_xh, W_hh, b_h, W_hq, b_q = params
            outputs = []
            for x in inputs:
                state = np.tanh(np.dot(x, W_xh) + np.dot(state, W_hh) + b_h)
                outputs.append(np.dot(state, W_hq) + b_q)
            return np.concatenate(outputs, axis=0), state

        costs = []
        for _ in range(3):
            state = np.zeros((2, hidden))
            with ag.record():
                out, state = rnn(npx.one_hot(X.T, n), state)
                y = Y.T.reshape(-1)
                cost = -npx.pick(npx.log_softmax(out, axis=-1), y).mean()
            cost.backward()
            norm = math.sqrt(sum(float((p.grad**2).sum()) for p in params))
            for p in params:
                if norm > 1:
                    p.grad[:] *= 1 / norm
                p[:] -= p.grad
            costs += [cost, math.exp(float(cost)), norm]
        state, said = np.zeros((1, hidden)), [vocab["t"]]
        for _ in range(5):
            out, state = rnn(npx.one_hot(np.array([[said[-1]]]), n), state)
            said.append(int(out.argmax(axis=1).reshape(1)[0]))
        return [*costs, state, said]

    def recurrent_layers(self):
        np, ag, gluon = self.np, self.autograd, self.gluon
        X = np.array(_wave((5, 2, 3), 2, 1))
        found = []
        for made in (
            lambda: gluon.rnn.RNN(4),
            lambda: gluon.rnn.GRU(4, num_layers=2),
            lambda: gluon.rnn.LSTM(4, bidirectional=True),
        ):
            net = made()
            net.initialize()
            state = net.begin_state(batch_size=2)
            net(X, state)
            _fill(net, np)
            with ag.record():
                out, state = net(X, net.begin_state(batch_size=2))
                cost = (out**2).sum()
            cost.backward()
            grads = [p.grad() for p in net.collect_params().values()]
            found += [out, state, grads[0], grads[-1], [e.shape for e in state]]
        return found

    def encoder_decoder(self):
        np, npx, nn, ag, gluon = self.np, self.npx, self.nn, self.autograd, self.gluon

        class MaskedSoftmaxCE(gluon.loss.SoftmaxCELoss):
            def forward(self, pred, label, valid_len):
                weights = np.expand_dims(np.ones_like(label), axis=-1)
                weights = npx.sequence_mask(weights, valid_len, True, axis=1)
                return super().forward(pred, label, weights)

        class Seq2Seq(nn.Block):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                self.embed, self.into = nn.Embedding(9, 4), nn.Embedding(9, 4)
                self.encoder, self.decoder = gluon.rnn.GRU(5), gluon.rnn.GRU(5)
                self.dense = nn.Dense(9, flatten=False)

            def forward(self, X, Y):
                X = np.swapaxes(self.embed(X), 0, 1)
                _, state = self.encoder(X, self.encoder.begin_state(X.shape[1]))
                Y = self.into(Y).swapaxes(0, 1)
                context = np.broadcast_to(state[0][-1:], (Y.shape[0], *state[0].shape[1:]))
                out, state = self.decoder(np.concatenate((Y, context), 2), state)
                return self.dense(out).swapaxes(0, 1)

        net = Seq2Seq()
        net.initialize()
        X = np.array([[1, 2, 3, 0], [4, 5, 0, 0]])
        Y = np.array([[2, 3, 4, 1], [6, 7, 1, 1]])
        length = np.array([4, 2])
        net(X, Y)
        _fill(net, np)
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        loss, costs = MaskedSoftmaxCE(), []
        for _ in range(3):
            start = np.array([8] * 2).reshape(-1, 1)
            with ag.record():
                cost = loss(net(X, np.concatenate([start, Y[:, :-1]], 1)), Y, length)
            cost.backward()
            trainer.step(int(length.sum()))
            costs.append(cost)
        return [costs, net(X, Y).argmax(axis=2), net.dense.weight.data()]

    def attention(self):
        np, npx, nn, ag = self.np, self.npx, self.nn, self.autograd

        def masked_softmax(X, valid):
            shape = X.shape
            valid = valid.repeat(shape[1]) if valid.ndim == 1 else valid.reshape(-1)
            X = npx.sequence_mask(X.reshape(-1, shape[-1]), valid, True, value=-1e6, axis=1)
            return npx.softmax(X).reshape(shape)

        class Additive(nn.Block):
            def __init__(self, units, **kwargs):
                super().__init__(**kwargs)
                self.W_k = nn.Dense(units, use_bias=False, flatten=False)
                self.W_q = nn.Dense(units, use_bias=False, flatten=False)
                self.w_v = nn.Dense(1, use_bias=False, flatten=False)

            def forward(self, queries, keys, values, valid):
                queries, keys = self.W_q(queries), self.W_k(keys)
                features = np.tanh(np.expand_dims(queries, 2) + np.expand_dims(keys, 1))
                scores = np.squeeze(self.w_v(features), axis=-1)
                return npx.batch_dot(masked_softmax(scores, valid), values)

        queries, keys = np.array(_wave((2, 1, 6), 1)), np.array(_wave((2, 5, 2), 2))
        values = np.arange(40).reshape(1, 10, 4)[:, :5].repeat(2, axis=0)
        valid = np.array([2, 4])
        net = Additive(4)
        net.initialize()
        net(queries, keys, values, valid)
        _fill(net, np)
        keys.attach_grad()
        with ag.record():
            out = net(queries, keys, values, valid)
        out.backward()
        scores = npx.batch_dot(keys, keys, transpose_b=True) / 2
        two = masked_softmax(np.array(_wave((2, 2, 4))), np.array([[1, 3], [2, 4]]))
        return [out, keys.grad, masked_softmax(scores, valid), two]

    def transformer_block(self):
        np, npx, nn, ag = self.np, self.npx, self.nn, self.autograd

        class Positions(nn.Block):
            def __init__(self, units, longest=20, **kwargs):
                super().__init__(**kwargs)
                self.P = np.zeros((1, longest, units))
                X = np.arange(0, longest).reshape(-1, 1)
                X = X / np.power(10000, np.arange(0, units, 2) / units)
                self.P[:, :, 0::2] = np.sin(X)
                self.P[:, :, 1::2] = np.cos(X)

            def forward(self, X):
                return X + self.P[:, : X.shape[1], :].as_in_ctx(X.ctx)

        class Heads(nn.Block):
            def __init__(self, units, heads, **kwargs):
                super().__init__(**kwargs)
                self.n = heads
                self.W_q, self.W_k, self.W_v, self.W_o = (
                    nn.Dense(units, use_bias=False, flatten=False) for _ in range(4)
                )

            def apart(self, X):
                X = X.reshape(X.shape[0], X.shape[1], self.n, -1).transpose(0, 2, 1, 3)
                return X.reshape(-1, X.shape[2], X.shape[3])

            def forward(self, X):
                q, k, v = (self.apart(W(X)) for W in (self.W_q, self.W_k, self.W_v))
                scores = npx.batch_dot(q, k, transpose_b=True) / math.sqrt(q.shape[-1])
                out = npx.batch_dot(npx.softmax(scores), v)
                out = out.reshape(-1, self.n, out.shape[1], out.shape[2]).transpose(0, 2, 1, 3)
                return self.W_o(out.reshape(out.shape[0], out.shape[1], -1))

        class Encoder(nn.Block):
            def __init__(self, units, heads, **kwargs):
                super().__init__(**kwargs)
                self.place, self.attention = Positions(units), Heads(units, heads)
                self.first, self.second = nn.LayerNorm(), nn.LayerNorm()
                self.wide = nn.Dense(12, flatten=False, activation="relu")
                self.back = nn.Dense(units, flatten=False)

            def forward(self, X):
                X = self.place(X)
                Y = self.first(X + self.attention(X))
                return self.second(Y + self.back(self.wide(Y)))

        net = Encoder(8, 2)
        net.initialize()
        X = np.array(_wave((2, 5, 8), 3, 1))
        net(X)
        _fill(net, np)
        X.attach_grad()
        with ag.record():
            out = net(X)
            cost = (out * np.array(_wave(out.shape, 9))).sum()
        cost.backward()
        joined = npx.reshape(X, (-2, -5))
        split = npx.reshape(joined, (-2, -6, 5, 8))
        return [out, X.grad, net.first.gamma.grad(), joined.shape, split.shape, net.place.P[0, :3]]

    def optimizers_scratch(self):
        np, ag = self.np, self.autograd

        def slopes(x):
            x.attach_grad()
            with ag.record():
                y = 0.1 * x[0] ** 2 + 2 * x[1] ** 2 + np.log1p(np.abs(x).sum())
            y.backward()
            return x.grad

        def run(step, states=2):
            x, kept = np.array([-5.0, -2.0]), [np.zeros(2) for _ in range(states)]
            trail = []
            for t in range(1, 8):
                x = step(x, slopes(x), kept, t)
                trail.append(x)
            return np.stack(trail)

        def momentum(x, g, s, t):
            s[0][:] = 0.5 * s[0] + g
            return x - 0.3 * s[0]

        def adagrad(x, g, s, t):
            s[0][:] += np.square(g)
            return x - 0.4 * g / np.sqrt(s[0] + 1e-6)

        def rmsprop(x, g, s, t):
            s[0][:] = 0.9 * s[0] + 0.1 * np.square(g)
            return x - 0.4 * g / np.sqrt(s[0] + 1e-6)

        def adadelta(x, g, s, t):
            s[0][:] = 0.9 * s[0] + 0.1 * np.square(g)
            change = np.sqrt(s[1] + 1e-5) / np.sqrt(s[0] + 1e-5) * g
            s[1][:] = 0.9 * s[1] + 0.1 * change * change
            return x - change

        def adam(x, g, s, t):
            s[0][:] = 0.9 * s[0] + 0.1 * g
            s[1][:] = 0.999 * s[1] + 0.001 * np.square(g)
            m, v = s[0] / (1 - 0.9**t), s[1] / (1 - 0.999**t)
            return x - 0.4 * m / (np.sqrt(v) + 1e-6)

        return [run(each) for each in (momentum, adagrad, rmsprop, adadelta, adam)]

    def word_vectors(self):
        np, npx, nn, ag, gluon = self.np, self.npx, self.nn, self.autograd, self.gluon
        tokens = [3, 1, 4, 1, 5, 2, 6, 5, 3, 5]
        counts = np.bincount(np.array(tokens, dtype="int32"))
        keep = np.sqrt(1e-1 / (counts[1:].astype("float32") / len(tokens)))
        net = nn.Sequential()
        net.add(nn.Embedding(7, 4), nn.Embedding(7, 4))
        net.initialize()
        center = np.array([[1], [2]])
        context = np.array([[3, 4, 1, 0], [5, 6, 2, 3]])
        mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]])
        label = np.array([[1, 0, 0, 0], [1, 1, 0, 0]])
        net[0](center), net[1](context)
        _fill(net, np)
        loss = gluon.loss.SigmoidBCELoss()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        costs = []
        for _ in range(3):
            with ag.record():
                v, u = net[0](center), net[1](context)
                pred = npx.batch_dot(v, u.swapaxes(1, 2))
                cost = loss(pred.reshape(label.shape), label, mask) / mask.sum(axis=1) * 4
            cost.backward()
            trainer.step(2)
            costs.append(cost)
        W = net[0].weight.data()
        x = W[3]
        cos = np.dot(W, x) / np.sqrt(np.sum(W * W, axis=1) * np.sum(x * x) + 1e-9)
        top = npx.topk(cos, k=3, ret_typ="indices").asnumpy().astype("int32")
        values = npx.topk(cos, k=3, ret_typ="value")
        return [counts.astype("float32"), keep, costs, cos, top, values]

    def anchor_boxes(self):
        np, npx = self.np, self.npx
        X = np.zeros((1, 3, 4, 6))
        boxes = npx.multibox_prior(X, sizes=[0.75, 0.5], ratios=[1, 2, 0.5])
        grid = boxes.reshape(4, 6, 4, 4)

        def box_iou(a, b):
            def area(x):
                return (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])

            left = np.maximum(a[:, None, :2], b[:, :2])
            right = np.minimum(a[:, None, 2:], b[:, 2:])
            inter = np.maximum(right - left, 0)
            inter = inter[:, :, 0] * inter[:, :, 1]
            return inter / (area(a)[:, None] + area(b) - inter)

        truth = np.array([[0, 0.1, 0.08, 0.52, 0.92], [1, 0.55, 0.2, 0.9, 0.88]])
        given = np.array(
            [
                [0, 0.1, 0.2, 0.3],
                [0.15, 0.2, 0.4, 0.4],
                [0.63, 0.05, 0.88, 0.98],
                [0.66, 0.45, 0.8, 0.8],
                [0.57, 0.3, 0.92, 0.9],
            ]
        )
        iou = box_iou(given, truth[:, 1:])
        best = np.argmax(iou, axis=1)
        targets = npx.multibox_target(
            np.expand_dims(given, 0), np.expand_dims(truth, 0), np.zeros((1, 3, 5))
        )
        probs = np.array([[0.0] * 4, [0.9, 0.8, 0.7, 0.1], [0.1, 0.2, 0.3, 0.9]])
        some = np.array(
            [
                [0.1, 0.08, 0.52, 0.92],
                [0.08, 0.2, 0.56, 0.95],
                [0.15, 0.3, 0.62, 0.91],
                [0.55, 0.2, 0.9, 0.88],
            ]
        )
        out = npx.multibox_detection(
            np.expand_dims(probs, 0), np.zeros((1, 16)), np.expand_dims(some, 0), nms_threshold=0.5
        )
        order = np.argsort(-iou[:, 0])
        return [boxes.shape, grid[2, 3], iou, best, targets, out, order]

    def fine_tuning(self):
        np, npx, nn, ag = self.np, self.npx, self.nn, self.autograd
        gluon, mx = self.gluon, self.mx

        def made():
            net = nn.Sequential()
            net.add(nn.Dense(5, activation="tanh"), nn.Dense(4, activation="relu"), nn.Dense(3))
            net.initialize()
            net(np.ones((1, 6)))
            return net

        with tempfile.TemporaryDirectory() as folder:
            first, path = made(), os.path.join(folder, "net.params")
            _fill(first, np)
            first.save_parameters(path)
            net = made()
            net.load_parameters(path, ctx=mx.cpu())
            kept = os.path.join(folder, "arrays")
            npx.save(kept, {"x": np.arange(3), "y": np.ones((2, 2))})
            arrays = npx.load(kept)
            npx.save(kept, [np.zeros(2), np.ones(3)])
            several = npx.load(kept)
        net[0].collect_params().setattr("grad_req", "null")
        net[2].collect_params().setattr("lr_mult", 10)
        X, y = np.array(_wave((4, 6), 5, 1)), np.array([0, 2, 1, 2])
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
        before = net[0].weight.data().copy()
        for _ in range(2):
            with ag.record():
                out = net(X)
                cost = -npx.pick(npx.log_softmax(out), y)
            cost.backward()
            trainer.step(4)
        moved = float(np.abs(net[0].weight.data() - before).sum())
        return [cost, net(X), moved, net[2].bias.data(), arrays["x"], arrays["y"], several]

    def adversarial_pair(self):
        np, nn, ag, gluon = self.np, self.nn, self.autograd, self.gluon
        G, D = nn.Sequential(), nn.Sequential()
        G.add(
            nn.Conv2DTranspose(4, kernel_size=4, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2DTranspose(1, kernel_size=4, strides=2, padding=1, activation="tanh"),
        )
        D.add(nn.Conv2D(3, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2D(1, kernel_size=4))
        Z, X = np.array(_wave((2, 3, 1, 1), 1, 1)), np.array(_wave((2, 1, 8, 8), 4, 1))
        for net in (G, D):
            net.initialize()
        D(G(Z))
        for net in (G, D):
            _fill(net, np)
        for name, p in G.collect_params().items():
            if name.endswith("running_var"):
                p.set_data(np.ones(p.shape))
        loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
        trainers = [
            gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01, "beta1": 0.5})
            for net in (G, D)
        ]
        ones, zeros, costs = np.ones((2,)), np.zeros((2,)), []
        for _ in range(2):
            with ag.record():
                real, fake = D(X), D(G(Z).detach())
                cost = (
                    loss(real, ones.reshape(real.shape)) + loss(fake, zeros.reshape(fake.shape))
                ) / 2
            cost.backward()
            trainers[1].step(2)
            with ag.record():
                fake = D(G(Z))
                told = loss(fake, ones.reshape(fake.shape))
            told.backward()
            trainers[0].step(2)
            costs += [cost, told]
        return [costs, G(Z), D(X)]


NAMES = [name for name in vars(Courses) if not name.startswith("_")]


def main():
    import mxnet as mx

    mx.npx.set_np()
    values = {}
    for name in NAMES:
        for i, leaf in enumerate(leaves(getattr(Courses(mx), name)())):
            values[f"{name}.{i}"] = leaf
    onp.savez_compressed(VALUES, **values)


if __name__ == "__main__":
    sys.exit(main())
