"""The paper's arithmetic: what can be said without a run."""

from __future__ import annotations

import math

#: Downlink channel: 12 blocks of 320 bit in 10 ms.
CAPACITY_BPS = 384e3
DL_TTI_S, DL_BLOCKS = 0.010, 12
#: Uplink channel: 4 blocks of 320 bit in 20 ms.
UL_TTI_S, UL_BLOCKS = 0.020, 4
BLOCK_BYTES = 40

#: A segment as an IP packet (512 + 20 + 20), with its PDCP header, and as the paper counts
#: throughput.
PACKET_BYTES, PDU_BYTES, COUNTED_BYTES = 552, 553, 532
MAX_WINDOW = 64

#: What an error-free channel can carry, counted as the paper counts: 96.2 %.
FULL_SHARE = COUNTED_BYTES / PDU_BYTES

#: Vegas' thresholds [packets].
ALPHA, BETA = 1, 3


def ceiling(tbler: float) -> float:
    """The share that selective repeat leaves at a block error rate in percent: (1 - p) * 96 %."""
    return (1 - tbler / 100) * FULL_SHARE


def transmission_time_s(packet_bytes: int, blocks: int, tti_s: float) -> float:
    """Equation 4 of the paper: the error-free transmission time ceil(l / (C * TTI)) * TTI.

    `packet_bytes` is l without the PDCP header, as the paper takes it.
    """
    return math.ceil(packet_bytes / (blocks * BLOCK_BYTES)) * tti_s


def minimum_rtt_s(one_way_s: float) -> float:
    """The smallest RTT that a grid of TTIs allows, for a one-way delay outside the radio.

    Wired, and RNC to Node B.

    ceil20(ceil10(2w + 0.5 ms) + 20) + 20 ms: 0.5 ms for serialisation on the 10 Mbit/s link; two
    downlink TTIs for a packet, one uplink TTI for its ACK. Data that arrives at the instant a TTI
    starts goes with the next one, and the ACK comes out of the UE at such an instant, so the outer
    ceiling is strict.
    """
    ms = one_way_s * 1e3
    downlink_start = math.ceil((2 * ms + 0.5) / 10) * 10
    ack_ready = downlink_start + 20
    uplink_start = math.floor(ack_ready / 20) * 20 + 20
    return (uplink_start + 20) / 1e3


def vegas_delta(window: float, rtt_s: float, base_rtt_s: float) -> float:
    """Equation 1: the segments that wait in queues, (expected - actual) * baseRTT."""
    return (window / base_rtt_s - window / rtt_s) * base_rtt_s


def ns2_delta(window: float, rtt_s: float, base_rtt_s: float) -> int:
    """Equation 1 as ns-2 computes it: rounded to a whole number of packets."""
    return int(vegas_delta(window, rtt_s, base_rtt_s) + 0.5)


def bandwidth_delay_segments(rtt_s: float) -> float:
    """The bandwidth-delay product of the channel in segments."""
    return CAPACITY_BPS * rtt_s / 8 / PACKET_BYTES
