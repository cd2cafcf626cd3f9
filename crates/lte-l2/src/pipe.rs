//! PDCP and RLC of LTE over a channel of grants: every TTI has a transport block of a given size,
//! lost with a given probability. There is no cell, scheduler or HARQ: the model shows RLC alone
//! below a TCP.

use lasthop_units::{Bitrate, Bytes, Duration, Instant, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pdcp::{LteBearer, LteBearerConfig, LteBearerOutput, PdcpConfig};
use crate::rlc::{Grant, Pdu, RlcConfig, RlcEvent};
use lasthop_bearer::RlcStats;
use lasthop_bearer::dch::{Dch, DchConfig, DchStats, TTIS};
use lasthop_bearer::{BearerOutput, Direction, End, Journeys, NotedPdu, PduOutcome, Sdu};
use lasthop_bearer::{ConfigError, Warning, check, within};
use lasthop_radio::ErrorPattern;

/// One direction of a channel of grants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GrantConfig {
    /// Transmission time interval.
    pub tti: Duration,
    /// Bytes of RLC PDUs that each TTI carries, headers included, 1 B to 1 MB.
    pub grant: Bytes,
    /// Probability that a transport block is lost after HARQ, independently of other blocks, 0 to
    /// 100 %.
    pub loss: Ratio,
    /// Time from the end of the TTI to the arrival at the receiving RLC: decoding and transport.
    pub delay: Duration,
}

impl Default for GrantConfig {
    fn default() -> Self {
        GrantConfig {
            tti: Duration::from_millis(1),
            // 20 Mbit/s: a large share of a 10 MHz cell.
            grant: Bytes(2_500),
            loss: Ratio(0.001),
            delay: Duration::from_millis(3),
        }
    }
}

impl GrantConfig {
    /// Refuses invalid values.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        check(TTIS.contains(&self.tti), "tti", "must be 10 us to 10 s, such as \"1 ms\"")?;
        check(
            (1..=1_000_000).contains(&self.grant.0),
            "grant",
            "a TTI carries 1 B to 1 MB, such as \"2500 B\"",
        )?;
        Ok(Vec::new())
    }

    /// Converts to a dedicated channel, whose TTI grid and losses apply here: all PDUs of a TTI
    /// share one outcome.
    fn channel(&self) -> DchConfig {
        DchConfig {
            tti: self.tti,
            blocks: 64,
            block_payload: self.grant,
            bler: self.loss,
            errors: ErrorPattern::PerTti,
            offset: Duration::ZERO,
            iub_delay: self.delay,
        }
    }
}

/// LTE's PDCP and RLC over a channel of grants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LtePipeConfig {
    /// From the network to the terminal.
    pub downlink: GrantConfig,
    /// From the terminal to the network.
    pub uplink: GrantConfig,
    /// PDCP at both ends.
    pub pdcp: PdcpConfig,
    /// RLC at both ends.
    pub rlc: RlcConfig,
}

impl LtePipeConfig {
    fn layers(&self) -> LteBearerConfig {
        LteBearerConfig { pdcp: self.pdcp.clone(), rlc: self.rlc.clone() }
    }

    /// Refuses invalid values, naming the key; warns of known pitfalls.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let mut warnings = self.layers().validate()?;
        within("downlink", self.downlink.validate(), &mut warnings)?;
        within("uplink", self.uplink.validate(), &mut warnings)?;
        Ok(warnings)
    }
}

/// The bearer; the contract is that of [`Bearer`](super::Bearer).
#[derive(Debug)]
pub struct LtePipe {
    layers: LteBearer,
    channel: [Dch<Pdu>; 2],
    grant: [u32; 2],
    pdus: Vec<Pdu>,
    scratch: LteBearerOutput,
    /// Records of where SDUs are, if they were requested.
    journeys: Option<Box<Journeys>>,
    /// True if PDUs are recorded.
    notes: bool,
}

impl LtePipe {
    /// Creates the bearer number `entity` of the run `seed`. `config` must be valid.
    pub fn new(config: &LtePipeConfig, seed: u64, entity: u64) -> LtePipe {
        let rate = |c: &GrantConfig| (!c.tti.is_zero()).then(|| Bitrate::per(c.grant.bits(), c.tti));
        let mut layers = LteBearer::new(&config.layers());
        layers.install_aqm(&config.rlc, seed, entity, [rate(&config.downlink), rate(&config.uplink)]);
        let entity = entity.wrapping_mul(2);
        LtePipe {
            layers,
            channel: [
                Dch::new(config.downlink.channel(), seed, entity),
                Dch::new(config.uplink.channel(), seed, entity.wrapping_add(1)),
            ],
            grant: [config.downlink.grant.0 as u32, config.uplink.grant.0 as u32],
            pdus: Vec::new(),
            scratch: LteBearerOutput::default(),
            journeys: None,
            notes: false,
        }
    }

    /// Starts to record where SDUs are.
    pub fn note_journeys(&mut self) {
        self.journeys = Some(Box::default());
    }
    /// Returns the records of where SDUs are; `None` unless they are kept.
    #[inline]
    pub fn journeys(&mut self) -> Option<&mut Journeys> {
        self.journeys.as_deref_mut()
    }
    /// Starts to list PDUs that are sent and received in the output.
    pub fn note_pdus(&mut self) {
        self.notes = true;
    }
    /// PDCP and RLC at both ends.
    pub const fn layers(&self) -> &LteBearer {
        &self.layers
    }
    /// Packets inside that `end` has pushed.
    pub fn inside(&self, end: End) -> usize {
        self.layers.inside(end)
    }
    /// When a direction's next TTI with something to send starts; `None` while idle.
    pub const fn next_tti(&self, direction: Direction) -> Option<Instant> {
        self.channel[direction.index()].next_tti()
    }
    /// When PDUs of a direction arrive next.
    pub fn next_arrival(&self, direction: Direction) -> Option<Instant> {
        self.channel[direction.index()].next_arrival()
    }
    /// When a timer of either end expires next.
    pub fn next_timer(&self) -> Option<Instant> {
        self.layers.poll_at()
    }
    /// Counters of a direction's channel.
    pub const fn channel_stats(&self, direction: Direction) -> &DchStats {
        self.channel[direction.index()].stats()
    }
    /// Counters of the RLC entity of an end, under the names that all radios share.
    pub fn rlc_stats(&self, end: End) -> RlcStats {
        self.layers.rlc_stats(end)
    }

    /// Takes in `packet` (above 0 bytes; its serial number is ignored) at `end`, to be delivered at
    /// the other end.
    pub fn push<E: From<RlcEvent>>(
        &mut self,
        now: Instant,
        end: End,
        packet: Sdu,
        out: &mut BearerOutput<E>,
    ) {
        self.layers.push_ecn(now, end, packet, &mut self.scratch);
        self.settle(now, out);
    }

    /// Starts a TTI of `direction`: RLC fills its grant.
    pub fn on_tti<E: From<RlcEvent>>(
        &mut self,
        now: Instant,
        direction: Direction,
        out: &mut BearerOutput<E>,
    ) {
        let i = direction.index();
        if self.channel[i].next_tti() != Some(now) {
            return;
        }
        let end = direction.sender();
        let repeated = if self.notes { self.layers.rlc_stats(end).pdus_retx } else { 0 };
        self.layers.pull(now, end, Grant::of(self.grant[i]), &mut self.pdus, &mut self.scratch);
        if self.notes {
            // RLC sends retransmissions before new data.
            let mut left = self.layers.rlc_stats(end).pdus_retx - repeated;
            for (pdu, index) in self.pdus.iter().zip(0..) {
                let outcome =
                    if self.channel[i].will_lose(now, index) { PduOutcome::Lost } else { PduOutcome::Sent };
                let again = left > 0 && matches!(pdu, Pdu::Amd(_));
                left -= u64::from(again);
                let octets = self.layers.octets(end, pdu);
                out.noted.push(NotedPdu { at: now, direction, outcome, again, octets });
            }
        }
        let due = now + self.channel[i].config().tti + self.channel[i].config().iub_delay;
        if let Some(journeys) = &mut self.journeys {
            self.pdus.iter().for_each(|pdu| pdu.note_sent(journeys, now, end.index() as u32, due));
        }
        let (layers, scratch, journeys) = (&mut self.layers, &mut self.scratch, &mut self.journeys);
        self.channel[i].send(now, &mut self.pdus, |pdu| {
            if let Some(journeys) = journeys {
                pdu.note_given_up(journeys, due);
            }
            layers.lost(end, &pdu, scratch);
            layers.recycle(end, pdu);
        });
        self.settle(now, out);
    }

    /// Receives the PDUs of `direction` that have arrived.
    pub fn on_arrival<E: From<RlcEvent>>(
        &mut self,
        now: Instant,
        direction: Direction,
        out: &mut BearerOutput<E>,
    ) {
        let end = direction.sender();
        let channel = &mut self.channel[direction.index()];
        while let Some(mut pdus) = channel.arrived(now) {
            for pdu in pdus.drain(..) {
                if let Some(journeys) = &mut self.journeys {
                    pdu.note_arrived(journeys, now);
                }
                if self.notes {
                    let octets = self.layers.octets(end, &pdu);
                    out.noted.push(NotedPdu {
                        at: now,
                        direction,
                        outcome: PduOutcome::Received,
                        again: false,
                        octets,
                    });
                }
                self.layers.receive(now, end.peer(), &pdu, &mut self.scratch);
                self.layers.recycle(end, pdu);
            }
            channel.recycle(pdus);
        }
        self.settle(now, out);
    }

    /// Processes the timers of both ends that have expired.
    pub fn on_timer<E: From<RlcEvent>>(&mut self, now: Instant, out: &mut BearerOutput<E>) {
        self.layers.on_time(now, &mut self.scratch);
        self.settle(now, out);
    }

    /// Sets a new loss probability, in force from the next TTI.
    pub fn set_loss(&mut self, direction: Direction, loss: Ratio) {
        self.channel[direction.index()].set_bler(loss);
    }
    /// Sets a new grant, in force from the next TTI.
    pub fn set_grant(&mut self, direction: Direction, grant: Bytes) {
        self.grant[direction.index()] = grant.0 as u32;
    }

    /// Passes on the output of the layers, re-establishes after a radio link failure and schedules
    /// the next TTIs of the channels.
    fn settle<E: From<RlcEvent>>(&mut self, now: Instant, out: &mut BearerOutput<E>) {
        // A re-establishment may itself have output, but never another failure.
        for _ in 0..2 {
            let s = &mut self.scratch;
            out.delivered.append(&mut s.delivered);
            out.dropped.append(&mut s.dropped);
            out.marked.append(&mut s.marked);
            let mut failed = false;
            for (end, event) in s.events.drain(..) {
                failed |= matches!(event, RlcEvent::MaxRetransmissions { .. });
                out.events.push((end, event.into()));
            }
            if !failed {
                break;
            }
            // TS 36.331 clause 5.3.11.3: radio link failure. RRC re-establishes the bearer at once;
            // MAC is reset, so PDUs in transmission are lost.
            for channel in &mut self.channel {
                channel.cut(|_| ());
            }
            self.layers.re_establish(now, &mut self.scratch);
        }
        for direction in Direction::BOTH {
            let waits = self.layers.buffer_status(direction.sender()).total() > 0;
            self.channel[direction.index()].wake(now, waits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::{Id, PacketId};

    /// 1500 B (1502 with PDCP's header) over grants of 500 B: RLC needs four of them (500 B less 2
    /// B of header each carry 498 B), TTIs 1 to 4 ms, the last one ends at 5 ms, 3 ms of
    /// decoding: 8 ms.
    #[test]
    fn a_packet_takes_as_many_ttis_as_its_pdus_need() {
        let channel = GrantConfig { grant: Bytes(500), loss: Ratio(0.0), ..GrantConfig::default() };
        let config = LtePipeConfig { downlink: channel, uplink: channel, ..LtePipeConfig::default() };
        config.validate().unwrap();
        let mut pipe = LtePipe::new(&config, 1, 0);
        let mut out = BearerOutput::<RlcEvent>::default();
        pipe.push(Instant::ZERO, End::Network, Sdu::new(PacketId::from_index(0), 1500), &mut out);
        let mut now = Instant::ZERO;
        while out.delivered.is_empty() {
            let next = Direction::BOTH
                .into_iter()
                .flat_map(|d| [(pipe.next_tti(d), d, true), (pipe.next_arrival(d), d, false)])
                .filter_map(|(t, d, tti)| t.map(|t| (t, d, tti)))
                .min_by_key(|(t, _, tti)| (*t, !*tti));
            let Some((t, direction, is_tti)) = next else { panic!("stalled at {now}") };
            now = t;
            match is_tti {
                true => pipe.on_tti(now, direction, &mut out),
                false => pipe.on_arrival(now, direction, &mut out),
            }
        }
        assert_eq!(now, Instant::from_millis(8));
        assert_eq!((out.delivered[0].1.size(), pipe.inside(End::Network)), (1500, 0));
    }
}
