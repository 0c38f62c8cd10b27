"""Tokenizers of the package tokenizers: trained on a text, kept as tokenizer.json."""

import logging


def library():
    """The package of tokenizers, or an error that says how to install it."""
    try:
        import tokenizers
    except ImportError:
        raise SystemExit("this example needs tokenizers: pip install 'cynet-mx[text]'") from None
    return tokenizers


def train(kind, lines, size, file):
    """A tokenizer ``'bpe'`` (of bytes: nothing is unknown) or ``'wordpiece'`` (of words)."""
    t = library()
    if kind == "bpe":
        tokenizer = t.Tokenizer(t.models.BPE())
        tokenizer.pre_tokenizer = t.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = t.decoders.ByteLevel()
        alphabet = t.pre_tokenizers.ByteLevel.alphabet()
        trainer = t.trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=alphabet, show_progress=False
        )
    else:
        tokenizer = t.Tokenizer(t.models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = t.normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = t.pre_tokenizers.BertPreTokenizer()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        trainer = t.trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=special, show_progress=False
        )
    tokenizer.train_from_iterator(lines, trainer)
    if kind == "wordpiece":
        ends = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
        tokenizer.post_processor = t.processors.BertProcessing(*ends)
    tokenizer.save(str(file))
    logging.info("tokenizer: %s, %d tokens", file, tokenizer.get_vocab_size())
    return tokenizer


def load(file, what):
    """The tokenizer of a file; `what` begins the word on a file that is not there."""
    if not file.exists():
        raise SystemExit(f"{what}: there is no {file}")
    return library().Tokenizer.from_file(str(file))


def shown(tokenizer, line):
    """A text with bars between its tokens."""
    line = line.strip()
    offsets = [pair for pair in tokenizer.encode(line).offsets if pair[0] < pair[1]]
    return "|".join(line[start:end] for start, end in offsets)
