"""mx.gluon.data: datasets, samplers, and loaders that make batches of them."""

from . import batchify, vision
from .dataloader import DataLoader
from .dataset import ArrayDataset, Dataset, SimpleDataset
from .record import RecordFileDataset
from .sampler import (
    BatchSampler,
    FilterSampler,
    PartSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)
from .seeding import sample_generator

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "PartSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "batchify",
    "sample_generator",
    "vision",
]
