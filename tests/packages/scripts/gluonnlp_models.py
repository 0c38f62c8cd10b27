"""gluonnlp 0.10.0: vocabularies, data, language models, BERT, transformers, and how they learn."""

import gluonnlp as nlp
import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon

WORDS = [f"w{i}" for i in range(50)]


@pytest.fixture(autouse=True)
def seeds():
    mx.random.seed(1)
    np.random.seed(1)


def vocabulary(kind=nlp.Vocab):
    return kind(nlp.data.count_tokens(WORDS))


def text(count=400):
    """Words of which each says what the next one is."""
    vocab = vocabulary()
    start = np.random.RandomState(0).randint(0, 5)
    return vocab, [WORDS[(start + 3 * i) % 20] for i in range(count)]


def learns(losses):
    assert np.isfinite(losses).all()
    assert np.mean(losses[-3:]) < 0.9 * np.mean(losses[:3]), losses


def test_vocabulary():
    counter = nlp.data.count_tokens([*"abbcccdddd"])
    vocab = nlp.Vocab(counter, max_size=3, min_freq=2)
    assert vocab["d"] < vocab["c"] < vocab["b"] and vocab["a"] == vocab["<unk>"] == 0
    again = nlp.Vocab.from_json(vocab.to_json())
    assert again.idx_to_token == vocab.idx_to_token and again[["d", "zzz"]] == [vocab["d"], 0]


def test_subwords():
    ids = nlp.vocab.create_subword_function("NGramHashes", num_subwords=100, ngrams=[3, 4])
    (found,) = ids(["hello"])
    assert len(found) > 3 and max(found) < 100


def test_embedding():
    embedding = nlp.embedding.TokenEmbedding(unknown_token="<unk>", allow_extend=True)
    embedding["hello"] = mx.nd.arange(5)
    embedding["world"] = mx.nd.arange(5) + 1
    vocab = nlp.Vocab(nlp.data.count_tokens(["hello", "world", "hello", "x"]))
    vocab.set_embedding(embedding)
    np.testing.assert_array_equal(vocab.embedding["hello"].asnumpy(), np.arange(5))
    assert vocab.embedding["x"].asnumpy().tolist() == [0] * 5
    similar = nlp.embedding.evaluation.CosineSimilarity()
    found = similar(vocab.embedding[["hello"]], vocab.embedding[["world"]])
    assert 0.9 < found.asscalar() < 1
    analogy = nlp.embedding.evaluation.WordEmbeddingSimilarity(vocab.embedding.idx_to_vec)
    analogy.initialize()
    same = analogy(mx.nd.array([vocab["hello"]]), mx.nd.array([vocab["hello"]]))
    np.testing.assert_allclose(same.asnumpy(), 1, 1e-5)


def test_batchify():
    pad = nlp.data.batchify.Pad(axis=0, pad_val=0, ret_length=True)
    stack = nlp.data.batchify.Stack()
    both = nlp.data.batchify.Tuple(pad, stack)
    (data, length), label = both([([1, 2, 3], 0), ([4], 1)])
    assert data.asnumpy().tolist() == [[1, 2, 3], [4, 0, 0]]
    assert length.asnumpy().tolist() == [3, 1] and label.asnumpy().tolist() == [0, 1]


@pytest.mark.parametrize("workers", [0, 2])
def test_buckets(workers):
    lengths = np.random.RandomState(0).randint(1, 20, 40).tolist()
    data = gluon.data.SimpleDataset([(list(range(n)), n) for n in lengths])
    sampler = nlp.data.FixedBucketSampler(
        lengths, batch_size=4, num_buckets=4, ratio=0.5, shuffle=True
    )
    assert "batch_num" in sampler.stats()
    loader = gluon.data.DataLoader(
        data,
        batch_sampler=sampler,
        num_workers=workers,
        batchify_fn=nlp.data.batchify.Tuple(
            nlp.data.batchify.Pad(pad_val=-1), nlp.data.batchify.Stack()
        ),
    )
    seen = []
    for batch, length in loader:
        assert ((batch >= 0).sum(axis=1).asnumpy() == length.asnumpy()).all()
        seen += length.asnumpy().tolist()
    assert sorted(seen) == sorted(lengths)


def test_samplers():
    batches = list(nlp.data.SortedBucketSampler([5, 1, 4, 2, 3], batch_size=2, shuffle=False))
    assert sorted(i for each in batches for i in each) == [0, 1, 2, 3, 4]
    assert list(nlp.data.SortedSampler([5, 1, 4])) == [0, 2, 1]


def test_corpus(tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.txt").write_text("a b c\nd e\n")
    data = nlp.data.CorpusDataset(str(tmp_path / "0.txt"), flatten=True, eos="<eos>")
    assert list(data) == ["a", "b", "c", "<eos>", "d", "e", "<eos>"]
    stream = nlp.data.SimpleDatasetStream(
        nlp.data.CorpusDataset, str(tmp_path / "*.txt"), flatten=True
    )
    assert len(list(nlp.data.PrefetchingStream(stream))) == 2
    batches = nlp.data.batchify.CorpusBatchify(vocabulary(), 2)(data)
    assert batches[:].shape == (3, 2)


def test_bptt():
    vocab, words = text(61)
    batchify = nlp.data.batchify.CorpusBPTTBatchify(vocab, 5, 2, last_batch="discard")
    first, then = batchify(gluon.data.SimpleDataset(words))[0]
    assert first.shape == (5, 2)
    np.testing.assert_array_equal(first[1:].asnumpy(), then[:-1].asnumpy())


def train_language_model(net, vocab, words, steps=14):
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    loss_fn, losses = gluon.loss.SoftmaxCELoss(), []
    batchify = nlp.data.batchify.CorpusBPTTBatchify(vocab, 6, 4, last_batch="discard")
    batches = list(batchify(gluon.data.SimpleDataset(words)))
    state = net.begin_state(batch_size=4, func=mx.nd.zeros)
    for i in range(steps):
        data, target = batches[i % len(batches)]
        state = detached(state)
        with autograd.record():
            output = net(data, state)
            output, state = output[0], output[1]
            loss = loss_fn(output.reshape((-3, -1)), target.reshape((-1,))).mean()
        loss.backward()
        gluon.utils.clip_global_norm(
            [p.grad() for p in net.collect_params().values() if p.grad_req != "null"], 0.5
        )
        trainer.step(1)
        losses.append(loss.asscalar())
    learns(losses)


def detached(state):
    if isinstance(state, (list, tuple)):
        return [detached(each) for each in state]
    return state.detach()


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_standard_rnn(mode, hybridize):
    vocab, words = text()
    net = nlp.model.StandardRNN(mode, len(vocab), 16, 16, 2, dropout=0.1, tie_weights=True)
    if hybridize:
        net.hybridize(static_alloc=True)
    train_language_model(net, vocab, words)


@pytest.mark.parametrize("hybridize", [False, True])
def test_awd_rnn(hybridize):
    vocab, words = text()
    net = nlp.model.AWDRNN(
        "lstm",
        len(vocab),
        16,
        16,
        2,
        dropout=0.1,
        weight_drop=0.2,
        drop_h=0.1,
        drop_i=0.1,
        drop_e=0.1,
        tie_weights=True,
    )
    if hybridize:
        net.hybridize(static_alloc=True)
    train_language_model(net, vocab, words)


@pytest.mark.parametrize("hybridize", [False, True])
def test_awd_rnn_with_regularization(hybridize):
    """train.AWDRNN also gives the states that the activation regularizers take."""
    vocab, words = text()
    net = nlp.model.train.AWDRNN(
        "lstm", len(vocab), 16, 16, 2, dropout=0.1, weight_drop=0.2, drop_h=0.1, tie_weights=True
    )
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize(static_alloc=True)
    loss_fn = gluon.loss.SoftmaxCELoss()
    size = nlp.loss.ActivationRegularizationLoss(2)
    change = nlp.loss.TemporalActivationRegularizationLoss(1)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    batchify = nlp.data.batchify.CorpusBPTTBatchify(vocab, 6, 4, last_batch="discard")
    batches = list(batchify(gluon.data.SimpleDataset(words)))
    state, losses = net.begin_state(batch_size=4, func=mx.nd.zeros), []
    for i in range(20):
        data, target = batches[i % len(batches)]
        state = detached(state)
        with autograd.record():
            output, state, outputs, dropped = net(data, state)
            loss = loss_fn(output.reshape((-3, -1)), target.reshape((-1,))).mean()
            loss = loss + size(*dropped[-1:]).mean() + change(*outputs[-1:]).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    learns(losses)


def test_cache_cell():
    vocab, words = text(60)
    net = nlp.model.StandardRNN("lstm", len(vocab), 8, 8, 1, 0.0, False)
    net.initialize(mx.init.Xavier())
    cache = nlp.model.train.CacheCell(net, len(vocab), 4, 0.3, 0.2)
    ids = mx.nd.array(vocab[words[:6]]).reshape((-1, 1))
    state = net.begin_state(batch_size=1, func=mx.nd.zeros)
    output, _, _, _ = cache(ids[:-1], ids[1:], None, None, state)
    assert output[0].asnumpy().ndim >= 1


def small_bert(vocab, decoder=True, pairs=True):
    encoder = nlp.model.BERTEncoder(
        num_layers=2, units=16, hidden_size=32, max_length=32, num_heads=2, dropout=0.1
    )
    return nlp.model.BERTModel(
        encoder,
        len(vocab),
        token_type_vocab_size=2,
        units=16,
        embed_size=16,
        use_pooler=True,
        use_decoder=decoder,
        use_classifier=pairs,
    )


def sentences(vocab, count=8, length=12):
    rng = np.random.RandomState(0)
    tokens = mx.nd.array(rng.randint(5, len(vocab), (count, length)))
    types = mx.nd.array(rng.randint(0, 2, (count, length)))
    return tokens, types, mx.nd.array(rng.randint(4, length + 1, count))


@pytest.mark.parametrize("hybridize", [False, True])
def test_bert_pretraining(hybridize):
    vocab = vocabulary(nlp.vocab.BERTVocab)
    net = small_bert(vocab)
    net.initialize(mx.init.Normal(0.02))
    if hybridize:
        net.hybridize(static_alloc=True)
    tokens, types, length = sentences(vocab)
    positions = mx.nd.array([[0, 2, 3]] * 8, dtype="int32")
    labels = mx.nd.array(np.random.RandomState(1).randint(0, len(vocab), (8, 3)))
    following = mx.nd.array([0, 1] * 4)
    loss_fn, losses = gluon.loss.SoftmaxCELoss(), []
    trainer = gluon.Trainer(net.collect_params(), "bertadam", {"learning_rate": 0.01, "wd": 0.01})
    for _ in range(14):
        with autograd.record():
            _, _, classes, decoded = net(tokens, types, length, positions)
            loss = loss_fn(decoded, labels).mean() + loss_fn(classes, following).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    learns(losses)


@pytest.mark.parametrize("optimizer, rate", [("bertadam", 2e-3), ("lamb", 0.1), ("adam", 2e-3)])
def test_bert_classifier(optimizer, rate):
    vocab = vocabulary(nlp.vocab.BERTVocab)
    bert = small_bert(vocab, decoder=False, pairs=False)
    net = nlp.model.BERTClassifier(bert, num_classes=2, dropout=0.1)
    net.initialize(mx.init.Normal(0.02))
    net.hybridize(static_alloc=True)
    tokens, types, length = sentences(vocab)
    label = (tokens[:, 0] > 27).astype("float32")
    loss_fn, losses = gluon.loss.SoftmaxCELoss(), []
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": rate})
    for _, each in net.collect_params(".*beta|.*gamma|.*bias").items():
        each.wd_mult = 0.0
    for _ in range(20):
        with autograd.record():
            loss = loss_fn(net(tokens, types, length), label).mean()
        loss.backward()
        trainer.allreduce_grads()
        nlp.utils.clip_grad_global_norm(
            [p for p in net.collect_params().values() if p.grad_req != "null"], 1
        )
        trainer.update(1)
        losses.append(loss.asscalar())
    learns(losses)


def test_bert_question_answering():
    vocab = vocabulary(nlp.vocab.BERTVocab)
    encoder = small_bert(vocab, decoder=False, pairs=False)
    net = gluon.nn.Dense(2, flatten=False)
    encoder.initialize(mx.init.Normal(0.02))
    net.initialize()
    tokens, types, length = sentences(vocab)
    found = net(encoder(tokens, types, length)[0])
    assert found.shape == (8, 12, 2)


def test_bert_of_the_zoo():
    vocab = vocabulary(nlp.vocab.BERTVocab)
    net, _ = nlp.model.get_model(
        "bert_12_768_12",
        dataset_name=None,
        vocab=vocab,
        pretrained=False,
        use_pooler=True,
        use_decoder=False,
        use_classifier=False,
    )
    net.initialize(mx.init.Normal(0.02))
    net.hybridize()
    sequence, pooled = net(*sentences(vocab, 2))
    assert sequence.shape == (2, 12, 768) and pooled.shape == (2, 768)


def test_roberta():
    vocab = vocabulary()
    encoder = nlp.model.BERTEncoder(
        num_layers=2, units=16, hidden_size=32, max_length=32, num_heads=2, dropout=0.0
    )
    net = nlp.model.RoBERTaModel(encoder, len(vocab), units=16, embed_size=16, use_decoder=True)
    net.initialize(mx.init.Normal(0.02))
    tokens, _, length = sentences(vocab)
    positions = mx.nd.array([[0, 2]] * 8, dtype="int32")
    sequence, decoded = net(tokens, length, positions)
    assert sequence.shape == (8, 12, 16) and decoded.shape == (8, 2, len(vocab))


def test_bert_saved(tmp_path):
    vocab = vocabulary(nlp.vocab.BERTVocab)
    net, again = small_bert(vocab), small_bert(vocab)
    net.initialize(mx.init.Normal(0.02))
    inputs = sentences(vocab)
    positions = mx.nd.array([[0, 2]] * 8, dtype="int32")
    wanted = net(*inputs, positions)
    net.save_parameters(str(tmp_path / "net.params"))
    nlp.utils.load_parameters(again, str(tmp_path / "net.params"))
    for a, b in zip(wanted, again(*inputs, positions)):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-5, 1e-6)


def test_bert_tokenizer():
    words = ["un", "##aff", "##able", "hello", ",", "you"]
    vocab = nlp.vocab.BERTVocab(nlp.data.count_tokens(words))
    tokenizer = nlp.data.BERTTokenizer(vocab, lower=True)
    assert tokenizer("Hello, unaffable") == ["hello", ",", "un", "##aff", "##able"]
    transform = nlp.data.BERTSentenceTransform(tokenizer, 10, pair=True, vocab=vocab)
    ids, length, types = transform(("hello you", "unaffable"))
    assert length == 8 and types.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0, 0] and len(ids) == 10


@pytest.mark.parametrize("hybridize", [False, True])
def test_transformer(hybridize):
    """Encoder and decoder translate words to themselves; then beam search."""
    vocab = vocabulary()
    encoder, decoder, one_step = nlp.model.transformer.get_transformer_encoder_decoder(
        num_layers=1,
        units=16,
        hidden_size=32,
        num_heads=2,
        max_src_length=16,
        max_tgt_length=16,
        dropout=0.0,
    )
    net = nlp.model.translation.NMTModel(
        src_vocab=vocab,
        tgt_vocab=vocab,
        encoder=encoder,
        decoder=decoder,
        one_step_ahead_decoder=one_step,
        share_embed=True,
        embed_size=16,
        tie_weights=True,
        embed_initializer=None,
        prefix="transformer_",
    )
    net.initialize(mx.init.Xavier(magnitude=3))
    if hybridize:
        net.hybridize(static_alloc=True)
    loss_fn = nlp.loss.MaskedSoftmaxCELoss()
    loss_fn.hybridize(static_alloc=True)
    tokens, _, length = sentences(vocab, 8, 8)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    losses = []
    for _ in range(20):
        with autograd.record():
            output, *_ = net(tokens, tokens[:, :-1], length, length - 1)
            loss = loss_fn(output, tokens[:, 1:], length - 1).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    learns(losses)
    outputs, *_ = net.encode(tokens, valid_length=length)
    states = net.decoder.init_state_from_encoder(outputs, length)

    def step(ids, states):
        output, states, _ = net.decode_step(ids, states)
        return mx.nd.log_softmax(output), states

    sampler = nlp.model.BeamSearchSampler(
        beam_size=3,
        decoder=step,
        eos_id=vocab["<eos>"],
        scorer=nlp.model.BeamSearchScorer(alpha=0.6, K=5),
        max_length=10,
    )
    samples, scores, valid = sampler(mx.nd.full((8,), vocab["<bos>"]), states)
    assert samples.shape[:2] == scores.shape == valid.shape == (8, 3)
    assert (scores[:, 0] >= scores[:, 2]).asnumpy().all()


def test_sequence_sampler():
    vocab = vocabulary()
    net = nlp.model.StandardRNN("lstm", len(vocab), 8, 8, 1, 0.0, False)
    net.initialize(mx.init.Xavier())

    class Step:
        def __call__(self, ids, states):
            output, states = net(mx.nd.expand_dims(ids, 0), states)
            return output[0], states

        def state_info(self, *arguments, **settings):
            return net.state_info(*arguments, **settings)

    sampler = nlp.model.SequenceSampler(
        beam_size=2, decoder=Step(), eos_id=vocab["<eos>"], max_length=6
    )
    start = net.begin_state(batch_size=1, func=mx.nd.zeros)
    samples, _, length = sampler(mx.nd.array([vocab["w1"]]), start)
    assert samples.shape[1] == 2 and (length.asnumpy() <= 8).all()


@pytest.mark.parametrize("kind", ["scaled_luong", "normed_mlp", "dot", "mlp"])
def test_attention_cell(kind):
    cell = nlp.model.attention_cell._get_attention_cell(kind, units=6)
    cell.initialize()
    query, key = mx.nd.random.normal(shape=(2, 3, 6)), mx.nd.random.normal(shape=(2, 4, 6))
    mask = mx.nd.array(np.tril(np.ones((3, 4))))[None].broadcast_to((2, 3, 4))
    context, weights = cell(query, key, key, mask)
    assert context.shape == (2, 3, 6)
    np.testing.assert_allclose(weights.asnumpy().sum(-1), 1, 1e-4)
    assert weights[:, 0, 1:].asnumpy().max() < 1e-6


def test_convolutional_encoder_and_highway():
    encoder = nlp.model.ConvolutionalEncoder(
        embed_size=6, num_filters=(4, 5), ngram_filter_sizes=(2, 3), num_highway=1, output_size=7
    )
    encoder.initialize()
    encoder.hybridize()
    mask = mx.nd.ones((9, 2))
    assert encoder(mx.nd.random.normal(shape=(9, 2, 6)), mask).shape == (2, 7)


def test_elmo_encoder():
    encoder = nlp.model.BiLMEncoder(
        "lstmpc",
        num_layers=2,
        input_size=6,
        hidden_size=8,
        dropout=0.0,
        skip_connection=True,
        proj_size=6,
        cell_clip=3,
        proj_clip=3,
    )
    encoder.initialize()
    state = encoder.begin_state(mx.nd.zeros, batch_size=2)
    mask = mx.nd.array([[1] * 5, [1, 1, 1, 0, 0]])
    output, _ = encoder(mx.nd.random.normal(shape=(5, 2, 6)), state, mask)
    assert output.shape == (2, 5, 2, 12)


def test_label_smoothing_and_masked_accuracy():
    smooth = nlp.loss.LabelSmoothing(epsilon=0.1, units=4)
    found = smooth(mx.nd.array([[1], [3]]))[:, 0].asnumpy()
    np.testing.assert_allclose(found.sum(1), 1, 1e-5)
    assert found[0].argmax() == 1
    metric = nlp.metric.MaskedAccuracy()
    arrays = ([1, 0, 1], [1, 1, 0], [1, 1, 0])
    metric.update(*([mx.nd.array(each)] for each in arrays))
    assert metric.get()[1] == 0.5


def test_parallel():
    class Task(nlp.utils.Parallelizable):
        def forward_backward(self, x):
            return x + 1

    pool = nlp.utils.Parallel(2, Task())
    for i in range(4):
        pool.put(i)
    assert sorted(pool.get() for _ in range(4)) == [1, 2, 3, 4]


def test_norm_of_gradients(tmp_path):
    net = gluon.nn.Dense(3, in_units=2)
    net.initialize()
    nlp.utils.save_parameters(net, str(tmp_path / "net.params"))
    with autograd.record():
        net(mx.nd.full((1, 2), 3)).sum().backward()
    found = nlp.utils.grad_global_norm(list(net.collect_params().values()))
    norm = found[0] if isinstance(found, tuple) else found
    np.testing.assert_allclose(float(np.asarray(norm.asnumpy()).ravel()[0]), 57**0.5, 1e-5)


def test_sparse_embedding_learns():
    """Rows of an embedding that no word chose stay as they are."""
    embed = gluon.nn.Embedding(20, 4, sparse_grad=True)
    embed.initialize()
    before = embed.weight.data().asnumpy().copy()
    trainer = gluon.Trainer(embed.collect_params(), "sgd", {"learning_rate": 0.5})
    with autograd.record():
        embed(mx.nd.array([1, 2])).sum().backward()
    trainer.step(1)
    after = embed.weight.data().asnumpy()
    assert (after[[1, 2]] != before[[1, 2]]).all()
    np.testing.assert_array_equal(after[3:], before[3:])


def test_sampled_softmax():
    block = nlp.model.ISDense(50, 8, 6, sparse_grad=False)
    block.initialize()
    x, label = mx.nd.random.normal(shape=(4, 6)), mx.nd.array([1, 2, 3, 4])
    sampler = nlp.data.candidate_sampler.UnigramCandidateSampler(mx.nd.ones(50))
    sampler.initialize()
    drawn = sampler(mx.nd.zeros(8))
    output, target = block(x, [drawn, mx.nd.ones(8), mx.nd.ones(4)], label)
    assert output.shape == (4, 9) and target.shape == (4,)
    assert drawn.shape == (8,) and 0 <= drawn.min().asscalar() <= drawn.max().asscalar() < 50
