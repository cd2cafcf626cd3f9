"""The key `output.cc_variables`: which variables of congestion controls a run writes."""

from __future__ import annotations

import pytest

from lasthop import LasthopError, Scenario
from tests.explain.plants import WIRED


def test_variables_of_a_control_are_chosen_by_name() -> None:
    keys = ["flow.f.tcp.cc=bbr3", "output.cc=ack", "scenario.duration=2 s"]
    whole = Scenario.parse(WIRED).with_(keys).run().table("cc").to_pylist()
    some = Scenario.parse(WIRED).with_([*keys, 'output.cc_variables=["cwnd", "bbr.*bw"]']).run().table("cc").to_pylist()
    names = {row["variable"] for row in some}
    assert {"cwnd", "bbr.max_bw"} <= names < {row["variable"] for row in whole}
    assert all(name == "cwnd" or (name.startswith("bbr.") and name.endswith("bw")) for name in names)
    assert some == [row for row in whole if row["variable"] in names]
    assert len(some) < len(whole) / 5


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["output.cc=ack", 'output.cc_variables=["cwmd"]'], r"has a variable `cwmd`(.|\n)*did you mean `cwnd`\?"),
        (["output.cc=ack", 'output.cc_variables=["bbr.*"]'], r"no sender of this scenario has a variable `bbr\.\*`"),
        (["output.cc=ack", 'output.cc_variables=["x.y"]'], r"known variables: "),
    ],
)
def test_a_variable_that_no_sender_has_is_refused(keys: list[str], message: str) -> None:
    with pytest.raises(LasthopError, match=message):
        Scenario.parse(WIRED).with_(keys)
    own = Scenario.parse(WIRED).with_(["output.cc=ack", 'output.cc_variables=["cwnd", "round"]'])
    assert own.duration == 10.0


def test_a_choice_of_variables_without_the_table_is_warned_of() -> None:
    found = Scenario.parse(WIRED).with_(['output.cc_variables=["cwnd"]'])
    assert any("these variables are not written" in str(warning) for warning in found.warnings)
