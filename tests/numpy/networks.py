"""Networks of vision, language and recommendation as courses have them, and what MXNet 1.9.1 gives.

``python tests/numpy/networks.py`` in an environment of MXNet writes networks.npz.
"""

import math
import sys
from pathlib import Path

import numpy as onp

try:
    from .lessons import Lessons, _wave, leaves
except ImportError:  # as a program, in MXNet's environment
    from lessons import Lessons, _wave, leaves


def _fill(net, np, scale=0.3):
    """Values that do not depend on a generator; variances stay 1."""
    for k, p in enumerate(net.collect_params().values()):
        if not p.name.endswith("running_var"):
            p.set_data(np.array(_wave(p.shape, k, scale)))


VALUES = Path(__file__).with_suffix(".npz")


class Networks(Lessons):
    """The programs, of the package `mx`; each gives nested lists of arrays and numbers."""

    def _trained(self, net, run, steps=3, rate=0.1, kind="sgd", batch=1):
        trainer = self.gluon.Trainer(net.collect_params(), kind, {"learning_rate": rate})
        costs = []
        for _ in range(steps):
            with self.autograd.record():
                cost = run(net)
            cost.backward()
            trainer.step(batch)
            costs.append(cost)
        return costs

    def detector(self):
        np, npx, nn, gluon = self.np, self.npx, self.nn, self.gluon
        sizes, ratios, classes = [[0.2, 0.3], [0.6, 0.8]], [[1, 2, 0.5]] * 2, 1
        anchors_each = len(sizes[0]) + len(ratios[0]) - 1

        class Tiny(nn.Block):
            def __init__(self):
                super().__init__()
                for i in range(2):
                    setattr(self, f"blk_{i}", nn.Sequential())
                    block = getattr(self, f"blk_{i}")
                    block.add(nn.Conv2D(4, 3, padding=1, in_channels=3 if i == 0 else 4))
                    block.add(nn.BatchNorm(in_channels=4), nn.Activation("relu"), nn.MaxPool2D(2))
                    wide = anchors_each * (classes + 1)
                    setattr(self, f"cls_{i}", nn.Conv2D(wide, 3, padding=1, in_channels=4))
                    setattr(
                        self, f"box_{i}", nn.Conv2D(anchors_each * 4, 3, padding=1, in_channels=4)
                    )

            def forward(self, X):
                anchors, cls, box = [None] * 2, [None] * 2, [None] * 2
                for i in range(2):
                    X = getattr(self, f"blk_{i}")(X)
                    anchors[i] = npx.multibox_prior(X, sizes=sizes[i], ratios=ratios[i])
                    cls[i] = getattr(self, f"cls_{i}")(X)
                    box[i] = getattr(self, f"box_{i}")(X)

                def flat(p):
                    return npx.batch_flatten(p.transpose(0, 2, 3, 1))

                cls = np.concatenate([flat(p) for p in cls], axis=1)
                box = np.concatenate([flat(p) for p in box], axis=1)
                return np.concatenate(anchors, axis=1), cls.reshape(cls.shape[0], -1, 2), box

        net = Tiny()
        net.initialize()
        _fill(net, np, 0.2)
        X, Y = np.array(_wave((2, 3, 8, 8), 1)), np.array([[[0, 0.1, 0.1, 0.5, 0.6]]] * 2)
        cls_loss, box_loss = gluon.loss.SoftmaxCrossEntropyLoss(), gluon.loss.L1Loss()

        def run(net):
            anchors, cls, box = net(X)
            offset, mask, labels = npx.multibox_target(anchors, Y, cls.transpose(0, 2, 1))
            return cls_loss(cls, labels) + box_loss(box * mask, offset * mask)

        costs = self._trained(net, run, batch=2)
        anchors, cls, box = net(X)
        probs = npx.softmax(cls).transpose(0, 2, 1)
        found = npx.multibox_detection(probs, box, anchors)
        return [costs, anchors[0, :3], cls[0, :3], (found[0, :, 0] == 0).sum()]

    def upsampling(self):
        np, npx, nn, init = self.np, self.npx, self.nn, self.init

        def bilinear(inputs, outputs, size):
            factor = (size + 1) // 2
            center = factor - 1 if size % 2 == 1 else factor - 0.5
            og = (np.arange(size).reshape(-1, 1), np.arange(size).reshape(1, -1))
            filt = (1 - np.abs(og[0] - center) / factor) * (1 - np.abs(og[1] - center) / factor)
            weight = np.zeros((inputs, outputs, size, size))
            weight[range(inputs), range(outputs), :, :] = filt
            return np.array(weight)

        net = nn.Sequential()
        net.add(nn.Conv2D(2, 3, padding=1, in_channels=3))
        net.add(nn.Conv2DTranspose(2, 4, padding=1, strides=2, in_channels=2))
        net.initialize()
        _fill(net, np)
        net[1].initialize(init.Constant(bilinear(2, 2, 4)), force_reinit=True)
        X = np.array(_wave((2, 3, 4, 4), 1))
        label = (np.arange(2 * 8 * 8).reshape(2, 8, 8) % 2).astype("int32")
        loss = self.gluon.loss.SoftmaxCrossEntropyLoss(axis=1)
        costs = self._trained(net, lambda net: loss(net(X), label), batch=2)
        pred = net(X).argmax(axis=1)
        colors = np.array([[0, 0, 0], [128, 0, 0]], dtype="uint8")
        return [
            bilinear(1, 1, 3),
            costs,
            pred.sum(),
            colors[pred.astype("int32")].astype("float32").sum(),
            npx.num_gpus(),
        ]

    def style(self):
        np, nn, gluon = self.np, self.nn, self.gluon
        net = nn.Sequential()
        for k in range(3):
            net.add(nn.Conv2D(4, 3, padding=1, in_channels=3 if k == 0 else 4, activation="relu"))
        net.initialize()
        _fill(net, np)
        mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])

        def preprocess(image):
            return np.expand_dims(((image / 255 - mean) / std).transpose(2, 0, 1), axis=0)

        def postprocess(image):
            image = image[0].as_in_ctx(std.ctx)
            return (image.transpose(1, 2, 0) * std + mean).clip(0, 1)

        def extract(X):
            found = []
            for layer in net:
                X = layer(X)
                found.append(X)
            return found

        def gram(X):
            channels, n = X.shape[1], X.size // X.shape[1]
            X = X.reshape(channels, n)
            return np.dot(X, X.T) / (channels * n)

        def tv(Y):
            down = np.abs(Y[:, :, 1:, :] - Y[:, :, :-1, :]).mean()
            return 0.5 * (down + np.abs(Y[:, :, :, 1:] - Y[:, :, :, :-1]).mean())

        content = preprocess(np.array((_wave((6, 5, 3), 2) + 0.5) * 255))
        wanted, grams = extract(content)[-1], [gram(e) for e in extract(content * 0.5)]

        class Image(nn.Block):
            def __init__(self, shape, **kwargs):
                super().__init__(**kwargs)
                self.weight = self.params.get("weight", shape=shape)

            def forward(self):
                return self.weight.data()

        made = Image(content.shape)
        made.initialize(self.init.Zero())
        made.weight.set_data(content * 0.9)
        trainer = gluon.Trainer(made.collect_params(), "adam", {"learning_rate": 0.05})
        costs = []
        for _ in range(3):
            with self.autograd.record():
                X = made()
                outs = extract(X)
                cost = np.square(outs[-1] - wanted).mean() + 10 * tv(X)
                cost = cost + sum(1e3 * np.square(gram(a) - b).mean() for a, b in zip(outs, grams))
            cost.backward()
            trainer.step(1)
            costs.append(cost)
        return [costs, postprocess(made())]

    def pretraining(self):
        np, npx, nn = self.np, self.npx, self.nn

        class MaskLM(nn.Block):
            def __init__(self, vocab, wide, **kwargs):
                super().__init__(**kwargs)
                self.mlp = nn.Sequential()
                self.mlp.add(nn.Dense(wide, flatten=False, activation="relu", in_units=wide))
                self.mlp.add(nn.LayerNorm(in_channels=wide))
                self.mlp.add(nn.Dense(vocab, flatten=False, in_units=wide))

            def forward(self, X, positions):
                count = positions.shape[1]
                positions = positions.reshape(-1)
                batch_size = X.shape[0]
                rows = np.repeat(np.arange(0, batch_size), count)
                masked = X[rows, positions].reshape((batch_size, count, -1))
                return self.mlp(masked)

        class Bert(nn.Block):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                self.tokens, self.segments = nn.Embedding(30, 6), nn.Embedding(2, 6)
                self.position = self.params.get("position", shape=(1, 8, 6))
                self.encoder = nn.Dense(6, flatten=False, in_units=6, activation="tanh")
                self.hidden = nn.Dense(6, activation="tanh", in_units=6)
                self.mlm, self.nsp = MaskLM(30, 6), nn.Dense(2, in_units=6)

            def forward(self, tokens, segments, valid, positions):
                X = self.tokens(tokens) + self.segments(segments)
                X = X + self.position.data(ctx=X.ctx)[:, : X.shape[1], :]
                kept = npx.sequence_mask(X, valid, True, axis=1)
                X = X + self.encoder(kept)
                return self.mlm(X, positions), self.nsp(self.hidden(X[:, 0, :]))

        net = Bert()
        net.initialize()
        _fill(net, np)
        tokens = (np.arange(14).reshape(2, 7) * 5 % 30).astype("int32")
        segments = (np.arange(14).reshape(2, 7) % 7 > 3).astype("int32")
        valid, positions = np.array([7, 5]), np.array([[1, 3], [2, 0]], dtype="int32")
        labels, weights = np.array([[4, 7], [9, 0]]), np.array([[1.0, 1.0], [1.0, 0.0]])
        loss = self.gluon.loss.SoftmaxCELoss()

        def run(net):
            words, nexts = net(tokens, segments, valid, positions)
            mlm = loss(words.reshape((-1, 30)), labels.reshape(-1), weights.reshape((-1, 1)))
            mlm = mlm.sum() / (weights.sum() + 1e-8)
            return mlm + loss(nexts, np.array([0, 1])).mean()

        return [self._trained(net, run, kind="adam", rate=0.01), net.position.data()[0, :2]]

    def inference(self):
        np, npx, nn = self.np, self.npx, self.nn

        def mlp(wide, inputs, flatten):
            net = nn.Sequential()
            net.add(nn.Dropout(0.2), nn.Dense(wide, "relu", flatten=flatten, in_units=inputs))
            net.add(nn.Dropout(0.2), nn.Dense(wide, "relu", flatten=flatten, in_units=wide))
            return net

        class Attend(nn.Block):
            def __init__(self):
                super().__init__()
                self.f, self.g, self.h = mlp(4, 5, False), mlp(4, 10, False), mlp(4, 8, True)
                self.linear = nn.Dense(3, in_units=4)

            def forward(self, A, B):
                e = npx.batch_dot(self.f(A), self.f(B), transpose_b=True)
                beta = npx.batch_dot(npx.softmax(e), B)
                alpha = npx.batch_dot(npx.softmax(e.transpose(0, 2, 1)), A)
                V_A = self.g(np.concatenate([A, beta], axis=2)).sum(axis=1)
                V_B = self.g(np.concatenate([B, alpha], axis=2)).sum(axis=1)
                return self.linear(self.h(np.concatenate([V_A, V_B], axis=1)))

        net = Attend()
        net.initialize()
        _fill(net, np)
        A, B = np.array(_wave((2, 3, 5), 1)), np.array(_wave((2, 4, 5), 2))
        pred = net(A, B)
        return [pred, np.argmax(pred, axis=1), npx.softmax(pred, axis=1)]

    def gaussian_process(self):
        np = self.np

        def rbf(a, b, scale=1.0, length=0.5):
            gap = np.expand_dims(a, 1) - np.expand_dims(b, 0)
            return scale * np.exp(-(gap**2) / (2 * length**2))

        x, new = np.array(_wave(5, 0, 2)), np.linspace(-1, 1, 4)
        y = np.sin(x) + 0.1 * np.cos(5 * x)
        K = rbf(x, x) + 0.05 * np.eye(5)
        L = np.linalg.cholesky(K)
        alpha = np.linalg.solve(K, y.reshape(-1, 1)).reshape(-1)
        cross = rbf(new, x)
        mean, cov = np.dot(cross, alpha), rbf(new, new) - np.dot(cross, np.linalg.solve(K, cross.T))
        length = np.array(0.5)
        length.attach_grad()
        with self.autograd.record():
            kernel = rbf(x, x, 1.0, length) + 0.05 * np.eye(5)
            sign, logdet = np.linalg.slogdet(kernel)
            fit = np.dot(y, np.linalg.solve(kernel, y.reshape(-1, 1)).reshape(-1))
            evidence = 0.5 * fit + 0.5 * logdet + 2.5 * math.log(2 * math.pi)
        evidence.backward()
        return [K, L, mean, cov, np.diag(cov), evidence, length.grad, sign]

    def recommender(self):
        np, nn, gluon, npx = self.np, self.nn, self.gluon, self.npx

        class Factors(nn.Block):
            def __init__(self, k, users, items, **kwargs):
                super().__init__(**kwargs)
                self.P, self.Q = nn.Embedding(users, k), nn.Embedding(items, k)
                self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)

            def forward(self, user, item):
                b_u, b_i = self.user_bias(user), self.item_bias(item)
                outputs = (
                    (self.P(user) * self.Q(item)).sum(axis=1) + np.squeeze(b_u) + np.squeeze(b_i)
                )
                return outputs.flatten()

        class FM(nn.Block):
            def __init__(self, fields, k, **kwargs):
                super().__init__(**kwargs)
                wide = int(sum(fields))
                self.embedding, self.fc = nn.Embedding(wide, k), nn.Embedding(wide, 1)
                self.linear = nn.Dense(1, use_bias=True, in_units=1)

            def forward(self, x):
                square_of_sum = np.sum(self.embedding(x), axis=1) ** 2
                sum_of_square = np.sum(self.embedding(x) ** 2, axis=1)
                x = self.linear(self.fc(x).sum(1)) + 0.5 * (square_of_sum - sum_of_square).sum(
                    1, keepdims=True
                )
                return npx.sigmoid(x)

        class BPR(gluon.loss.Loss):
            def __init__(self, weight=None, batch_axis=0, **kwargs):
                super().__init__(weight=None, batch_axis=0, **kwargs)

            def forward(self, positive, negative):
                gap = positive - negative
                return -np.sum(np.log(npx.sigmoid(gap)), 0, keepdims=True)

        class Hinge(gluon.loss.Loss):
            def __init__(self, weight=None, batch_axis=0, **kwargs):
                super().__init__(weight=None, batch_axis=0, **kwargs)

            def forward(self, positive, negative, margin=1):
                return np.sum(np.maximum(-(positive - negative) + margin, 0))

        users, items = np.array([0, 1, 2, 1], dtype="int32"), np.array([3, 0, 1, 2], dtype="int32")
        mf = Factors(3, 4, 5)
        mf.initialize()
        _fill(mf, np)
        l2 = gluon.loss.L2Loss()
        costs = self._trained(
            mf, lambda net: l2(net(users, items), np.array([5.0, 3, 4, 1])), kind="adam", batch=4
        )
        ranked = self._trained(mf, lambda net: BPR()(net(users, items), net(users, items[::-1])))
        hinge = Hinge()(mf(users, items), mf(users, items[::-1]))
        fm = FM([3, 4, 2], 4)
        fm.initialize()
        _fill(fm, np)
        X = np.array([[0, 3, 7], [2, 5, 8]], dtype="int32")
        bce = gluon.loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)
        clicks = self._trained(fm, lambda net: bce(net(X), np.array([[1.0], [0.0]])), batch=2)
        return [costs, ranked, hinge, clicks, fm(X)]

    def adversarial(self):
        np, nn, gluon = self.np, self.nn, self.gluon
        net_G, net_D = nn.Sequential(), nn.Sequential()
        net_G.add(
            nn.Conv2DTranspose(4, 4, use_bias=False, in_channels=3), nn.BatchNorm(in_channels=4)
        )
        net_G.add(nn.Activation("relu"))
        net_G.add(nn.Conv2DTranspose(3, 4, 2, 1, use_bias=False, in_channels=4, activation="tanh"))
        net_D.add(nn.Conv2D(4, 4, 2, 1, use_bias=False, in_channels=3), nn.BatchNorm(in_channels=4))
        net_D.add(nn.LeakyReLU(0.2), nn.Conv2D(1, 4, use_bias=False, in_channels=4))
        for net in (net_G, net_D):
            net.initialize()
            _fill(net, np)
        loss, given = gluon.loss.SigmoidBCELoss(), {"learning_rate": 0.01, "beta1": 0.5}
        trainers = [gluon.Trainer(n.collect_params(), "adam", given) for n in (net_D, net_G)]
        X, Z = np.array(_wave((2, 3, 8, 8), 3)), np.array(_wave((2, 3, 1, 1), 1))
        ones, zeros, costs = np.ones((2,)), np.zeros((2,)), []
        for _ in range(2):
            with self.autograd.record():
                fake = net_G(Z)
                cost_D = (
                    loss(net_D(X), ones.reshape(2, 1, 1, 1))
                    + loss(net_D(fake.detach()), zeros.reshape(2, 1, 1, 1))
                ) / 2
            cost_D.backward()
            trainers[0].step(2)
            with self.autograd.record():
                cost_G = loss(net_D(net_G(Z)), ones.reshape(2, 1, 1, 1))
            cost_G.backward()
            trainers[1].step(2)
            costs += [cost_D.sum(), cost_G.sum()]
        return [costs, net_G(Z)[0, 0, :2]]

    def language_idioms(self):
        np, npx, nn = self.np, self.npx, self.nn

        def mask_of(data, valid):
            steps = npx.arange_like(data, axis=1)
            kept = np.expand_dims(steps, 0) < np.expand_dims(valid, 1)
            return np.expand_dims(kept.astype("float32"), 1)

        X, valid = np.array(_wave((2, 4, 6), 1)), np.array([3.0, 2.0])
        scores = npx.batch_dot(X, X, transpose_b=True) / math.sqrt(6)
        masked = np.where(
            mask_of(X, valid) * np.ones_like(scores) > 0, scores, -1e18 * np.ones_like(scores)
        )
        weights = npx.softmax(masked, axis=-1)
        at = np.array([[0, 1, 1], [2, 0, 3]], dtype="int32")
        picked = npx.pick(X[:, 0, :], np.array([1, 4]))
        top, places = npx.topk(X[:, 0, :], k=2, ret_typ="both")
        half = nn.LayerNorm(in_channels=6)
        half.cast("float16")
        half.initialize()
        whole = nn.LayerNorm(in_channels=6)
        whole.initialize()
        normed = np.abs(half(X.astype("float16")).astype("float32") - whole(X)) < 5e-3
        normed = normed.astype("float32").sum()
        shaped = npx.reshape(X, (-2, -2, 2, -1))
        joined = npx.reshape(X, (-5, -2))
        angles = np.expand_dims(npx.arange_like(X, axis=1), 1) * np.exp(
            np.expand_dims(np.arange(0, 3), 0) * (-math.log(10000) / 3)
        )
        waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        return [
            weights, npx.gather_nd(X, at), picked, top, places, normed, shaped,
            joined, waves, npx.sequence_mask(X, valid, True, axis=1, value=-1.0),
            npx.one_hot(np.array([1, 0]), 3), npx.smooth_l1(X), npx.leaky_relu(X, act_type="gelu"),
            np.linalg.norm(X, axis=-1), np.einsum("bij,bkj->bik", X, X), npx.erf(X),
        ]  # fmt: skip

    def matrix_factorization(self):
        np, nn, ag, gluon = self.np, self.nn, self.autograd, self.gluon

        class MF(nn.Block):
            def __init__(self, factors, users, items, **kwargs):
                super().__init__(**kwargs)
                self.P, self.Q = nn.Embedding(users, factors), nn.Embedding(items, factors)
                self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)

            def forward(self, user, item):
                P_u, Q_i = self.P(user), self.Q(item)
                b_u, b_i = self.user_bias(user), self.item_bias(item)
                out = (P_u * Q_i).sum(axis=1) + np.squeeze(b_u) + np.squeeze(b_i)
                return out.flatten()

        net = MF(3, 5, 6)
        net.initialize()
        users, items = np.array([0, 1, 4, 2, 1]), np.array([5, 0, 2, 2, 3])
        ratings = np.array([5.0, 3, 1, 4, 2])
        net(users, items)
        _fill(net, np)
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05, "wd": 1e-3})
        loss, costs = gluon.loss.L2Loss(), []
        for _ in range(4):
            with ag.record():
                cost = loss(net(users, items), ratings)
            cost.backward()
            trainer.step(5)
            costs.append(cost)
        rmse = np.sqrt(((net(users, items) - ratings) ** 2).mean())
        table = np.zeros((5, 6))
        table[users.astype("int32"), items.astype("int32")] = ratings
        return [costs, rmse, net.P.weight.data(), table, (table > 0).sum(axis=0)]

    def linear_algebra(self):
        np, npx, ag = self.np, self.npx, self.autograd
        A = np.array(_wave((4, 4), 2, 1)) + 3 * np.eye(4)
        S = A + A.T
        b = np.arange(4).astype("float32")
        u, s, vt = np.linalg.svd(A)
        w, V = np.linalg.eigh(S)
        A.attach_grad()
        with ag.record():
            y = np.linalg.slogdet(A)[1] + np.linalg.norm(np.linalg.inv(A)) + np.trace(A)
        y.backward()
        found = [s, np.dot(u * s, vt), w, np.dot(V * w, V.T)]
        found += [np.linalg.solve(A, b), np.linalg.det(A), np.linalg.cholesky(np.dot(A, A.T))]
        found += [np.linalg.pinv(A[:, :2]), np.linalg.norm(A, axis=1), y, A.grad]
        found += [np.linalg.tensorsolve(A, b), np.linalg.matrix_rank(A), np.linalg.eigvalsh(S)]
        C = np.array(_wave((2, 3, 4), 1, 2))
        found += [np.einsum("ijk,ijl->ikl", C, C), np.tensordot(C, C, axes=((0, 1), (0, 1)))]
        found += [np.ldexp(C[0], np.array([0, 1, 2, 3])), np.hypot(C, 1), np.cumsum(C, axis=1)]
        found += [np.diff(C, axis=2), np.std(C, axis=(0, 2)), np.percentile(C, 30, axis=1)]
        found += [np.where(C > 0, C, 0), np.histogram(C, bins=4, range=(-2, 2))[0], np.rot90(C[0])]
        found += [npx.reshape(C, (-5, -2)), npx.reshape(C, (-2, -6, 1, 3, -4)), np.unique(b % 2)]
        found += [np.tril(A), np.diagonal(C, axis1=1, axis2=2), np.nan_to_num(np.log(C * 0))]
        return found

    def images(self):
        np, gluon = self.np, self.gluon
        T = gluon.data.vision.transforms
        host = (onp.arange(10 * 12 * 3) * 37 % 256).reshape(10, 12, 3)
        image = np.array(host, dtype="uint8")
        tensor = T.ToTensor()(image)
        normal = T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.4))(tensor)
        crop, cast = T.CenterCrop((6, 4))(image), T.Cast("float32")(image)
        chain = T.Compose([T.CenterCrop((8, 8)), T.ToTensor()])
        batch = np.stack([tensor, normal])
        data = gluon.data.ArrayDataset(np.stack([image, image]), np.array([1, 0]))
        loader = gluon.data.DataLoader(data.transform_first(chain), batch_size=2)
        X, y = next(iter(loader))
        flipped = self.npx.image.flip_left_right(image)
        palette = np.array([[0, 1, 2], [128, 0, 0]])
        index = (palette[:, 0] * 256 + palette[:, 1]) * 256 + palette[:, 2]
        return [tensor, normal, crop, cast, batch.shape, X, y, flipped, index, tensor.mean((1, 2))]


NAMES = [name for name in vars(Networks) if not name.startswith("_")]


def main():
    import mxnet as mx

    mx.npx.set_np()
    values = {}
    for name in NAMES:
        for i, leaf in enumerate(leaves(getattr(Networks(mx), name)())):
            values[f"{name}.{i}"] = leaf
    onp.savez_compressed(VALUES, **values)


if __name__ == "__main__":
    sys.exit(main())
