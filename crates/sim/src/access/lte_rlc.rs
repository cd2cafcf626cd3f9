//! PDCP and RLC of LTE over a channel of grants.

use lasthop_bearer::dch::DchStats;
use lasthop_bearer::{BearerOutput, Direction, End, Journeys, RlcStats, Sdu};
use lasthop_lte_l2::LtePipe;
use lasthop_lte_l2::rlc::{self, RlcEvent};
use lasthop_units::{Instant, NodeId};

use super::bearer::{Layer2, passed_on};
use super::framing::{LteRlc, Mode};
use super::{Access, BearerAccess};
use crate::spec::{BearerSpec, LteRlcBearerSpec};

/// The name of an event of RLC in the table `events`, and the PDU's sequence number.
pub fn describe(event: RlcEvent) -> (&'static str, Option<u32>) {
    let value = match event {
        RlcEvent::MaxRetransmissions { sn } => Some(sn),
        RlcEvent::Reestablished => None,
    };
    (event.name(), value)
}

/// RLC's mode for a capture.
pub fn mode(mode: rlc::Mode) -> Mode {
    match mode {
        rlc::Mode::Tm => Mode::Transparent,
        rlc::Mode::Um => Mode::Unacknowledged,
        rlc::Mode::Am => Mode::Acknowledged,
    }
}

/// The bearer of the table `[bearer.NAME]` between the nodes of the network and the UE, with the
/// draws of an entity in a run.
pub(super) fn access(
    name: &str,
    spec: &LteRlcBearerSpec,
    nodes: [NodeId; 2],
    [seed, entity]: [u64; 2],
) -> Access {
    let layer2 = LtePipe::new(&spec.config(), seed, entity);
    Access::LteRlc(Box::new(BearerAccess::new(name, layer2, nodes, spec.mtu.0 as u32)))
}

impl Layer2 for LtePipe {
    type Event = RlcEvent;

    passed_on!();

    #[inline]
    fn push(&mut self, now: Instant, end: End, packet: Sdu, out: &mut BearerOutput<RlcEvent>) {
        self.push(now, end, packet, out);
    }
    fn rlc_stats(&self, end: End) -> RlcStats {
        self.rlc_stats(end)
    }
    fn channel_stats(&self, direction: Direction) -> DchStats {
        *self.channel_stats(direction)
    }
    fn change(&mut self, spec: &BearerSpec) {
        let BearerSpec::LteRlc(spec) = spec else { return };
        let config = spec.config();
        for (direction, channel) in Direction::BOTH.into_iter().zip([config.downlink, config.uplink]) {
            self.set_loss(direction, channel.loss);
            self.set_grant(direction, channel.grant);
        }
    }
    fn prefix(&self, direction: Direction, ue: u16) -> Vec<u8> {
        let (layers, downlink) = (self.layers(), direction == Direction::Downlink);
        let format = layers.format(direction.sender());
        let (sn_bits, long_indicators) = (format.sn_bits as u8, format.li_bits == 15);
        LteRlc { mode: mode(layers.mode()), downlink, ue, bearer: 1, sn_bits, long_indicators }.prefix()
    }
    fn mode(&self) -> Mode {
        mode(self.layers().mode())
    }
    fn describe(event: RlcEvent) -> (&'static str, Option<u32>) {
        describe(event)
    }
}
