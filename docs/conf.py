"""Sphinx's configuration of the site: ``make docs`` writes it to build/docs/html."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(ROOT))
PROJECT = (ROOT / "pyproject.toml").read_text()

project = "cynet"
author = "The cynet developers"
copyright = author
release = version = re.search(r'^version = "(.+)"', PROJECT, re.M)[1]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "outside",
    "reference",
    "notebooks",
    "names",
]
exclude_patterns = ["_ext"]
default_role = "py:obj"
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's Parameters have the types, in words
autodoc_preserve_defaults = True  # defaults as in the source, without addresses
numpydoc_show_class_members = False
numpydoc_validation_checks = set()  # tests/test_docstrings.py counts

# References to Python and NumPy become links if their inventories can be had (see outside.py).
intersphinx_pages = {"python": "https://docs.python.org/3", "numpy": "https://numpy.org/doc/stable"}

html_theme = "furo"
html_title = f"cynet {release}"
html_static_path = ["_static"]
html_css_files = ["cynet.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
