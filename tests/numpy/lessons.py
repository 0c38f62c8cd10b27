"""Programs as courses on deep learning have them, and what MXNet 1.9.1 gives for each.

``python tests/numpy/lessons.py`` in an environment of MXNet writes lessons.npz.
"""

import math
import sys
from pathlib import Path

import numpy as onp

VALUES = Path(__file__).with_suffix(".npz")


def _wave(shape, k=0, scale=0.5):
    n = int(onp.prod(shape))
    return (onp.sin(onp.arange(n) * 0.7 + k) * scale).reshape(shape).astype("float32")


def _fill(net, np, scale=0.3):
    """Values that do not depend on a generator."""
    for k, p in enumerate(net.collect_params().values()):
        p.set_data(np.array(_wave(p.shape, k, scale)))


class Lessons:
    """The programs, of the package `mx`; each gives nested lists of arrays and numbers.

    `nn` may have other classes in the place of Block and Sequential.
    """

    def __init__(self, mx, nn=None):
        self.mx, self.np, self.npx, self.gluon = mx, mx.np, mx.npx, mx.gluon
        self.nn, self.autograd, self.init = nn or mx.gluon.nn, mx.autograd, mx.init

    def softmax_scratch(self):
        np, ag = self.np, self.autograd
        X = np.array(_wave((12, 5), 0, 1))
        y = np.array([0, 1, 2] * 4)
        W = np.array(_wave((5, 3), 3, 0.1))
        b = np.zeros(3)
        W.attach_grad()
        b.attach_grad()

        def softmax(X):
            e = np.exp(X)
            return e / e.sum(axis=1, keepdims=True)

        def ce(yh, y):
            return -np.log(yh[range(len(yh)), y])

        for _ in range(5):
            with ag.record():
                cost = ce(softmax(np.dot(X, W) + b), y)
            cost.backward()
            for p in (W, b):
                p[:] = p - 0.5 * p.grad / 12
        yh = softmax(np.dot(X, W) + b)
        pred = yh.argmax(axis=1)
        acc = float((pred.astype(y.dtype) == y).sum())
        return [W, b, cost, acc, yh.sum(axis=1), yh[[0, 1], [0, 2]]]

    def custom_blocks(self):
        np, npx, nn, mx = self.np, self.npx, self.nn, self.mx

        class MLP(nn.Block):
            def __init__(self, **kw):
                super().__init__(**kw)
                self.hidden = nn.Dense(6, activation="relu")
                self.out = nn.Dense(3)

            def forward(self, X):
                return self.out(self.hidden(X))

        class MySequential(nn.Block):
            def add(self, block):
                self._children[block.name] = block

            def forward(self, X):
                for block in self._children.values():
                    X = block(X)
                return X

        class Fancy(nn.Block):
            def __init__(self, **kw):
                super().__init__(**kw)
                self.rand = self.params.get_constant("rand", mx.np.array(_wave((5, 5), 3)))
                self.dense = nn.Dense(5, activation="relu")

            def forward(self, X):
                X = self.dense(X)
                X = npx.relu(np.dot(X, self.rand.data()) + 1)
                X = self.dense(X)
                while np.abs(X).sum() > 1:
                    X /= 2
                return X.sum()

        X = np.array(_wave((2, 5), 0, 1))
        out = []
        net = MLP()
        net.initialize()
        net(X)
        _fill(net, np)
        out.append(net(X))
        seq = nn.Sequential()
        seq.add(nn.Dense(4, activation="relu"))
        seq.add(nn.Dense(2))
        seq.initialize()
        seq(X)
        _fill(seq, np)
        out.append(seq(X))
        m = MySequential()
        m.add(nn.Dense(4, activation="relu"))
        m.add(nn.Dense(2))
        m.initialize()
        m(X)
        _fill(m, np)
        out.append(m(X))
        f = Fancy()
        f.initialize()
        f(X)
        f.dense.weight.set_data(np.array(_wave(f.dense.weight.shape, 1)))
        out.append(f(X))
        return out

    def parameters(self):
        np, nn, init = self.np, self.nn, self.init
        X = np.array(_wave((2, 4), 0, 1))
        net = nn.Sequential()
        net.add(nn.Dense(8, activation="relu"))
        net.add(nn.Dense(1))
        out = [net[0].weight.shape]
        net.initialize()
        net(X)
        _fill(net, np)
        out += [
            net(X),
            net[1].bias.data(),
            net[0].weight.shape,
            net[1].weight.data()[0],
            len(list(net.collect_params().values())),
            float(net[1].weight.grad().sum()),
        ]
        net.initialize(init=init.Constant(1), force_reinit=True)
        out.append(net[0].weight.data()[0])
        net[1].initialize(init=init.Constant(42), force_reinit=True)
        out.append(net[1].weight.data()[0, 0])

        class My(init.Initializer):
            def _init_weight(self, name, data):
                data[:] = np.random.uniform(-10, 10, data.shape)
                data *= np.abs(data) >= 5

        net.initialize(My(), force_reinit=True)
        w = net[0].weight.data()
        out.append(bool(((np.abs(w) >= 5) + (w == 0)).all()))
        w[:] += 1
        w[0, 0] = 42
        out.append(net[0].weight.data()[0, 0])
        shared = nn.Dense(8, activation="relu")
        net = nn.Sequential()
        net.add(
            nn.Dense(8, activation="relu"),
            shared,
            nn.Dense(8, activation="relu", params=shared.params),
            nn.Dense(10),
        )
        net.initialize()
        net(X)
        out.append(bool((net[1].weight.data()[0] == net[2].weight.data()[0]).all()))
        net[1].weight.data()[0, 0] = 100
        out.append(bool((net[1].weight.data()[0] == net[2].weight.data()[0]).all()))
        return out

    def batch_norm_scratch(self):
        np, nn, ag, init = self.np, self.nn, self.autograd, self.init

        def bn(X, gamma, beta, mm, mv, eps, momentum):
            if not ag.is_training():
                Xh = (X - mm) / np.sqrt(mv + eps)
            else:
                assert len(X.shape) in (2, 4)
                if len(X.shape) == 2:
                    mean = X.mean(axis=0)
                    var = ((X - mean) ** 2).mean(axis=0)
                else:
                    mean = X.mean(axis=(0, 2, 3), keepdims=True)
                    var = ((X - mean) ** 2).mean(axis=(0, 2, 3), keepdims=True)
                Xh = (X - mean) / np.sqrt(var + eps)
                mm = momentum * mm + (1.0 - momentum) * mean
                mv = momentum * mv + (1.0 - momentum) * var
            return (gamma * Xh + beta, mm, mv)

        class BN(nn.Block):
            def __init__(self, n, dims, **kw):
                super().__init__(**kw)
                shape = (1, n) if dims == 2 else (1, n, 1, 1)
                self.gamma = self.params.get("gamma", shape=shape, init=init.One())
                self.beta = self.params.get("beta", shape=shape, init=init.Zero())
                self.mm = np.zeros(shape)
                self.mv = np.ones(shape)

            def forward(self, X):
                if self.mm.ctx != X.ctx:
                    self.mm = self.mm.copyto(X.ctx)
                    self.mv = self.mv.copyto(X.ctx)
                Y, self.mm, self.mv = bn(
                    X,
                    self.gamma.data(),
                    self.beta.data(),
                    self.mm,
                    self.mv,
                    eps=1e-12,
                    momentum=0.9,
                )
                return Y

        out = []
        for shape in ((6, 3), (2, 3, 4, 4)):
            net = BN(3, len(shape))
            net.initialize()
            ref = nn.BatchNorm(epsilon=1e-05, momentum=0.9)
            ref.initialize()
            X = np.array(_wave(shape, 0, 2))
            X.attach_grad()
            with ag.record():
                cost = (net(X) ** 3).sum()
            cost.backward()
            out += [cost, X.grad.copy(), net.gamma.grad(), net.mm, net.mv, net(X)]
            with ag.record():
                cost = (ref(X) ** 3).sum()
            cost.backward()
            out += [cost, X.grad.copy(), ref.running_mean.data(), ref.running_var.data(), ref(X)]
        return out

    def rnn_concise(self):
        np, ag, gluon = self.np, self.autograd, self.gluon
        rnn = gluon.rnn
        out = []
        for layer in (
            rnn.RNN(4),
            rnn.GRU(4),
            rnn.LSTM(4),
            rnn.LSTM(4, num_layers=2, bidirectional=True),
        ):
            layer.initialize()
            state = layer.begin_state(batch_size=2)
            X = np.array(_wave((3, 2, 6), 0, 1))
            Y, new = layer(X, state)
            _fill(layer, np)
            X.attach_grad()
            with ag.record():
                Y, new = layer(X, state)
                cost = (Y**2).sum()
            cost.backward()
            out += [len(state), state[0].shape, Y, list(new), X.grad.copy(), type(Y).__name__]
        return out

    def seq2seq(self):
        np, npx, nn, ag, gluon = self.np, self.npx, self.nn, self.autograd, self.gluon
        rnn = gluon.rnn

        class Enc(nn.Block):
            def __init__(self, v, e, h, n, **kw):
                super().__init__(**kw)
                self.embedding = nn.Embedding(v, e)
                self.rnn = rnn.GRU(h, n)

            def forward(self, X, *a):
                X = self.embedding(X).swapaxes(0, 1)
                state = self.rnn.begin_state(batch_size=X.shape[1], ctx=X.ctx)
                return self.rnn(X, state)

        class Dec(nn.Block):
            def __init__(self, v, e, h, n, **kw):
                super().__init__(**kw)
                self.embedding = nn.Embedding(v, e)
                self.rnn = rnn.GRU(h, n)
                self.dense = nn.Dense(v, flatten=False)

            def forward(self, X, state):
                X = self.embedding(X).swapaxes(0, 1)
                context = state[0][-1]
                context = np.broadcast_to(context, (X.shape[0], context.shape[0], context.shape[1]))
                out, state = self.rnn(np.concatenate((X, context), 2), state)
                return (self.dense(out).swapaxes(0, 1), state)

        class Masked(gluon.loss.SoftmaxCELoss):
            def forward(self, pred, label, valid_len):
                w = np.expand_dims(np.ones_like(label), axis=-1)
                w = npx.sequence_mask(w, valid_len, True, axis=1)
                return super().forward(pred, label, w)

        enc, dec = (Enc(6, 4, 5, 2), Dec(6, 4, 5, 2))
        X = np.array([[1, 2, 3, 0], [2, 3, 4, 5]])
        Y = np.array([[1, 2, 3], [3, 4, 5]])
        vl = np.array([2, 3])
        enc.initialize()
        dec.initialize()
        _, s = enc(X)
        dec(Y, s)
        _fill(enc, np)
        _fill(dec, np)
        loss = Masked()
        ps = enc.collect_params()
        ps.update(dec.collect_params())
        tr = gluon.Trainer(ps, "adam", {"learning_rate": 0.05})
        for _ in range(3):
            with ag.record():
                _o, s = enc(X)
                yh, _ = dec(Y, s)
                cost = loss(yh, Y, vl)
            cost.backward()
            tr.step(vl.sum().item())
        return [
            cost,
            yh,
            npx.sequence_mask(np.array([[1, 2, 3], [4, 5, 6]]), np.array([1, 2]), True, axis=1),
            yh.argmax(axis=2),
        ]

    def masked_softmax_attention(self):
        np, npx, nn, ag = self.np, self.npx, self.nn, self.autograd

        def masked_softmax(X, valid):
            if valid is None:
                return npx.softmax(X)
            shape = X.shape
            if valid.ndim == 1:
                valid = valid.repeat(shape[1])
            else:
                valid = valid.reshape(-1)
            X = npx.sequence_mask(X.reshape(-1, shape[-1]), valid, True, value=-1000000.0, axis=1)
            return npx.softmax(X).reshape(shape)

        class Dot(nn.Block):
            def __init__(self, p, **kw):
                super().__init__(**kw)
                self.dropout = nn.Dropout(p)

            def forward(self, q, k, v, valid=None):
                d = q.shape[-1]
                s = npx.batch_dot(q, k, transpose_b=True) / math.sqrt(d)
                self.w = masked_softmax(s, valid)
                return npx.batch_dot(self.dropout(self.w), v)

        class Additive(nn.Block):
            def __init__(self, h, p, **kw):
                super().__init__(**kw)
                self.W_k = nn.Dense(h, use_bias=False, flatten=False)
                self.W_q = nn.Dense(h, use_bias=False, flatten=False)
                self.w_v = nn.Dense(1, use_bias=False, flatten=False)
                self.dropout = nn.Dropout(p)

            def forward(self, q, k, v, valid):
                q, k = self.W_q(q), self.W_k(k)
                f = np.tanh(np.expand_dims(q, axis=2) + np.expand_dims(k, axis=1))
                s = np.squeeze(self.w_v(f), axis=-1)
                self.w = masked_softmax(s, valid)
                return npx.batch_dot(self.dropout(self.w), v)

        q, k = (np.array(_wave((2, 1, 4), 0, 1)), np.array(_wave((2, 10, 2), 1, 1)))
        v = np.arange(40).reshape(1, 10, 4).repeat(2, axis=0)
        valid = np.array([2, 6])
        a = Additive(8, 0.1)
        a.initialize()
        a(q, k, v, valid)
        _fill(a, np)
        q2 = np.array(_wave((2, 1, 2), 3, 1))
        q2.attach_grad()
        d = Dot(0.0)
        with ag.record():
            cost = d(q2, k, v, valid)
        cost.backward()
        return [
            a(q, k, v, valid),
            a.w,
            cost,
            q2.grad,
            masked_softmax(np.array(_wave((2, 2, 4))), np.array([[1, 3], [2, 4]])),
        ]

    def transformer(self):
        np, npx, nn, ag, gluon = self.np, self.npx, self.nn, self.autograd, self.gluon

        class Pos(nn.Block):
            def __init__(self, n, p, max_len=50):
                super().__init__()
                self.dropout = nn.Dropout(p)
                self.P = np.zeros((1, max_len, n))
                X = np.arange(max_len).reshape(-1, 1) / np.power(10000, np.arange(0, n, 2) / n)
                self.P[:, :, 0::2] = np.sin(X)
                self.P[:, :, 1::2] = np.cos(X)

            def forward(self, X):
                X = X + self.P[:, : X.shape[1], :].as_in_ctx(X.ctx)
                return self.dropout(X)

        class FFN(nn.Block):
            def __init__(self, h, o, **kw):
                super().__init__(**kw)
                self.d1 = nn.Dense(h, flatten=False, activation="relu")
                self.d2 = nn.Dense(o, flatten=False)

            def forward(self, X):
                return self.d2(self.d1(X))

        class AddNorm(nn.Block):
            def __init__(self, p, **kw):
                super().__init__(**kw)
                self.dropout = nn.Dropout(p)
                self.ln = nn.LayerNorm()

            def forward(self, X, Y):
                return self.ln(self.dropout(Y) + X)

        class Blk(nn.Block):
            def __init__(self, n, **kw):
                super().__init__(**kw)
                self.q = nn.Dense(n, flatten=False)
                self.ffn = FFN(2 * n, n)
                self.a1 = AddNorm(0.0)
                self.a2 = AddNorm(0.0)

            def forward(self, X):
                q = self.q(X)
                s = npx.batch_dot(q, X, transpose_b=True) / math.sqrt(X.shape[-1])
                mask = np.tril(np.ones((X.shape[1], X.shape[1])))
                s = np.where(
                    np.broadcast_to(np.expand_dims(mask, 0), s.shape),
                    s,
                    -1000000000.0 * np.ones_like(s),
                )
                Y = self.a1(X, npx.batch_dot(npx.softmax(s), X))
                return self.a2(Y, self.ffn(Y))

        class Net(nn.Block):
            def __init__(self, v, n, **kw):
                super().__init__(**kw)
                self.n = n
                self.emb = nn.Embedding(v, n)
                self.pos = Pos(n, 0.0)
                self.blks = nn.Sequential()
                for _ in range(2):
                    self.blks.add(Blk(n))
                self.out = nn.Dense(v, flatten=False)

            def forward(self, X):
                X = self.pos(self.emb(X) * math.sqrt(self.n))
                for b in self.blks:
                    X = b(X)
                return self.out(X)

        net = Net(7, 8)
        X = np.array([[1, 2, 3, 4], [3, 2, 6, 0]])
        net.initialize()
        net(X)
        _fill(net, np)
        tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        loss = gluon.loss.SoftmaxCELoss()
        for _ in range(3):
            with ag.record():
                cost = loss(net(X), X)
            cost.backward()
            tr.step(2)
        return [cost, net(X), net.pos.P[0, :3]]

    def multi_device(self):
        np, nn, ag, gluon, mx = self.np, self.nn, self.autograd, self.gluon, self.mx
        devs = [mx.cpu(0), mx.cpu(1)]
        net = nn.Sequential()
        net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
        net.initialize(ctx=devs)
        X = np.array(_wave((6, 3), 0, 1))
        y = np.array([0, 1, 0, 1, 1, 0])
        Xs, ys = (gluon.utils.split_and_load(X, devs), gluon.utils.split_and_load(y, devs))
        [net(x) for x in Xs]
        _fill(net, np)
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        tr = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2})
        for _ in range(3):
            with ag.record():
                ls = [loss(net(a), b) for a, b in zip(Xs, ys)]
            for cost in ls:
                cost.backward()
            tr.step(6)
        return [
            [str(x.ctx) for x in Xs],
            ls,
            net[0].weight.data(devs[0]),
            net[0].weight.data(devs[1]),
            [x.shape for x in Xs],
            type(Xs[0]).__name__,
        ]

    def anchors(self):
        np, npx = self.np, self.npx
        X = np.zeros((1, 3, 4, 5))
        a = npx.multibox_prior(X, sizes=[0.75, 0.5], ratios=[1, 2, 0.5])
        gt = np.array([[0, 0.1, 0.08, 0.52, 0.92], [1, 0.55, 0.2, 0.9, 0.88]])
        an = np.array(
            [
                [0, 0.1, 0.2, 0.3],
                [0.15, 0.2, 0.4, 0.4],
                [0.63, 0.05, 0.88, 0.98],
                [0.66, 0.45, 0.8, 0.8],
                [0.57, 0.3, 0.92, 0.9],
            ]
        )
        t = npx.multibox_target(
            np.expand_dims(an, axis=0), np.expand_dims(gt, axis=0), np.zeros((1, 3, 5))
        )
        boxes = np.array(
            [
                [0.1, 0.08, 0.52, 0.92],
                [0.08, 0.2, 0.56, 0.95],
                [0.15, 0.3, 0.62, 0.91],
                [0.55, 0.2, 0.9, 0.88],
            ]
        )
        pr = np.array([[0.0] * 4, [0.9, 0.8, 0.7, 0.1], [0.1, 0.2, 0.3, 0.9]])
        d = npx.multibox_detection(
            np.expand_dims(pr, axis=0),
            np.zeros((1, 16)),
            np.expand_dims(boxes, axis=0),
            nms_threshold=0.5,
        )
        return [a.shape, a[0, :4], list(t), d]

    def word2vec(self):
        np, npx, nn, gluon, ag = self.np, self.npx, self.nn, self.gluon, self.autograd

        def skip(center, ctx, ev, eu):
            v = ev(center)
            u = eu(ctx)
            return npx.batch_dot(v, u.swapaxes(1, 2))

        e1, e2 = (nn.Embedding(20, 4), nn.Embedding(20, 4))
        for e in (e1, e2):
            e.initialize()
            _fill(e, np)
        loss = gluon.loss.SigmoidBCELoss()
        pred = np.array([[0.5] * 4] * 2)
        label = np.array([[1.0, 0, 1, 0]] * 2)
        mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
        a = loss(pred, label, mask) * mask.shape[1] / mask.sum(axis=1)
        net = nn.Sequential()
        net.add(e1, e2)
        tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
        c, cn = (np.ones((2, 1)), np.array([[1, 2, 3, 4], [5, 6, 7, 8]]))
        for _ in range(3):
            with ag.record():
                p = skip(c, cn, e1, e2)
                cost = loss(p.reshape(label.shape), label, mask) / mask.sum(axis=1) * mask.shape[1]
            cost.backward()
            tr.step(2)
        W = e1.weight.data()
        x = W[3]
        cos = np.dot(W, x) / np.sqrt(np.sum(W * W, axis=1) * np.sum(x * x) + 1e-09)
        top = npx.topk(cos, k=4, ret_typ="indices")
        return [
            a,
            skip(np.ones((2, 1)), np.ones((2, 4)), e1, e2).shape,
            cost,
            cos,
            top,
            e1.weight.data()[:3],
        ]


def leaves(value):
    """The arrays and numbers of nested lists, in order, as NumPy's."""
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in leaves(each)]
    if isinstance(value, str):
        return []
    return [onp.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)]


NAMES = [name for name in vars(Lessons) if not name.startswith("_")]


def main():
    import mxnet as mx

    mx.npx.set_np()
    values = {}
    for name in NAMES:
        for i, leaf in enumerate(leaves(getattr(Lessons(mx), name)())):
            values[f"{name}.{i}"] = leaf
    onp.savez_compressed(VALUES, **values)


if __name__ == "__main__":
    sys.exit(main())
