//! A UMTS dedicated channel with PDCP and RLC.

use lasthop_bearer::dch::DchStats;
use lasthop_bearer::{BearerOutput, Direction, End, RlcStats, Sdu};
use lasthop_umts::Bearer;
use lasthop_umts::rlc::RlcEvent;
use lasthop_units::Instant;

use super::bearer::{Layer2, passed_on};
use crate::spec::BearerSpec;

impl Layer2 for Bearer {
    type Event = RlcEvent;

    passed_on!();

    #[inline]
    fn push(&mut self, now: Instant, end: End, packet: Sdu, out: &mut BearerOutput<RlcEvent>) {
        self.push(now, end, packet.id, packet.size, out);
    }
    fn rlc_stats(&self, end: End) -> RlcStats {
        self.rlc(end).stats()
    }
    fn channel_stats(&self, direction: Direction) -> DchStats {
        *self.dch(direction).stats()
    }
    fn change(&mut self, spec: &BearerSpec) {
        let BearerSpec::Umts(spec) = spec else { return };
        let config = spec.config();
        self.set_bler(Direction::Downlink, config.downlink.bler);
        self.set_bler(Direction::Uplink, config.uplink.bler);
    }
    fn describe(event: RlcEvent) -> (&'static str, Option<u32>) {
        let value = match event {
            RlcEvent::Discarded(sdus) => Some(sdus),
            _ => None,
        };
        (event.name(), value)
    }
}
