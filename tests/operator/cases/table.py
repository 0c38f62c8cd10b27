"""Collects the cases of all modules beside this one."""

import importlib
import pkgutil
from functools import lru_cache
from pathlib import Path


@lru_cache(None)
def _modules():
    here = Path(__file__).parent
    names = sorted(
        m.name for m in pkgutil.iter_modules([str(here)]) if m.name not in ("case", "table")
    )
    return [importlib.import_module(f"{__package__}.{name}") for name in names]


def all_cases():
    """Every Case of the table."""
    return [case for module in _modules() for case in getattr(module, "CASES", ())]


def all_exceptions():
    """Operators without a case: name to the reason."""
    return {k: v for module in _modules() for k, v in getattr(module, "EXCEPTIONS", {}).items()}
