"""Random operators: distributions, multinomial draws, shuffling."""

from . import choice, density, distributions, zipfian
