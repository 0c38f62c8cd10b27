"""Marks of tests that are about the levels of one architecture."""

import platform

import pytest

on_x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="levels of x86-64: avx2, avx512, amx"
)
