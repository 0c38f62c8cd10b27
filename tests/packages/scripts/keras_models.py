"""Small models of keras-mxnet 2.2.4: each learns a little, predicts, and is written and read."""

import collections
import collections.abc
import inspect
import os

import mxnet as mx
import numpy as np
import pytest

os.environ["KERAS_BACKEND"] = "mxnet"
for name in ("Iterable", "Mapping"):  # names of Python's that keras 2.2 takes from their old place
    setattr(collections, name, getattr(collections.abc, name))
if not hasattr(inspect, "getargspec"):
    inspect.getargspec = lambda function: inspect.getfullargspec(function)[:4]

import keras  # noqa: E402
from keras import backend as K  # noqa: E402
from keras import layers as L  # noqa: E402
from keras.models import Model, Sequential, load_model  # noqa: E402


@pytest.fixture(autouse=True)
def seeds():
    mx.random.seed(1)
    np.random.seed(1)
    K.set_image_data_format("channels_first")


def images(count=32, size=8, channels=1):
    rng = np.random.RandomState(0)
    label = rng.randint(0, 2, count)
    x = rng.rand(count, channels, size, size) * 0.2
    x[label == 1, :, : size // 2] += 1
    return x.astype("float32"), keras.utils.to_categorical(label, 2)


def rows(count=64):
    x = np.random.RandomState(0).standard_normal((count, 4)).astype("float32")
    return x, keras.utils.to_categorical((x[:, 0] + x[:, 1] > 0).astype("int"), 2)


def words(count=64, length=6):
    x = np.random.RandomState(0).randint(1, 20, (count, length))
    return x, (x[:, :1] > 10).astype("float32")


def mlp(optimizer="sgd"):
    net = Sequential(
        [
            L.Dense(16, input_shape=(4,), activation="relu"),
            L.Dropout(0.1),
            L.Dense(2),
            L.Activation("softmax"),
        ]
    )
    net.compile(loss="categorical_crossentropy", optimizer=optimizer, metrics=["accuracy"])
    return net


def learns(net, x, y, epochs=8):
    history = net.fit(x, y, batch_size=16, epochs=epochs, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    predicted = net.predict(x, batch_size=16)
    assert np.isfinite(predicted).all()
    return predicted


@pytest.mark.parametrize(
    "name", ["sgd", "adam", "rmsprop", "adagrad", "adadelta", "nadam", "adamax"]
)
def test_optimizer(name):
    learns(mlp(name), *rows())


def test_momentum_and_decay():
    learns(mlp(keras.optimizers.SGD(0.05, momentum=0.9, decay=1e-4, clipnorm=1.0)), *rows())


def test_convolutions():
    net = Sequential(
        [
            L.Conv2D(4, 3, padding="same", activation="relu", input_shape=(1, 8, 8)),
            L.BatchNormalization(axis=1),
            L.MaxPooling2D(2),
            L.Conv2D(4, 3),
            L.AveragePooling2D(),
            L.Flatten(),
            L.Dense(2, activation="softmax"),
        ]
    )
    net.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    learns(net, *images())


def test_residual():
    data = L.Input((1, 8, 8))
    x = L.Conv2D(4, 3, padding="same")(data)
    y = L.Activation("relu")(L.BatchNormalization(axis=1)(x))
    y = L.SeparableConv2D(4, 3, padding="same")(y)
    x = L.GlobalAveragePooling2D()(L.add([x, y]))
    net = Model(data, L.Dense(2, activation="softmax")(x))
    net.compile(loss="categorical_crossentropy", optimizer="adam")
    learns(net, *images())


@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU"])
def test_recurrent(kind):
    net = Sequential(
        [
            L.Embedding(20, 8, input_length=6),
            getattr(L, kind)(8, unroll=True),
            L.Dense(1, activation="sigmoid"),
        ]
    )
    net.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
    learns(net, *words())


def test_bidirectional():
    net = Sequential(
        [
            L.Embedding(20, 8, input_length=6),
            L.Bidirectional(L.LSTM(4, unroll=True)),
            L.Dense(1, activation="sigmoid"),
        ]
    )
    net.compile(loss="binary_crossentropy", optimizer="adam")
    learns(net, *words())


def test_autoencoder():
    x, _ = images()
    data = L.Input((1, 8, 8))
    code = L.MaxPooling2D(2)(L.Conv2D(4, 3, padding="same", activation="relu")(data))
    back = L.Conv2D(4, 3, padding="same", activation="relu")(L.UpSampling2D(2)(code))
    net = Model(data, L.Conv2D(1, 3, padding="same", activation="sigmoid")(back))
    net.compile(loss="binary_crossentropy", optimizer="adam")
    learns(net, x, np.clip(x, 0, 1))


def test_two_inputs_two_outputs():
    x, y = rows()
    a, b = L.Input((2,)), L.Input((2,))
    both = L.concatenate([L.Dense(8, activation="tanh")(a), L.Dense(8, activation="tanh")(b)])
    net = Model(
        [a, b],
        [L.Dense(2, activation="softmax", name="kind")(both), L.Dense(1, name="value")(both)],
    )
    net.compile(
        loss={"kind": "categorical_crossentropy", "value": "mse"},
        loss_weights=[1, 0.5],
        optimizer="adam",
    )
    history = net.fit([x[:, :2], x[:, 2:]], [y, x[:, :1]], batch_size=16, epochs=6, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert [each.shape for each in net.predict([x[:, :2], x[:, 2:]])] == [(64, 2), (64, 1)]


def test_shared_layer():
    x, _ = rows()
    a, b = L.Input((4,)), L.Input((4,))
    shared = L.Dense(4, activation="tanh")
    net = Model([a, b], L.dot([shared(a), shared(b)], axes=1))
    net.compile(loss="mse", optimizer="adam")
    history = net.fit([x, x], np.ones((64, 1)), batch_size=16, epochs=4, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]


def test_frozen():
    x, y = rows()
    net = mlp("adam")
    net.layers[0].trainable = False
    net.compile(loss="categorical_crossentropy", optimizer="adam")
    before = net.layers[0].get_weights()[0].copy()
    learns(net, x, y)
    np.testing.assert_array_equal(net.layers[0].get_weights()[0], before)


def test_weights_and_callbacks(tmp_path):
    x, y = rows()
    net = mlp("adam")
    path = str(tmp_path / "weights.npz")
    net.fit(
        x,
        y,
        validation_split=0.25,
        epochs=3,
        batch_size=16,
        verbose=0,
        callbacks=[
            keras.callbacks.EarlyStopping(patience=2),
            keras.callbacks.LearningRateScheduler(lambda epoch: 0.01 / (epoch + 1)),
        ],
    )
    np.savez(path, *net.get_weights())
    other = mlp("adam")
    with np.load(path) as kept:
        other.set_weights([kept[f"arr_{i}"] for i in range(len(kept.files))])
    np.testing.assert_allclose(net.predict(x), other.predict(x), 1e-5)


def test_saved(tmp_path):
    x, y = rows()
    net = mlp("adam")
    learns(net, x, y, 2)
    net.save(str(tmp_path / "net.h5"))
    read = load_model(str(tmp_path / "net.h5"))
    np.testing.assert_allclose(net.predict(x), read.predict(x), 1e-5)


def test_saved_for_mxnet(tmp_path):
    """save_mxnet_model: a checkpoint that Module reads."""
    x, y = images()
    net = Sequential(
        [
            L.Conv2D(4, 3, activation="relu", input_shape=(1, 8, 8)),
            L.GlobalAveragePooling2D(),
            L.Dense(2, activation="softmax"),
        ]
    )
    net.compile(loss="categorical_crossentropy", optimizer="adam")
    predicted = learns(net, x, y)
    prefix = str(tmp_path / "net")
    names, _ = keras.models.save_mxnet_model(model=net, prefix=prefix, epoch=0)
    symbol, args, aux = mx.model.load_checkpoint(prefix, 0)
    module = mx.mod.Module(symbol, data_names=names, context=mx.cpu(), label_names=None)
    module.bind(for_training=False, data_shapes=[(names[0], (16, 1, 8, 8))])
    module.set_params(args, aux, allow_missing=True)
    found = module.predict(mx.io.NDArrayIter(x, batch_size=16)).asnumpy()
    np.testing.assert_allclose(found, predicted, 1e-4, 1e-5)


def test_evaluate_and_batches():
    x, y = rows()
    net = mlp("adam")
    first = net.train_on_batch(x[:16], y[:16])
    for _ in range(20):
        last = net.train_on_batch(x[:16], y[:16])
    assert last[0] < first[0]
    assert net.test_on_batch(x[:16], y[:16])[1] >= 0.5
    assert net.evaluate(x, y, batch_size=16, verbose=0)[0] > 0
    assert net.predict_classes(x[:16]).shape == (16,)


def test_generator():
    x, y = rows()

    def batches():
        while True:
            for i in range(0, 64, 16):
                yield x[i : i + 16], y[i : i + 16]

    net = mlp("adam")
    history = net.fit_generator(batches(), steps_per_epoch=4, epochs=12, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
