//! PDCP and RLC of LTE over a channel of grants.

use lasthop_bearer::dch::DchStats;
use lasthop_bearer::{BearerOutput, Direction, End, RlcStats, Sdu};
use lasthop_lte_l2::LtePipe;
use lasthop_lte_l2::rlc::RlcEvent;
use lasthop_units::Instant;

use super::bearer::{Layer2, passed_on};
use crate::spec::BearerSpec;

/// The name of what RLC reports in the table `events`, and the PDU's sequence number.
pub fn describe(event: RlcEvent) -> (&'static str, Option<u32>) {
    let value = match event {
        RlcEvent::MaxRetransmissions { sn } => Some(sn),
        RlcEvent::Reestablished => None,
    };
    (event.name(), value)
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
    fn describe(event: RlcEvent) -> (&'static str, Option<u32>) {
        describe(event)
    }
}
