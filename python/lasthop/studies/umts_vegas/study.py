"""TCP Vegas and Reno over a UMTS dedicated channel: what `lasthop.harness` looks up by name.

Throughput is counted as in the paper: received TCP segments with their 20 B TCP header
(`rx_segment_bytes`), as a share of the channel's 384 kbit/s. 532 of the 553 B that PDCP hands down
make the 96 % of an error-free channel.
"""

from lasthop.studies.umts_vegas.evaluate import (
    bandwidth_delay,
    base_rtt_lock,
    collapse_beyond,
    error_free_share,
    fall_with_tbler,
    no_fast_retransmit,
    nothing_lost,
    price_of_a_block,
    reno_timeouts,
    reno_window,
    rtt_grid,
    share_in_band,
    spurious_timeout,
    vegas_collapse,
    vegas_rtt,
    vegas_samples,
    vegas_timeouts,
    vegas_window,
)
from lasthop.studies.umts_vegas.figures import COLOURS, figures, tables
from lasthop.studies.umts_vegas.reduce import reduce_ahead, reduce_datagrams, reduce_spurious, reduce_transfer

__all__ = [
    "COLOURS",
    "bandwidth_delay",
    "base_rtt_lock",
    "collapse_beyond",
    "error_free_share",
    "fall_with_tbler",
    "figures",
    "no_fast_retransmit",
    "nothing_lost",
    "price_of_a_block",
    "reduce_ahead",
    "reduce_datagrams",
    "reduce_spurious",
    "reduce_transfer",
    "reno_timeouts",
    "reno_window",
    "rtt_grid",
    "share_in_band",
    "spurious_timeout",
    "tables",
    "vegas_collapse",
    "vegas_rtt",
    "vegas_samples",
    "vegas_timeouts",
    "vegas_window",
]
