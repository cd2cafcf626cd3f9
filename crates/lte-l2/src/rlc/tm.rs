//! The TM RLC entities (TS 36.322 clause 4.2.1.1): SDUs are sent unchanged and whole, without
//! header.

use lasthop_net::aqm::Aqm;
use lasthop_units::{Bitrate, Instant};

use super::buffer::{Backlog, TxBuffer};
use super::config::RlcConfig;
use super::{
    BufferStatus, DropCause, Element, Grant, Payload, Pdu, RlcEvent, RlcOutput, RlcStats, Sdu, Span,
};

/// A pair of TM RLC entities.
#[derive(Debug)]
pub struct Tm<P: Payload = Span> {
    buffer: TxBuffer,
    stats: RlcStats,
    received: std::marker::PhantomData<fn() -> P>,
}

impl<P: Payload> Tm<P> {
    /// Creates entities in their initial state.
    pub fn new(config: &RlcConfig) -> Tm<P> {
        Tm {
            buffer: TxBuffer::new(&config.buffer),
            stats: RlcStats::default(),
            received: std::marker::PhantomData,
        }
    }

    /// Sets the rate that the link would offer to this entity's buffer.
    pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        self.buffer.set_rate(now, rate);
    }

    /// SDUs that the active queue management has marked.
    pub const fn marked(&self) -> u64 {
        self.buffer.marked()
    }
    /// Installs an active queue management in the transmission buffer.
    pub fn set_aqm(&mut self, aqm: Option<Aqm>) {
        self.buffer.set_aqm(aqm);
    }

    /// Takes in an SDU from upper layers.
    pub fn push(&mut self, now: Instant, sdu: Sdu, out: &mut RlcOutput<P::Sdu>) {
        self.stats.sdus_in += 1;
        let before = out.dropped.len();
        self.buffer.push(now, sdu, out);
        self.stats.sdus_dropped += (out.dropped.len() - before) as u64;
    }

    /// Uses a transmission opportunity for whole SDUs; one that is larger than the whole grant
    /// waits.
    // TS 36.322 v15.1.0 clause 5.1.1.1.1: an SDU is submitted to lower layers unchanged.
    pub fn pull(
        &mut self,
        now: Instant,
        grant: Grant,
        pdus: &mut Vec<Pdu>,
        out: &mut RlcOutput<P::Sdu>,
    ) -> u32 {
        let mut left = grant;
        let before = out.dropped.len();
        while let Some((sdu, _)) = self.buffer.head(now, out) {
            if sdu.size() > left.room() {
                break;
            }
            self.buffer.take(sdu.size(), true);
            left.charge(sdu.size());
            self.stats.pdus_new += 1;
            self.stats.bytes_sent += u64::from(sdu.size());
            pdus.push(Pdu::Tmd(Element { payload: Span { sdu, offset: 0 }, len: sdu.size() }));
        }
        self.stats.sdus_dropped += (out.dropped.len() - before) as u64;
        grant.bytes - left.bytes
    }

    /// Receives a PDU from lower layers.
    pub fn receive(&mut self, pdu: &Pdu<P>, out: &mut RlcOutput<P::Sdu>) {
        let Pdu::Tmd(e) = pdu else {
            self.stats.invalid_received += 1;
            return;
        };
        self.stats.pdus_received += 1;
        if let Some(sdu) = P::finish(e.payload.begin(e.len)) {
            out.delivered.push(sdu);
            self.stats.sdus_out += 1;
        }
    }

    /// Discards `serial` at the request of upper layers.
    pub fn discard(&mut self, serial: u64) -> bool {
        let discarded = self.buffer.discard(serial).is_some();
        self.stats.sdus_discarded += u64::from(discarded);
        discarded
    }

    /// Discards all SDUs (TS 36.322 v15.1.0 clause 5.4).
    pub fn re_establish(&mut self, out: &mut RlcOutput<P::Sdu>) {
        out.dropped.extend(self.buffer.drain().map(|(sdu, _)| (sdu, DropCause::Reestablishment)));
        self.stats.reestablishments += 1;
        out.events.push(RlcEvent::Reestablished);
    }

    /// The data available for transmission that MAC would report.
    pub const fn buffer_status(&self) -> BufferStatus {
        BufferStatus { status: 0, retransmission: 0, new_data: self.buffer.backlog().bytes }
    }

    /// SDUs waiting.
    pub const fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }

    /// When the oldest SDU that is not wholly sent entered.
    pub fn oldest(&self) -> Option<Instant> {
        self.buffer.oldest()
    }

    /// Counters.
    pub const fn stats(&self) -> &RlcStats {
        &self.stats
    }
}
