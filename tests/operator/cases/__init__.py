"""The table of operator cases: every module here brings CASES and may bring EXCEPTIONS."""

from .case import Case, Input, apart, away_from_zero, ints, off_integers
from .table import all_cases, all_exceptions
