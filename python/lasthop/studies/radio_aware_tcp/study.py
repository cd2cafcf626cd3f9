"""Radio-aware TCP over an LTE cell: what `lasthop.harness` looks up by name."""

from lasthop.studies.radio_aware_tcp.evaluate import (
    both_at_once,
    buffer_shape,
    burst_latency,
    close_rate,
    drift,
    periodic_losses,
    prediction,
    rate_alone,
    short_burst,
    slow_start_costs,
    table_order,
    table_row,
    web_objects,
)
from lasthop.studies.radio_aware_tcp.figures import figures, tables
from lasthop.studies.radio_aware_tcp.reduce import (
    reduce_air,
    reduce_download,
    reduce_files,
    reduce_objects,
    reduce_prediction,
    reduce_web,
)

__all__ = [
    "both_at_once",
    "buffer_shape",
    "burst_latency",
    "close_rate",
    "drift",
    "figures",
    "periodic_losses",
    "prediction",
    "rate_alone",
    "reduce_air",
    "reduce_download",
    "reduce_files",
    "reduce_objects",
    "reduce_prediction",
    "reduce_web",
    "short_burst",
    "slow_start_costs",
    "table_order",
    "table_row",
    "tables",
    "web_objects",
]
