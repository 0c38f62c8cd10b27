"""Folders of Hugging Face's transformers: GPT-2 and BERT compute what they compute there."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.model_zoo import text
from tests.fixtures import hugging_face as made

safetensors = pytest.importorskip("safetensors.numpy")
FILE = Path(made.__file__).with_suffix(".npz")
KINDS = ["gpt2", "BertModel", "BertForSequenceClassification", "BertForMaskedLM"]


@pytest.fixture(scope="module")
def values():
    with np.load(FILE) as file:
        return dict(file)


def weights(values, kind):
    return {k.split("/w/")[1]: v for k, v in values.items() if k.startswith(f"{kind}/w/")}


def config(values, kind):
    return json.loads(values[f"{kind}/config"].tobytes())


def folder(path, settings, arrays):
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(settings))
    safetensors.save_file(arrays, path / "model.safetensors")
    return path


@pytest.fixture
def network(values, tmp_path):
    def read(kind, change=None, **more):
        arrays, settings = weights(values, kind), config(values, kind)
        if change is not None:
            change(arrays, settings)
        return text.from_hugging_face(folder(tmp_path / kind, settings, arrays), **more)

    return read


@pytest.mark.parametrize("hybrid", [False, True])
def test_gpt_scores(network, values, hybrid):
    net = network("gpt2")
    if hybrid:
        net.hybridize()
    scores = net(mx.nd.array(made.TOKENS)).asnumpy()
    np.testing.assert_allclose(scores, values["gpt2/scores"], rtol=2e-5, atol=2e-5)


def test_gpt_continues(network, values):
    net = network("gpt2")
    found = text.generate(net, made.PROMPT, made.LENGTH)
    assert found == values["gpt2/greedy"].tolist()
    for name, beams in made.BEAMS.items():
        found = text.generate(net, made.PROMPT, made.LENGTH, num_beams=beams)
        assert found == values[f"gpt2/{name}"].tolist(), name


@pytest.mark.parametrize("hybrid", [False, True])
def test_bert(network, values, hybrid):
    inputs = [mx.nd.array(each) for each in (made.TOKENS, made.TYPES, made.MASK)]
    net, body = network("BertForSequenceClassification"), network("BertModel")
    if hybrid:
        net.hybridize()
        body.hybridize()
    scores = net(*inputs).asnumpy()
    wanted = values["BertForSequenceClassification/scores"]
    np.testing.assert_allclose(scores, wanted, rtol=2e-5, atol=2e-5)
    sequence, pooled = (each.asnumpy() for each in body(*inputs))
    np.testing.assert_allclose(pooled, values["BertModel/pooled"], rtol=2e-5, atol=2e-5)
    seen = np.array(made.MASK) == 1
    wanted = values["BertModel/sequence"]
    np.testing.assert_allclose(sequence[seen], wanted[seen], rtol=2e-5, atol=2e-5)


def without_prefix(arrays, settings):
    for name in list(arrays):
        arrays[name.removeprefix("transformer.")] = arrays.pop(name)
    arrays["h.0.attn.bias"] = np.ones((1, 1, 16, 16), np.float32)
    arrays["lm_head.weight"] = arrays["wte.weight"].copy()


def of_old_names(arrays, settings):
    for name in list(arrays):
        for new, old in (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "beta")):
            if name.endswith(new):
                old = name.removesuffix(new) + "LayerNorm." + old.rpartition(".")[2]
                arrays[old] = arrays.pop(name)
    arrays["bert.embeddings.position_ids"] = np.arange(16)[None]


def test_other_spellings(network, values):
    net = network("gpt2", without_prefix)
    scores = net(mx.nd.array(made.TOKENS)).asnumpy()
    np.testing.assert_allclose(scores, values["gpt2/scores"], rtol=2e-5, atol=2e-5)
    kind = "BertForSequenceClassification"
    net = network(kind, of_old_names)
    scores = net(*(mx.nd.array(each) for each in (made.TOKENS, made.TYPES, made.MASK)))
    np.testing.assert_allclose(scores.asnumpy(), values[f"{kind}/scores"], rtol=2e-5, atol=2e-5)


def test_several_files(values, tmp_path):
    arrays = weights(values, "gpt2")
    path = folder(tmp_path / "m", config(values, "gpt2"), {})
    (path / "model.safetensors").unlink()
    where = {}
    for i, name in enumerate(arrays):
        where[name] = f"model-{i % 2}.safetensors"
    for file in set(where.values()):
        part = {name: arrays[name] for name in arrays if where[name] == file}
        safetensors.save_file(part, path / file)
    index = path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": where}))
    scores = text.from_hugging_face(path)(mx.nd.array(made.TOKENS)).asnumpy()
    np.testing.assert_allclose(scores, values["gpt2/scores"], rtol=2e-5, atol=2e-5)
    index.write_text(json.dumps({"weight_map": {"a": "../outside.safetensors"}}))
    with pytest.raises(mx.errors.FormatError, match="is not a file of this folder"):
        text.from_hugging_face(path)


def test_a_masked_language_model_gives_its_encoder(network):
    sequence, pooled = network("BertForMaskedLM", change=add_pooler)(mx.nd.array(made.TOKENS))
    assert sequence.shape == (2, 6, 12) and pooled.shape == (2, 12)


def add_pooler(arrays, settings):
    arrays["bert.pooler.dense.weight"] = np.eye(12, dtype=np.float32)
    arrays["bert.pooler.dense.bias"] = np.zeros(12, np.float32)


def test_a_new_classifier(network, values):
    net = network("BertModel", classes=5)
    assert net(mx.nd.array(made.TOKENS)).shape == (2, 5)
    kind = "BertForSequenceClassification"
    net = network(kind, classes=5)
    assert net(mx.nd.array(made.TOKENS)).shape == (2, 5)
    same = values[f"{kind}/w/bert.embeddings.word_embeddings.weight"]
    np.testing.assert_array_equal(net.word.weight.data().asnumpy(), same)


def changed(name, value):
    def change(arrays, settings):
        settings[name] = value

    return change


def lacks(name):
    return lambda arrays, settings: arrays.pop(name)


def more(name):
    return lambda arrays, settings: arrays.update({name: np.ones(3, np.float32)})


def of_another_shape(arrays, settings):
    arrays["transformer.h.1.ln_2.bias"] = np.ones(7, np.float32)


@pytest.mark.parametrize(
    "change, error, match",
    [
        (changed("model_type", "llama"), mx.errors.UndefinedError, "'llama' is not there, only"),
        (changed("activation_function", "relu"), mx.errors.UndefinedError, "only 'gelu_new'"),
        (changed("tie_word_embeddings", False), mx.errors.UndefinedError, "only True"),
        (lambda a, s: s.pop("n_embd"), mx.errors.FormatError, "has no 'n_embd'"),
        (lacks("transformer.h.1.ln_2.bias"), mx.errors.MismatchError, "lack 'h.1.ln_2.bias'"),
        (more("transformer.h.2.ln_2.bias"), mx.errors.MismatchError, "no parameter is 'h.2.ln_2"),
        (of_another_shape, mx.errors.MismatchError, r"h.1.ln_2.bias is of shape \(7,\)"),
    ],
)
def test_what_does_not_fit_is_refused(network, change, error, match):
    with pytest.raises(error, match=match):
        network("gpt2", change)


def test_missing_files(tmp_path, values):
    with pytest.raises(FileNotFoundError, match=r"there is no .*config.json"):
        text.from_hugging_face(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config(values, "gpt2")))
    with pytest.raises(FileNotFoundError, match=r"there is no .*model.safetensors: a pickle"):
        text.from_hugging_face(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(mx.errors.FormatError, match="not an object of settings"):
        text.from_hugging_face(tmp_path)
    with pytest.raises(mx.errors.ArgumentError, match="gpt2 has no classes"):
        (tmp_path / "config.json").write_text(json.dumps(config(values, "gpt2")))
        text.from_hugging_face(tmp_path, classes=2)
