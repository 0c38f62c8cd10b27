"""Names of mx.contrib that MXNet has and cynet lacks, said where one is used: see libinfo.py."""

from ..libinfo import name_missing_in

name_missing_in("contrib")
