"""Handover and sudden load over LTE: what `lasthop.harness` looks up by name."""

from lasthop.studies.lte_handover.evaluate import (
    citations,
    delay_order,
    delay_rises,
    discards_or_forwards,
    goodput_falls,
    goodput_order,
    load_step,
    trade_off,
    window_cut,
    window_kept,
)
from lasthop.studies.lte_handover.figures import COLOURS, figures
from lasthop.studies.lte_handover.reduce import (
    reduce_drive,
    reduce_interruption,
    reduce_load,
    reduce_map,
    reduce_outage,
    reduce_trigger,
    reduce_users,
)
from lasthop.studies.lte_handover.tables import tables

__all__ = [
    "COLOURS",
    "citations",
    "delay_order",
    "delay_rises",
    "discards_or_forwards",
    "figures",
    "goodput_falls",
    "goodput_order",
    "load_step",
    "reduce_drive",
    "reduce_interruption",
    "reduce_load",
    "reduce_map",
    "reduce_outage",
    "reduce_trigger",
    "reduce_users",
    "tables",
    "trade_off",
    "window_cut",
    "window_kept",
]
