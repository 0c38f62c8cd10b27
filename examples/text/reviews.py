"""Reviews of films, made up: each says something of several things, but only the film counts."""

from itertools import product

import numpy as np

GOOD = ["good", "great", "funny", "clever", "moving", "brilliant"]
BAD = ["bad", "dull", "boring", "awful", "silly", "weak"]
DEGREES = ["", "very ", "really ", "rather "]
OTHERS = ["music", "cast", "script", "hall", "ending", "sound"]
STARTS = ["", "to my mind ", "well , ", "last night : ", "we agreed that "]
LINKS = [" and ", " , but ", " although ", " while "]


def opinions(thing):
    """Pairs (text, whether it is praise) of all possible reviews of a thing."""
    for negated, degree, word in product(("", "not "), DEGREES, GOOD + BAD):
        yield f"the {thing} is {negated}{degree}{word}", (word in GOOD) != bool(negated)


def sentences(count, rng):
    """`count` different reviews, and 1 for those that praise the film, 0 for the others."""
    film = list(opinions("film"))
    rest = [text for thing in OTHERS for text, _ in opinions(thing)]
    found = {}
    while len(found) < count:
        said, praise = film[rng.integers(len(film))]
        clauses = [said, *(rest[i] for i in rng.integers(len(rest), size=rng.integers(1, 3)))]
        text = STARTS[rng.integers(len(STARTS))]
        for number, at in enumerate(rng.permutation(len(clauses))):
            text += (LINKS[rng.integers(len(LINKS))] if number else "") + clauses[at]
        found[text] = int(praise)
    return list(found), np.array(list(found.values()), np.float32)


def read(path):
    """Texts and labels of a file whose lines are a label, 0 or 1, and a text."""
    texts, labels = [], []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            label, _, text = line.strip().partition(" ")
            if label not in ("0", "1") or not text:
                raise ValueError(f"line {number} is not a label, 0 or 1, and a text: {line[:40]!r}")
            texts.append(text.lower())
            labels.append(float(label))
    return texts, np.array(labels, np.float32)
