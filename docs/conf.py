"""Sphinx configuration: `sphinx-build -W docs docs/_build/html` (or `make docs`)."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "Lasthop"
author = "The Lasthop developers"
project_copyright = "The Lasthop developers"
_version = re.search(r'^version = "(.+)"$', (HERE.parent / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
assert _version, "Cargo.toml names the workspace's version"
version = release = _version.group(1)

extensions = ["myst_parser", "lasthop_reference"]
# Folders that `make` writes are no pages.
exclude_patterns = ["_build", "_ext", "**/.*"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Two modules may have a class of the same name; an annotation that names it links to one of them.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"Lasthop {version}"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["tables.css"]
pygments_style = "tango"
