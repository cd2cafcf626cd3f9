//! A UMTS dedicated channel with PDCP and RLC.

use lasthop_bearer::dch::DchStats;
use lasthop_bearer::{BearerOutput, Direction, End, Journeys, RlcStats, Sdu};
use lasthop_umts::Bearer;
use lasthop_umts::pdcp::PdcpHeader;
use lasthop_umts::rlc::segment::DataLayout;
use lasthop_umts::rlc::{Rlc, RlcEvent};
use lasthop_units::{Instant, NodeId};

use super::bearer::{Layer2, passed_on};
use super::framing::{Mode, UmtsRlc};
use super::{Access, BearerAccess};
use crate::spec::{BearerSpec, UmtsBearerSpec};

/// The bearer of the table `[bearer.NAME]` between the nodes of the network and the UE, with the
/// draws of an entity in a run.
pub(super) fn access(
    name: &str,
    spec: &UmtsBearerSpec,
    nodes: [NodeId; 2],
    [seed, entity]: [u64; 2],
) -> Access {
    let layer2 = Bearer::new(&spec.config(), seed, entity);
    Access::Umts(Box::new(BearerAccess::new(name, layer2, nodes, spec.mtu.0 as u32)))
}

impl Layer2 for Bearer {
    type Event = RlcEvent;

    passed_on!();

    #[inline]
    fn push(&mut self, now: Instant, end: End, packet: Sdu, out: &mut BearerOutput<RlcEvent>) {
        self.push(now, end, packet.id, packet.size(), out);
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
    fn prefix(&self, direction: Direction, ue: u16) -> Vec<u8> {
        let payload = self.dch(direction).config().block_payload.0 as u32;
        let mode = Layer2::mode(self);
        let layout = if mode == Mode::Acknowledged { DataLayout::am } else { DataLayout::um }(payload);
        let (downlink, ip) = (direction == Direction::Downlink, self.header() == PdcpHeader::None);
        UmtsRlc { mode, downlink, ue: ue.into(), long_indicators: layout.li == 2, ip }.prefix()
    }
    fn capture_note(&self) -> &'static str {
        match self.header() {
            PdcpHeader::None => "",
            _ => {
                "; Wireshark has no dissector for this PDCP header, `pdcp.header = \"none\"` decodes down to IP"
            }
        }
    }
    fn mode(&self) -> Mode {
        match self.rlc(End::Network) {
            Rlc::Am(_) => Mode::Acknowledged,
            Rlc::Um(_) => Mode::Unacknowledged,
            Rlc::Tm(_) => Mode::Transparent,
        }
    }
    fn describe(event: RlcEvent) -> (&'static str, Option<u32>) {
        let value = match event {
            RlcEvent::Discarded(sdus) => Some(sdus),
            _ => None,
        };
        (event.name(), value)
    }
}
