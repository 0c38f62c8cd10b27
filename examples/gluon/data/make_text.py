"""Writes text.txt, on which word_language_model.py trains: sentences of a small grammar.

Run it anywhere: python examples/gluon/data/make_text.py
"""

import random
from pathlib import Path

NOUNS = {
    "animal": ["cat", "dog", "owl", "fox", "horse", "mouse"],
    "person": ["child", "baker", "sailor", "teacher", "queen", "farmer"],
    "thing": ["lamp", "boat", "letter", "apple", "clock", "stone"],
    "place": ["harbour", "garden", "kitchen", "forest", "tower", "market"],
}
ADJECTIVES = ["old", "small", "quiet", "bright", "hungry", "clever"]
ACTIONS = {
    "animal": ["chases", "watches", "follows"],
    "person": ["greets", "carries", "paints", "finds"],
}
OBJECTS = {
    "chases": "animal",
    "watches": "person",
    "follows": "person",
    "greets": "person",
    "carries": "thing",
    "paints": "thing",
    "finds": "thing",
}
TIMES = ["in the morning", "at night", "every day", "before dinner", "after the rain"]


def noun(rng, kind):
    word = rng.choice(NOUNS[kind])
    return f"the {rng.choice(ADJECTIVES)} {word}" if rng.random() < 0.5 else f"the {word}"


def sentence(rng):
    kind = rng.choice(["animal", "person"])
    action = rng.choice(ACTIONS[kind])
    text = f"{noun(rng, kind)} {action} {noun(rng, OBJECTS[action])}"
    if rng.random() < 0.6:
        text += f" in {noun(rng, 'place')}"
    if rng.random() < 0.5:
        text = (
            f"{rng.choice(TIMES)} {text}" if rng.random() < 0.5 else f"{text} {rng.choice(TIMES)}"
        )
    return text


if __name__ == "__main__":
    rng = random.Random(7)
    lines = [sentence(rng) for _ in range(2000)]
    Path(__file__).with_name("text.txt").write_text("\n".join(lines) + "\n")
