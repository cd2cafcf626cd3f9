"""Self-contained HTML pages: one file that can be mailed, nothing fetched.

Readable in light and in dark.

The generic pieces (`page`, `section`, `figure_svg`, `table_html`) are shared by the report of a run
(`run_report`) and the reports of studies.
"""

from lasthop.report._pieces import figure_svg, page, section, table_html
from lasthop.report._run import run_report, runs_report

__all__ = ["figure_svg", "page", "run_report", "runs_report", "section", "table_html"]
