"""Control flow: operators that hold graphs and run them, `_foreach`, `_while_loop` and `_cond`."""

from . import cond, foreach, while_loop
