"""Random operators: distributions, multinomial draws, shuffling."""

from . import choice, distributions, zipfian
