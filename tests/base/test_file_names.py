"""Names of files: whatever writes or reads one takes str and paths, and refuses bytes, None and
numbers before it does anything."""

import logging
import os

import numpy as np
import pytest

import cynet as mx


class Path:
    """A path whose str is no name of a file, as that of os.DirEntry."""

    def __init__(self, name):
        self.name = name

    def __fspath__(self):
        return self.name


class Made:
    """Objects that write and read."""

    def __init__(self):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        self.net = mx.sym.SoftmaxOutput(net, name="softmax")
        self.module = mx.mod.Module(self.net)
        self.buckets = mx.mod.BucketingModule(
            lambda key: (self.net, ("data",), ("softmax_label",)), 3
        )
        for each in (self.module, self.buckets):
            each.bind([("data", (4, 5))], [("softmax_label", (4,))])
            each.init_params()
            each.init_optimizer(optimizer_params={"momentum": 0.9})
        self.params = self.module.get_params()
        self.block = mx.gluon.nn.HybridSequential()
        self.block.add(mx.gluon.nn.Dense(2, in_units=3))
        self.block.initialize()
        self.block.hybridize()
        self.block(mx.nd.ones((1, 3)))
        self.trainer = mx.gluon.Trainer(self.block.collect_params(), "adam")
        self.model = mx.model.FeedForward(
            self.net, arg_params=self.params[0], aux_params={}, num_epoch=1
        )
        self.store = mx.kv.create("local")
        self.store.set_optimizer(mx.optimizer.SGD(momentum=0.9))
        self.data = mx.io.NDArrayIter(np.ones((4, 5)), np.zeros(4), 4)

    def fit(self, **options):
        module = mx.mod.Module(self.net)
        module.fit(self.data, num_epoch=1, verbose=False, **options)


WRITERS = {
    "Module.save_checkpoint": lambda m, p: m.module.save_checkpoint(p, 1, True),
    "Module.save_params": lambda m, p: m.module.save_params(p),
    "Module.save_optimizer_states": lambda m, p: m.module.save_optimizer_states(p),
    "BucketingModule.save_checkpoint": lambda m, p: m.buckets.save_checkpoint(p, 1),
    "BucketingModule.save_params": lambda m, p: m.buckets.save_params(p),
    "model.save_checkpoint": lambda m, p: mx.model.save_checkpoint(p, 1, m.net, *m.params),
    "FeedForward.save": lambda m, p: m.model.save(p, 1),
    "fit(resume)": lambda m, p: m.fit(resume=p),
    "nd.save": lambda m, p: mx.nd.save(p, m.params[0]),
    "sym.save": lambda m, p: m.net.save(p),
    "Block.save_parameters": lambda m, p: m.block.save_parameters(p),
    "Block.save": lambda m, p: m.block.save(p),
    "HybridBlock.export": lambda m, p: m.block.export(p, 1),
    "ParameterDict.save": lambda m, p: m.block.collect_params().save(p),
    "Trainer.save_states": lambda m, p: m.trainer.save_states(p),
    "gluon.save_training": lambda m, p: mx.gluon.save_training(p, m.block, m.trainer),
    "KVStore.save_optimizer_states": lambda m, p: m.store.save_optimizer_states(p),
    "do_checkpoint": lambda m, p: m.fit(epoch_end_callback=mx.callback.do_checkpoint(p)),
    "module_checkpoint": lambda m, p: mx.callback.module_checkpoint(m.module, p)(0),
    "BestCheckpoint": lambda m, p: m.fit(callbacks=[mx.callback.BestCheckpoint(p, "accuracy")]),
    "do_rnn_checkpoint": lambda m, p: m.fit(epoch_end_callback=mx.rnn.do_rnn_checkpoint([], p)),
    "MXRecordIO": lambda m, p: mx.recordio.MXRecordIO(p, "w").close(),
    "MXIndexedRecordIO": lambda m, p: mx.recordio.MXIndexedRecordIO("b", p, "w").close(),
    "MXIndexedRecordIO's index": lambda m, p: mx.recordio.MXIndexedRecordIO(p, "b", "w").close(),
    "profiler": lambda m, p: (mx.profiler.set_config(filename=p), mx.profiler.dump()),
    "plot_network": lambda m, p: drawn(m.net, p).render(),
    "render": lambda m, p: drawn(m.net, "plot").render(p),
    "render's directory": lambda m, p: drawn(m.net, "plot").render("x", p),
    "get_logger": lambda m, p: logged(p),
    "CheckpointHandler": lambda m, p: mx.gluon.contrib.estimator.CheckpointHandler(p),
}
READERS = {
    "nd.load": lambda m, p: mx.nd.load(p),
    "sym.load": lambda m, p: mx.sym.load(p),
    "model.load_checkpoint": lambda m, p: mx.model.load_checkpoint(p, 1),
    "model.load_params": lambda m, p: mx.model.load_params(p, 1),
    "find_checkpoint": lambda m, p: mx.model.find_checkpoint(p),
    "Module.load": lambda m, p: mx.mod.Module.load(p, 1, True),
    "Module.load_params": lambda m, p: m.module.load_params(p),
    "Module.load_optimizer_states": lambda m, p: m.module.load_optimizer_states(p),
    "BucketingModule.load": lambda m, p: mx.mod.BucketingModule.load(p, 1),
    "FeedForward.load": lambda m, p: mx.model.FeedForward.load(p, 1),
    "load_rnn_checkpoint": lambda m, p: mx.rnn.load_rnn_checkpoint([], p, 1),
    "Block.load_parameters": lambda m, p: m.block.load_parameters(p),
    "Block.load": lambda m, p: m.block.load(p),
    "ParameterDict.load": lambda m, p: m.block.collect_params().load(p),
    "SymbolBlock.imports": lambda m, p: mx.gluon.SymbolBlock.imports(p, ["data"]),
    "SymbolBlock.imports' parameters": lambda m, p: mx.gluon.SymbolBlock.imports(
        "net.json", ["data"], p
    ),
    "Trainer.load_states": lambda m, p: m.trainer.load_states(p),
    "gluon.load_training": lambda m, p: mx.gluon.load_training(p, m.block, m.trainer),
    "KVStore.load_optimizer_states": lambda m, p: m.store.load_optimizer_states(p),
    "MXRecordIO": lambda m, p: mx.recordio.MXRecordIO(p, "r"),
    "MXIndexedRecordIO": lambda m, p: mx.recordio.MXIndexedRecordIO(p, p, "r"),
    "CSVIter": lambda m, p: mx.io.CSVIter(data_csv=p, data_shape=(1,), batch_size=1),
    "LibSVMIter": lambda m, p: mx.io.LibSVMIter(data_libsvm=p, data_shape=(1,), batch_size=1),
    "MNISTIter": lambda m, p: mx.io.MNISTIter(image=p, label=p),
    "ImageRecordIter": lambda m, p: mx.io.ImageRecordIter(
        path_imgrec=p, data_shape=(3, 2, 2), batch_size=1
    ),
    "imread": lambda m, p: mx.image.imread(p),
}
WRONG = {"bytes": b"ab", "None": None, "int": 3, "float": 2.5, "list": ["ab"], "empty": ""}
MAY_BE_NONE = {
    "fit(resume)",
    "render",
    "render's directory",
    "get_logger",
    "SymbolBlock.imports' parameters",
}
MAY_BE_EMPTY = {"get_logger"}


def drawn(net, title):
    return mx.viz.plot_network(net, title=title, save_format="svg")


def logged(name):
    logger = mx.log.get_logger(f"test_file_names{name!r}", filename=name)
    for each in logger.handlers:
        each.close()
    logging.Logger.manager.loggerDict.pop(logger.name)


@pytest.fixture(scope="module")
def made():
    return Made()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    yield
    mx.profiler.set_config(filename="profile.json")


def cases(table):
    for name, call in table.items():
        for kind, value in WRONG.items():
            free = kind == "None" and name in MAY_BE_NONE
            if not free and not (kind == "empty" and name in MAY_BE_EMPTY):
                yield pytest.param(call, value, id=f"{name} {kind}")


@pytest.mark.parametrize(("write", "name"), list(cases(WRITERS)))
def test_writers_refuse(made, tmp_path, write, name):
    with pytest.raises((mx.errors.ArgumentTypeError, mx.errors.ArgumentError), match="is expected"):
        write(made, name)
    assert set(os.listdir(tmp_path)) <= {"b"}  # the other file of two


@pytest.mark.parametrize(("read", "name"), list(cases(READERS)))
def test_readers_refuse(made, read, name):
    made.net.save("net.json")
    with pytest.raises(
        (mx.errors.ArgumentTypeError, mx.errors.ArgumentError), match="ImageRecordIter|is expected"
    ) as told:
        read(made, name)
    assert not isinstance(told.value, OSError)  # a file of that name was not even looked for


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_paths_are_names(made, tmp_path, write):
    found = []
    for i, kind in enumerate([str, Path, np.str_]):
        folder = tmp_path / str(i)
        folder.mkdir()
        os.chdir(folder)
        write(made, kind("ab"))
        found.append(sorted(os.listdir(folder)))
    assert found[0] == found[1] == found[2] and any(each.startswith("ab") for each in found[0])


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_paths_are_read(made, read):
    """The file that is missing is that of the path."""
    if read is READERS["find_checkpoint"]:
        assert read(made, Path("ab")) is None
        return
    made.net.save("net.json")
    with pytest.raises(OSError, match="ab"):
        read(made, Path("ab"))
