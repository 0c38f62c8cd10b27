"""mx.gluon.data: datasets, samplers, and a loader of batches."""

from . import batchify, vision
from .dataloader import DataLoader
from .dataset import ArrayDataset, Dataset, SimpleDataset, random_split
from .mixing import CutMix, MixUp
from .record import RecordFileDataset
from .sampler import (
    BatchSampler,
    FilterSampler,
    PartSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    WeightedSampler,
)
from .seeding import sample_generator
from .stream import IterableDataset

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "CutMix",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "IterableDataset",
    "MixUp",
    "PartSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "WeightedSampler",
    "batchify",
    "random_split",
    "sample_generator",
    "vision",
]
