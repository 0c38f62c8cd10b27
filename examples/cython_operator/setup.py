"""Builds leaky.pyx ahead of time: ``python setup.py build_ext --inplace``; then import it."""

from setuptools import setup

import cynet as mx

setup(name="leaky", ext_modules=[mx.operator.extension("leaky", "leaky.pyx")])
