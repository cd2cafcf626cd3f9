//! A bearer of any radio behind one face: what the world drives.

use lasthop_units::Instant;

use lasthop_bearer::dch::DchStats;
use lasthop_bearer::{BearerOutput, Direction, End, RlcStats, Sdu};
use lasthop_lte_l2::rlc as lte;
use lasthop_lte_l2::{LtePipe, LtePipeConfig};
use lasthop_umts::rlc as umts;
use lasthop_umts::{Bearer, BearerConfig};

/// Something worth a row in the events table, from any radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BearerEvent {
    /// UMTS RLC.
    Umts(umts::RlcEvent),
    /// LTE RLC.
    Lte(lte::RlcEvent),
}

impl BearerEvent {
    /// The name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            BearerEvent::Umts(e) => e.name(),
            BearerEvent::Lte(e) => e.name(),
        }
    }
    /// A number that belongs to it: SDUs discarded, the PDU's sequence number.
    pub const fn value(self) -> Option<u32> {
        match self {
            BearerEvent::Umts(umts::RlcEvent::Discarded(n)) => Some(n),
            BearerEvent::Lte(lte::RlcEvent::MaxRetransmissions { sn }) => Some(sn),
            _ => None,
        }
    }
}

impl From<umts::RlcEvent> for BearerEvent {
    fn from(event: umts::RlcEvent) -> BearerEvent {
        BearerEvent::Umts(event)
    }
}

impl From<lte::RlcEvent> for BearerEvent {
    fn from(event: lte::RlcEvent) -> BearerEvent {
        BearerEvent::Lte(event)
    }
}

/// The configuration of a bearer of any radio.
#[derive(Clone, Debug, PartialEq)]
pub enum RadioConfig {
    /// A UMTS dedicated channel.
    Umts(Box<BearerConfig>),
    /// LTE's PDCP and RLC over a channel of grants.
    LtePipe(Box<LtePipeConfig>),
}

/// A bearer of any radio. The contract is [`Bearer`]'s.
#[derive(Debug)]
pub enum RadioBearer {
    /// A UMTS dedicated channel.
    Umts(Box<Bearer>),
    /// LTE's PDCP and RLC over a channel of grants.
    LtePipe(Box<LtePipe>),
}

macro_rules! each {
    ($self:ident, $bearer:ident => $what:expr) => {
        match $self {
            RadioBearer::Umts($bearer) => $what,
            RadioBearer::LtePipe($bearer) => $what,
        }
    };
}

impl RadioBearer {
    /// A bearer with the draws of `entity` in the run `seed`. `config` must be valid.
    pub fn new(config: &RadioConfig, seed: u64, entity: u64) -> RadioBearer {
        match config {
            RadioConfig::Umts(c) => RadioBearer::Umts(Box::new(Bearer::new(c, seed, entity))),
            RadioConfig::LtePipe(c) => RadioBearer::LtePipe(Box::new(LtePipe::new(c, seed, entity))),
        }
    }

    /// When a direction's next TTI with something to send starts; `None` while idle.
    #[inline]
    pub fn next_tti(&self, direction: Direction) -> Option<Instant> {
        each!(self, b => b.next_tti(direction))
    }
    /// When blocks of a direction arrive next.
    #[inline]
    pub fn next_arrival(&self, direction: Direction) -> Option<Instant> {
        each!(self, b => b.next_arrival(direction))
    }
    /// When a timer of either end expires next.
    #[inline]
    pub fn next_timer(&self) -> Option<Instant> {
        each!(self, b => b.next_timer())
    }
    /// `packet` (above 0 bytes; its serial number is not looked at) enters at `end`, to be
    /// delivered at the other.
    #[inline]
    pub fn push(&mut self, now: Instant, end: End, packet: Sdu, out: &mut BearerOutput<BearerEvent>) {
        match self {
            RadioBearer::Umts(b) => b.push(now, end, packet.id, packet.size, out),
            RadioBearer::LtePipe(b) => b.push(now, end, packet, out),
        }
    }
    /// A TTI of `direction` starts.
    #[inline]
    pub fn on_tti(&mut self, now: Instant, direction: Direction, out: &mut BearerOutput<BearerEvent>) {
        each!(self, b => b.on_tti(now, direction, out))
    }
    /// Blocks of `direction` have arrived.
    #[inline]
    pub fn on_arrival(&mut self, now: Instant, direction: Direction, out: &mut BearerOutput<BearerEvent>) {
        each!(self, b => b.on_arrival(now, direction, out))
    }
    /// Timers of both ends that have expired act.
    pub fn on_timer(&mut self, now: Instant, out: &mut BearerOutput<BearerEvent>) {
        each!(self, b => b.on_timer(now, out))
    }
    /// Packets inside that `end` has pushed.
    pub fn inside(&self, end: End) -> usize {
        each!(self, b => b.inside(end))
    }
    /// Counters of the RLC entity of an end.
    pub fn rlc_stats(&self, end: End) -> RlcStats {
        match self {
            RadioBearer::Umts(b) => b.rlc(end).stats(),
            RadioBearer::LtePipe(b) => b.rlc_stats(end),
        }
    }
    /// Counters of a direction's channel.
    pub fn channel_stats(&self, direction: Direction) -> DchStats {
        match self {
            RadioBearer::Umts(b) => *b.dch(direction).stats(),
            RadioBearer::LtePipe(b) => *b.channel_stats(direction),
        }
    }
    /// What may change during a run is now as in `config`; nothing happens if that is of another
    /// radio.
    pub fn reconfigure(&mut self, config: &RadioConfig) {
        match (self, config) {
            (RadioBearer::Umts(b), RadioConfig::Umts(c)) => {
                b.set_bler(Direction::Downlink, c.downlink.bler);
                b.set_bler(Direction::Uplink, c.uplink.bler);
            }
            (RadioBearer::LtePipe(b), RadioConfig::LtePipe(c)) => {
                for (direction, channel) in [(Direction::Downlink, c.downlink), (Direction::Uplink, c.uplink)]
                {
                    b.set_loss(direction, channel.loss);
                    b.set_grant(direction, channel.grant);
                }
            }
            _ => {}
        }
    }
}
