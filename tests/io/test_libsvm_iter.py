"""LibSVMIter: MXNet 1.9.1's batches, csr, and lines that are wrong."""

import numpy as np
import pytest

import cynet as mx

DATA = b"1.0 0:1.5 2:2.5\n2 1:3 # a note\n\n0\n3 0:1 1:2 2:3\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.svm").write_bytes(DATA)
    return tmp_path / "a.svm"


def test_batches(path):
    """The numbers that MXNet gives for this file, in two epochs with what fills up the first."""
    iterator = mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=3)
    assert iterator.provide_data == [("data", (3, 3))]
    assert iterator.provide_label == [("softmax_label", (3,))]
    found = []
    for _ in range(2):
        for batch in iterator:
            assert batch.data[0].dtype == batch.label[0].dtype == np.float32
            assert batch.data[0].stype == "csr" and batch.label[0].stype == "default"
            data, label = batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist()
            found.append((data, label, batch.pad))
        iterator.reset()
    a, b, c, d = [1.5, 0, 2.5], [0, 3, 0], [0, 0, 0], [1, 2, 3]
    assert found == [
        ([a, b, c], [1, 2, 0], 0),
        ([d, a, b], [3, 1, 2], 2),
        ([c, d, a], [0, 3, 1], 1),
    ]


def test_labels_and_parts(path, tmp_path):
    (tmp_path / "l.svm").write_bytes(b"1 0:1\n2 1:5\n1 0:7 1:8\n0\n")
    iterator = mx.io.LibSVMIter(
        path, (3,), label_libsvm=tmp_path / "l.svm", label_shape=(2,), batch_size=4
    )
    assert next(iterator).label[0].asnumpy().tolist() == [[1, 0], [0, 5], [7, 8], [0, 0]]
    iterator.reset()
    assert next(iterator).label[0].stype == "csr"
    second = mx.io.LibSVMIter(path, (3, 1), batch_size=2, num_parts=2, part_index=1)
    (batch,) = second
    assert batch.data[0].shape == (2, 3, 1) and batch.label[0].asnumpy().tolist() == [0, 3]


@pytest.mark.parametrize(
    "content, says",
    [
        (b"1 0:1\n2 3:1\n", "line 2: index 3 of 3"),
        (b"1 -1:1\n", "line 1: index -1 of 3"),
        (b"x 0:1\n", "line 1"),
        (b"1 0\n", "line 1"),
        (b"1 a:1\n", "line 1"),
        (b"\n# nothing\n", "has no lines"),
    ],
)
def test_damage(path, content, says):
    path.write_bytes(content)
    with pytest.raises(mx.errors.FormatError, match=says):
        mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,))


def test_wrong_arguments(path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'bach_size'"):
        mx.io.LibSVMIter(path, (3,), bach_size=3)
    with pytest.raises(mx.errors.ShapeError, match="needs label_libsvm"):
        mx.io.LibSVMIter(path, (3,), label_shape=(2,))
    with pytest.raises(ValueError, match="part_index"):
        mx.io.LibSVMIter(path, (3,), num_parts=2, part_index=2)
    with pytest.raises(ValueError, match="LibSVMIter: batch_size"):
        mx.io.LibSVMIter(path, (3,), batch_size=0)
    with pytest.raises(FileNotFoundError, match="no such file or directory"):
        mx.io.LibSVMIter("none.svm", (3,))


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_an_index_that_comes_twice(path, shape):
    path.write_bytes(b"1 0:3\n1 2:5 0:1 2:7\n")
    with pytest.raises(mx.errors.FormatError, match=r"line 2: an index comes twice: \[0, 2, 2\]"):
        mx.io.LibSVMIter(data_libsvm=path, data_shape=shape)


@pytest.mark.parametrize("line", [b"1 1_0:5", b"1 0:1_0", b"1_0 0:1", b"1 0:1__0"])
def test_numbers_of_python_alone(path, line):
    path.write_bytes(line + b"\n")
    with pytest.raises(mx.errors.FormatError, match="line 1: expected 'label index:value"):
        mx.io.LibSVMIter(data_libsvm=path, data_shape=(99,))


def test_indices_in_any_order(path):
    path.write_bytes(b"1 2:5 0:1\n2 1:7 # 1_0\n")
    (batch,) = mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=2)
    assert batch.data[0].asnumpy().tolist() == [[1, 0, 5], [0, 7, 0]]
    batch.data[0].check_format()


def test_as_many_labels_as_examples_and_some_for_each_part(tmp_path):
    data, label = tmp_path / "data", tmp_path / "label"
    data.write_text("0 1:1\n0 0:2\n0 2:3\n")
    given = {"data_libsvm": str(data), "data_shape": (3,), "batch_size": 1}
    for count in (2, 3, 4):
        label.write_text("0 0:1\n" * count)
        more = {"label_libsvm": str(label), "label_shape": (2,)}
        if count == 3:
            assert len(list(mx.io.LibSVMIter(**given, **more))) == 3
            continue
        said = f"LibSVMIter: 3 lines of data, {count} of labels"
        with pytest.raises(mx.errors.ShapeError, match=said):
            mx.io.LibSVMIter(**given, **more)
    assert len(list(mx.io.LibSVMIter(**given, num_parts=3, part_index=2))) == 1
    with pytest.raises(mx.errors.FormatError, match="LibSVMIter: there are no examples for part 3"):
        mx.io.LibSVMIter(**given, num_parts=4, part_index=3)
