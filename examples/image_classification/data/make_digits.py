"""Makes digits.npz from scikit-learn's copy of the data set (needs scikit-learn)."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

digits = load_digits()
np.savez_compressed(
    Path(__file__).with_name("digits.npz"),
    images=digits.images.astype(np.uint8),  # (1797, 8, 8), 0..16
    labels=digits.target.astype(np.uint8),  # (1797,)
)
