# Written by scripts/make_stubs.py; do not edit.

