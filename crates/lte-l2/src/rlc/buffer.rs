//! The transmission buffer: SDUs, or the rest of one, that are in no PDU yet (TS 36.322 clauses
//! 4.2.1.2.2, 4.2.1.3.2), with its limits.

use std::collections::VecDeque;

use lasthop_engine::push_tight;
use lasthop_net::aqm::{self, Aqm, Sight, Verdict};
use lasthop_units::{Bitrate, Ecn, Instant};

use super::config::{BufferConfig, Discipline};
use super::{DropCause, RlcOutput, Sdu};

/// Amount of waiting data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// SDUs, the one being sent included.
    pub packets: u32,
    /// Bytes in no PDU yet.
    pub bytes: u64,
}

#[derive(Clone, Debug)]
struct Waiting {
    sdu: Sdu,
    since: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Whole,
    /// The AQM has accepted it; no byte is sent yet.
    Judged,
    /// Some bytes of it are in a PDU.
    Begun,
    /// Discarded; its place remains until it reaches the head.
    Gone,
}

// A buffer has one for each SDU that waits.
const _: () = assert!(size_of::<Waiting>() == 32);

/// The transmission buffer.
#[derive(Debug)]
pub(super) struct TxBuffer {
    sdus: VecDeque<Waiting>,
    /// Bytes of the head that are in PDUs already.
    mapped: u32,
    backlog: Backlog,
    limit: Backlog,
    discipline: Discipline,
    /// Called when an SDU arrives and when its first byte is about to enter a PDU. An SDU of which
    /// a byte was sent is never dropped (TS 36.322 clause 5.3).
    aqm: Option<Box<Aqm>>,
    marked: u64,
}

impl TxBuffer {
    pub fn new(config: &BufferConfig) -> TxBuffer {
        TxBuffer {
            sdus: VecDeque::new(),
            mapped: 0,
            backlog: Backlog::default(),
            limit: Backlog {
                packets: config.packets.value().unwrap_or(u32::MAX),
                bytes: config.bytes.value().map_or(u64::MAX, |b| b.0),
            },
            discipline: config.discipline,
            aqm: None,
            marked: 0,
        }
    }

    pub fn set_aqm(&mut self, aqm: Option<Aqm>) {
        self.aqm = aqm.map(Box::new);
    }

    /// Sets the rate that the link would offer to this buffer.
    pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        if let Some(aqm) = &mut self.aqm {
            aqm.set_rate(now, rate);
        }
    }

    /// SDUs that the AQM has marked.
    pub const fn marked(&self) -> u64 {
        self.marked
    }

    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// SDUs of which no byte is in a PDU.
    pub fn untouched(&self) -> Backlog {
        let mut all = self.backlog;
        if let Some(head) = self.sdus.front().filter(|w| w.state == State::Begun) {
            all.packets -= 1;
            all.bytes -= u64::from(head.sdu.size - self.mapped);
        }
        all
    }

    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.backlog.packets == 0
    }

    /// When the oldest SDU entered.
    pub fn oldest(&self) -> Option<Instant> {
        self.sdus.front().map(|w| w.since)
    }

    /// Takes `sdu` in, or drops it or older SDUs.
    #[inline]
    pub fn push<S>(&mut self, now: Instant, sdu: Sdu, out: &mut RlcOutput<S>) {
        if sdu.size == 0 {
            out.dropped.push((sdu, DropCause::Empty));
            return;
        }
        let mut sdu = sdu;
        match self.aqm.as_mut().map(|aqm| aqm.arrives(now, sight(&sdu), seen(self.backlog))) {
            Some(Verdict::Drop) => return out.dropped.push((sdu, DropCause::Aqm)),
            Some(Verdict::Mark) => mark(&mut sdu, &mut self.marked, out),
            Some(Verdict::Pass) | None => {}
        }
        while !self.fits(&sdu) {
            if self.discipline == Discipline::DropTail || !self.drop_oldest(out) {
                return out.dropped.push((sdu, DropCause::BufferFull));
            }
        }
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(sdu.size);
        push_tight(&mut self.sdus, Waiting { sdu, since: now, state: State::Whole });
    }

    #[inline]
    const fn fits(&self, sdu: &Sdu) -> bool {
        self.backlog.packets < self.limit.packets
            && self.backlog.bytes.saturating_add(sdu.size as u64) <= self.limit.bytes
    }

    /// Drops the oldest SDU of which no byte was sent.
    fn drop_oldest<S>(&mut self, out: &mut RlcOutput<S>) -> bool {
        let whole = |w: &&mut Waiting| matches!(w.state, State::Whole | State::Judged);
        let Some(w) = self.sdus.iter_mut().find(whole) else { return false };
        out.dropped.push((w.sdu, DropCause::BufferFull));
        Self::remove(w, &mut self.backlog);
        self.drop_gone();
        true
    }

    fn remove(w: &mut Waiting, backlog: &mut Backlog) {
        w.state = State::Gone;
        backlog.packets -= 1;
        backlog.bytes -= u64::from(w.sdu.size);
    }

    fn drop_gone(&mut self) {
        while self.sdus.front().is_some_and(|w| w.state == State::Gone) {
            self.sdus.pop_front();
        }
    }

    /// Removes the SDU `serial` if no byte of it is in a PDU.
    // TS 36.322 v15.1.0 clause 5.3: an SDU of which a segment is in a data PDU is not discarded.
    pub fn discard(&mut self, serial: u64) -> Option<Sdu> {
        let at = self.sdus.partition_point(|w| w.sdu.serial < serial);
        let w = self.sdus.get_mut(at)?;
        if w.sdu.serial != serial || !matches!(w.state, State::Whole | State::Judged) {
            return None;
        }
        let sdu = w.sdu;
        Self::remove(w, &mut self.backlog);
        self.drop_gone();
        Some(sdu)
    }

    /// Returns the SDU to send next and how much of it is in PDUs already. The AQM may drop SDUs
    /// before it.
    #[inline(always)]
    pub fn head<S>(&mut self, now: Instant, out: &mut RlcOutput<S>) -> Option<(Sdu, u32)> {
        if self.aqm.is_some() {
            self.judge(now, out);
        }
        self.sdus.front().map(|w| (w.sdu, self.mapped))
    }

    #[inline(never)]
    fn judge<S>(&mut self, now: Instant, out: &mut RlcOutput<S>) {
        let Some(aqm) = &mut self.aqm else { return };
        while let Some(w) = self.sdus.front_mut().filter(|w| w.state == State::Whole) {
            w.state = State::Judged;
            let behind = aqm::Backlog {
                packets: u64::from(self.backlog.packets) - 1,
                bytes: self.backlog.bytes - u64::from(w.sdu.size),
            };
            match aqm.leaves(now, sight(&w.sdu), w.since, behind) {
                Verdict::Pass => {}
                Verdict::Mark => mark(&mut w.sdu, &mut self.marked, out),
                Verdict::Drop => {
                    out.dropped.push((w.sdu, DropCause::Aqm));
                    Self::remove(w, &mut self.backlog);
                    while self.sdus.front().is_some_and(|w| w.state == State::Gone) {
                        self.sdus.pop_front();
                    }
                }
            }
        }
    }

    /// Records that `bytes` of the head are in a PDU.
    #[inline]
    pub fn take(&mut self, bytes: u32) {
        let Some(head) = self.sdus.front_mut() else { return };
        self.backlog.bytes -= u64::from(bytes);
        self.mapped += bytes;
        head.state = State::Begun;
        if self.mapped == head.sdu.size {
            self.mapped = 0;
            self.backlog.packets -= 1;
            self.sdus.pop_front();
            self.drop_gone();
        }
    }

    /// Empties the buffer and returns its SDUs, oldest first. The head's first bytes may be in
    /// PDUs.
    pub fn drain(&mut self) -> impl Iterator<Item = (Sdu, bool)> {
        self.backlog = Backlog::default();
        self.mapped = 0;
        self.sdus.drain(..).filter(|w| w.state != State::Gone).map(|w| (w.sdu, w.state == State::Begun))
    }
}

const fn sight(sdu: &Sdu) -> Sight {
    Sight { size: sdu.size, ecn: sdu.ecn }
}

fn seen(backlog: Backlog) -> aqm::Backlog {
    aqm::Backlog { packets: u64::from(backlog.packets), bytes: backlog.bytes }
}

/// Marks an SDU with congestion experienced; each SDU is reported once.
fn mark<S>(sdu: &mut Sdu, marked: &mut u64, out: &mut RlcOutput<S>) {
    if sdu.ecn != Ecn::Ce {
        sdu.ecn = Ecn::Ce;
        *marked += 1;
        out.marked.push(*sdu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_bearer::OrInfinity;
    use lasthop_net::Site;
    use lasthop_net::aqm::{AqmConfig, CodelParams};
    use lasthop_units::{Bytes, Duration, Id, PacketId};

    fn sdu(serial: u64, size: u32) -> Sdu {
        Sdu { serial, ..Sdu::new(PacketId::from_index(serial as usize), size) }
    }

    fn filled(config: &BufferConfig, n: u64) -> (TxBuffer, RlcOutput) {
        let (mut b, mut out) = (TxBuffer::new(config), RlcOutput::default());
        (0..n).for_each(|i| b.push(Instant(i), sdu(i, 100), &mut out));
        (b, out)
    }

    #[test]
    fn a_full_buffer_drops_its_newest_or_its_oldest_untouched_sdu() {
        let mut config = BufferConfig { packets: OrInfinity::Value(3), ..BufferConfig::default() };
        let (b, out) = filled(&config, 4);
        assert_eq!((out.dropped[0].0.serial, b.backlog().packets), (3, 3));
        config.discipline = Discipline::HeadDrop;
        let (mut b, mut out) = filled(&config, 3);
        b.take(10); // serial 0 is begun and stays
        b.push(Instant(9), sdu(3, 100), &mut out);
        assert_eq!((out.dropped[0].0.serial, b.backlog()), (1, Backlog { packets: 3, bytes: 290 }));
        config.bytes = OrInfinity::Value(Bytes(250));
        config.packets = OrInfinity::INFINITY;
        let (_, out) = filled(&config, 4);
        assert_eq!(out.dropped.iter().map(|d| d.0.serial).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn an_sdu_is_discarded_only_while_no_byte_of_it_was_sent() {
        let (mut b, mut out) = filled(&BufferConfig::default(), 4);
        b.take(1);
        assert_eq!(b.discard(0), None);
        assert_eq!(b.discard(2).map(|s| s.serial), Some(2));
        assert_eq!(b.discard(2), None);
        b.take(99);
        assert_eq!(b.head(Instant(0), &mut out).map(|h| h.0.serial), Some(1));
        b.take(100);
        assert_eq!(b.head(Instant(0), &mut out), Some((sdu(3, 100), 0)));
        assert_eq!(b.backlog(), Backlog { packets: 1, bytes: 100 });
    }

    /// CoDel with target and interval of 1 ns: the first SDU that has waited starts the interval,
    /// the next one, number 1, is dropped; number 2 reaches the head at the same instant and
    /// passes, 3 is due again and is ECN-capable: marked. Numbers 4 and 5 have at most one packet
    /// behind them. The AQM is called once for each, whatever the size of the grants.
    #[test]
    fn an_aqm_judges_each_sdu_once_before_its_first_byte_is_sent() {
        let params = CodelParams { target: Duration(1), interval: Duration(1), ..CodelParams::default() };
        let mut b = TxBuffer::new(&BufferConfig::default());
        let mut out: RlcOutput = RlcOutput::default();
        b.set_aqm(Some(AqmConfig::Codel(params).build(&Site::default())));
        for i in 0..6 {
            let ecn = if i == 3 { Ecn::Ect0 } else { Ecn::NotEct };
            b.push(Instant(i), Sdu { ecn, ..sdu(i, 100) }, &mut out);
        }
        let (mut sent, mut now) = (Vec::new(), Instant(10));
        while let Some((sdu, mapped)) = b.head(now, &mut out) {
            sent.push((sdu.serial, mapped));
            b.take(50);
            now += Duration(10);
        }
        let numbers: Vec<u64> = sent.iter().map(|s| s.0).collect();
        assert_eq!(numbers, [0, 0, 2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(out.dropped.len(), 1);
        assert_eq!({ out.dropped[0].0.serial }, 1);
        assert_eq!(out.dropped[0].1, DropCause::Aqm);
        assert_eq!((out.marked.len(), out.marked[0].serial, b.marked()), (1, 3, 1));
        assert_eq!(out.marked[0].ecn, Ecn::Ce);
    }
}
