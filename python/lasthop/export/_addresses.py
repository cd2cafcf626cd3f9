"""Addresses and ports for formats that need them: the simulation names nodes and flows instead.

The assignment depends only on the names in the table `flows`, so two exports of the same run agree,
and those of two runs with the same nodes and flows.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The first node's address; the others follow in the order of their names.
FIRST_ADDRESS = IPv4Address("10.0.0.1")
#: Ports of the nodes `src`: dynamic ports (RFC 6335, section 6), one for each flow in the order of
#: the table.
FIRST_PORT, PORTS = 49152, 16384
#: Port of the nodes `dst`; the next one for each further 16384 flows.
PEER_PORT = 5001

PROTOCOLS = {"tcp": 6, "udp": 17}


@dataclass(frozen=True, order=True)
class FiveTuple:
    """What distinguishes one direction of a connection; sorted as ns-3 sorts them."""

    source: IPv4Address
    destination: IPv4Address
    protocol: int
    source_port: int
    destination_port: int

    @property
    def reverse(self) -> FiveTuple:
        """The other direction."""
        return FiveTuple(self.destination, self.source, self.protocol, self.destination_port, self.source_port)


def node_addresses(flows: Sequence[dict[str, Any]]) -> dict[str, IPv4Address]:
    """The address of each node that sends or receives a flow."""
    nodes = sorted({row[end] for row in flows for end in ("src", "dst")})
    return {node: FIRST_ADDRESS + i for i, node in enumerate(nodes)}


def five_tuples(flows: Sequence[dict[str, Any]]) -> dict[str, FiveTuple]:
    """The five-tuple of each flow, in the direction of its data.

    Args:
        flows: rows of the table `flows`.
    """
    addresses = node_addresses(flows)
    return {
        row["flow"]: FiveTuple(
            addresses[row["src"]],
            addresses[row["dst"]],
            PROTOCOLS[row["transport"]],
            FIRST_PORT + i % PORTS,
            PEER_PORT + i // PORTS,
        )
        for i, row in enumerate(flows)
    }
