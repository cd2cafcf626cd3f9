"""Self-contained HTML pages: one file, which loads nothing else.

The pages have a light and a dark form.

The generic pieces (`page`, `section`, `figure_svg`, `table_html`) are shared by all reports. Those
of runs (`run_report`, `runs_report`) and of campaigns (`lasthop.report.campaign`) are here, that of
a study is in `lasthop.harness`, and that of a judgement in `lasthop.judging`.
"""

from lasthop.report._pieces import figure_svg, page, section, table_html
from lasthop.report._run import run_report, runs_report

__all__ = ["figure_svg", "page", "run_report", "runs_report", "section", "table_html"]
