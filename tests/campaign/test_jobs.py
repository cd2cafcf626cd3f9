"""What is kept of a run: identities say when two values are interchangeable."""

from __future__ import annotations

import pickle

from lasthop import Results, Scenario
from lasthop.campaign.jobs import Expression, Job, Measure, Point, outcomes
from lasthop.campaign.metrics import Metric, Outcome


class Rows:
    """A measure of the user's own."""

    name, unit, text, identity, needs_processes = "rows", "1", "rows.py:rows", "rows 1", True
    tables = frozenset({"flows"})

    def outcome(self, run: Results) -> Outcome:
        return Outcome(float(run.flows.num_rows))


def test_an_expression_is_known_by_its_tree_and_not_by_its_spaces_or_its_name() -> None:
    one = Expression(Metric.parse("a", 'flow("ftp").goodput_bps in Mbit/s'))
    same = Expression(Metric.parse("b", '(flow( "ftp" ).goodput_bps) in Mbit/s'))
    other = Expression(Metric.parse("a", 'flow("ftp").goodput_bps in kbit/s'))
    assert one.identity == same.identity != other.identity
    assert pickle.loads(pickle.dumps(one)).identity == one.identity
    assert (one.name, one.unit, one.tables, one.needs_processes) == ("a", "Mbit/s", frozenset({"flows"}), False)


def test_outcomes_come_in_the_order_of_the_measures() -> None:
    run = Scenario.load("lte-download", set={"scenario.duration": "0.2 s"}).run()
    measures: list[Measure] = [Rows(), Expression(Metric.parse("none", 'flow("absent").goodput_bps')), Rows()]
    found = outcomes(measures, run)
    assert list(found) == ["rows", "none"]
    assert found["rows"] == Outcome(1.0)
    assert found["none"].value is None
    assert "absent" in str(found["none"].reason)


def test_a_job_is_a_key_and_pickles() -> None:
    job = Job(Point(0, (("cc", "reno"), ("buffer", 1.5)), ("a=1",)), 3)
    assert {job: 1}[pickle.loads(pickle.dumps(job))] == 1
