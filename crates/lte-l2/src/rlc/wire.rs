//! Entities that exchange encoded PDUs only: the other end can be any implementation of TS 36.322.

use std::collections::BTreeMap;

use lasthop_engine::Slab;
use lasthop_units::{Instant, PacketId};

use super::codec::{Chunk, decode, encode};
use super::{BufferStatus, DropCause, End, Grant, Pdu, Rlc, RlcConfig, RlcEvent, RlcOutput, RlcStats, Sdu};

/// An RLC entity with encoded SDUs above and encoded PDUs below.
#[derive(Debug)]
pub struct WireRlc {
    rlc: Rlc<Chunk>,
    /// SDUs of which bytes may still be sent.
    store: Slab<PacketId, Vec<u8>>,
    /// By serial number, the SDUs in `store`.
    inside: BTreeMap<u64, PacketId>,
    serial: u64,
    confirmed: Vec<u64>,
    dropped: Vec<(u64, DropCause)>,
    out: RlcOutput<Vec<u8>>,
    pdus: Vec<Pdu>,
    /// PDUs that could not be decoded.
    pub undecodable: u64,
}

impl WireRlc {
    /// Creates the entity at `end`, in its initial state. `end` matters where field widths differ
    /// by direction.
    pub fn new(config: &RlcConfig, end: End) -> WireRlc {
        WireRlc {
            rlc: Rlc::new(config, end),
            store: Slab::new(),
            inside: BTreeMap::new(),
            serial: 0,
            confirmed: Vec::new(),
            dropped: Vec::new(),
            out: RlcOutput::default(),
            pdus: Vec::new(),
            undecodable: 0,
        }
    }

    /// Takes in an SDU from upper layers; returns its serial number.
    pub fn push(&mut self, now: Instant, bytes: &[u8]) -> u64 {
        let id = self.store.insert(bytes.to_vec());
        let sdu = Sdu { serial: self.serial, ..Sdu::new(id, bytes.len() as u32) };
        self.inside.insert(self.serial, id);
        self.serial += 1;
        self.rlc.push(now, sdu, &mut self.out);
        self.remove_finished();
        sdu.serial
    }

    /// Uses a transmission opportunity: returns encoded PDUs, at most `bytes` in all.
    pub fn pull(&mut self, now: Instant, bytes: u32) -> Vec<Vec<u8>> {
        self.rlc.pull(now, Grant::of(bytes), &mut self.pdus, &mut self.out);
        let format = self.rlc.format();
        let acknowledged = format.is_some_and(|f| f.acknowledged);
        let mut encoded = Vec::with_capacity(self.pdus.len());
        for pdu in self.pdus.drain(..) {
            // Transparent mode has no header, so any format is valid.
            let widths = format.unwrap_or(super::Format::um(5));
            let (store, inside) = (&mut self.store, &mut self.inside);
            encoded.push(encode(&pdu, widths, |span, len, to| {
                let from = span.offset as usize;
                to.extend_from_slice(&store[span.sdu.id][from..from + len as usize]);
                if !acknowledged && span.offset + len == span.sdu.size() {
                    store.remove(span.sdu.id);
                    inside.remove(&{ span.sdu.serial });
                }
            }));
            self.rlc.recycle(pdu);
        }
        self.remove_finished();
        encoded
    }

    /// Receives bytes from lower layers. Bytes that are no PDU are discarded (TS 36.322 clause
    /// 5.5.1).
    pub fn receive(&mut self, now: Instant, bytes: &[u8]) {
        match decode(bytes, self.rlc.peer_format()) {
            Ok(pdu) => self.rlc.receive(now, &pdu, &mut self.out),
            Err(_) => self.undecodable += 1,
        }
        self.remove_finished();
    }

    /// Discards the SDU `serial` at the request of upper layers; true if it was discarded and will
    /// never be delivered: no byte of it is in a PDU (TS 36.322 clause 5.3). False for an SDU that
    /// has left already and for a number that was never given.
    pub fn discard(&mut self, serial: u64) -> bool {
        let discarded = self.inside.contains_key(&serial) && self.rlc.discard(serial);
        if discarded {
            self.remove(serial);
        }
        discarded
    }

    fn remove_finished(&mut self) {
        let confirmed = self.confirmed.len();
        self.confirmed.extend(self.out.confirmed.drain(..).map(|sdu| sdu.serial));
        let dropped = self.dropped.len();
        self.dropped.extend(self.out.dropped.drain(..).map(|(sdu, cause)| (sdu.serial, cause)));
        for i in confirmed..self.confirmed.len() {
            self.remove(self.confirmed[i]);
        }
        for i in dropped..self.dropped.len() {
            self.remove(self.dropped[i].0);
        }
    }

    fn remove(&mut self, serial: u64) {
        if let Some(id) = self.inside.remove(&serial) {
            self.store.remove(id);
        }
    }

    /// Serial numbers of the SDUs of this entity whose delivery the peer has confirmed (AM) since
    /// the last call, in the order of the confirmations.
    pub fn confirmed(&mut self) -> std::vec::Drain<'_, u64> {
        self.confirmed.drain(..)
    }

    /// Serial numbers of the SDUs of this entity that were dropped since the last call, with the
    /// cause. A discarded one is not among them.
    pub fn dropped(&mut self) -> std::vec::Drain<'_, (u64, DropCause)> {
        self.dropped.drain(..)
    }

    /// SDUs received since the last call, in order.
    pub fn delivered(&mut self) -> std::vec::Drain<'_, Vec<u8>> {
        self.out.delivered.drain(..)
    }

    /// Events since the last call.
    pub fn events(&mut self) -> std::vec::Drain<'_, RlcEvent> {
        self.out.events.drain(..)
    }

    /// When a timer expires next.
    pub fn poll_at(&self) -> Option<Instant> {
        self.rlc.poll_at()
    }

    /// Processes the timers that have expired.
    pub fn on_time(&mut self, now: Instant) {
        self.rlc.on_time(now, &mut self.out);
        self.remove_finished();
    }

    /// Re-establishes the entity (TS 36.322 clause 5.4).
    pub fn re_establish(&mut self) {
        self.rlc.re_establish(&mut self.out);
        self.remove_finished();
    }

    /// The data available for transmission that MAC would report.
    pub fn buffer_status(&self) -> BufferStatus {
        self.rlc.buffer_status()
    }

    /// Counters.
    pub const fn stats(&self) -> &RlcStats {
        self.rlc.stats()
    }

    /// SDUs whose bytes are kept.
    pub fn held(&self) -> usize {
        self.store.len()
    }
}
