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
    /// Without size: it was discarded, and its place remains until it reaches the head.
    sdu: Sdu,
    since: Instant,
}

// A buffer has one for each SDU that waits.
const _: () = assert!(size_of::<Waiting>() == 24);

impl Waiting {
    const fn is_gone(&self) -> bool {
        self.sdu.size() == 0
    }
    /// Discards it; returns its size.
    const fn discard(&mut self) -> u32 {
        let size = self.sdu.size();
        self.sdu = self.sdu.with_size(0);
        size
    }
}

/// The transmission buffer.
#[derive(Debug)]
pub(super) struct TxBuffer {
    sdus: VecDeque<Waiting>,
    /// SDUs in it that are discarded.
    gone: usize,
    /// Bytes of the head that are in PDUs already. Above 0 the head is never discarded.
    mapped: u32,
    /// The AQM has accepted the head.
    judged: bool,
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
            gone: 0,
            mapped: 0,
            judged: false,
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
        if let Some(head) = self.sdus.front().filter(|_| self.mapped > 0) {
            all.packets -= 1;
            all.bytes -= u64::from(head.sdu.size() - self.mapped);
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
        if self.aqm.is_none() && sdu.size() > 0 && self.fits(&sdu) {
            self.enter(now, sdu);
        } else {
            self.push_or_drop(now, sdu, out);
        }
    }

    #[inline]
    fn enter(&mut self, now: Instant, sdu: Sdu) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(sdu.size());
        push_tight(&mut self.sdus, Waiting { sdu, since: now });
    }

    #[inline(never)]
    fn push_or_drop<S>(&mut self, now: Instant, mut sdu: Sdu, out: &mut RlcOutput<S>) {
        if sdu.size() == 0 {
            out.dropped.push((sdu, DropCause::Empty));
            return;
        }
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
        self.enter(now, sdu);
    }

    #[inline]
    const fn fits(&self, sdu: &Sdu) -> bool {
        self.backlog.packets < self.limit.packets
            && self.backlog.bytes.saturating_add(sdu.size() as u64) <= self.limit.bytes
    }

    /// Drops the oldest SDU of which no byte was sent.
    fn drop_oldest<S>(&mut self, out: &mut RlcOutput<S>) -> bool {
        let begun = usize::from(self.mapped > 0);
        let Some(w) = self.sdus.iter_mut().skip(begun).find(|w| !w.is_gone()) else { return false };
        out.dropped.push((w.sdu, DropCause::BufferFull));
        let size = w.discard();
        self.removed(size);
        true
    }

    /// An SDU of `size` bytes is discarded.
    fn removed(&mut self, size: u32) {
        self.gone += 1;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(size);
        self.drop_gone();
    }

    /// Removes the head, and discarded SDUs behind it.
    #[inline]
    fn pop_head(&mut self) {
        (self.mapped, self.judged) = (0, false);
        self.sdus.pop_front();
        self.drop_gone();
    }

    /// Removes discarded SDUs that have reached the head.
    #[inline]
    fn drop_gone(&mut self) {
        while self.gone > 0 && self.sdus.front().is_some_and(Waiting::is_gone) {
            self.judged = false;
            self.sdus.pop_front();
            self.gone -= 1;
        }
    }

    /// Removes the SDU `serial` if no byte of it is in a PDU.
    // TS 36.322 v15.1.0 clause 5.3: an SDU of which a segment is in a data PDU is not discarded.
    pub fn discard(&mut self, serial: u64) -> Option<Sdu> {
        let at = self.sdus.partition_point(|w| w.sdu.serial < serial);
        let begun = at == 0 && self.mapped > 0;
        let w = self.sdus.get_mut(at)?;
        if w.sdu.serial != serial || begun || w.is_gone() {
            return None;
        }
        let sdu = w.sdu;
        let size = w.discard();
        self.removed(size);
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
        while let Some(aqm) = &mut self.aqm
            && let Some(w) = self.sdus.front_mut().filter(|_| !self.judged && self.mapped == 0)
        {
            self.judged = true;
            let behind = aqm::Backlog {
                packets: u64::from(self.backlog.packets) - 1,
                bytes: self.backlog.bytes - u64::from(w.sdu.size()),
            };
            match aqm.leaves(now, sight(&w.sdu), w.since, behind) {
                Verdict::Pass => {}
                Verdict::Mark => mark(&mut w.sdu, &mut self.marked, out),
                Verdict::Drop => {
                    out.dropped.push((w.sdu, DropCause::Aqm));
                    self.backlog = Backlog { packets: behind.packets as u32, bytes: behind.bytes };
                    self.pop_head();
                }
            }
        }
    }

    /// Records that `bytes` of the head are in a PDU, and with `last` all of its bytes.
    #[inline]
    pub fn take(&mut self, bytes: u32, last: bool) {
        debug_assert_eq!(self.sdus.front().map(|w| w.sdu.size() == self.mapped + bytes), Some(last));
        self.backlog.bytes -= u64::from(bytes);
        if last {
            self.backlog.packets -= 1;
            self.pop_head();
        } else {
            self.mapped += bytes;
        }
    }

    /// Empties the buffer and returns its SDUs, oldest first. The head's first bytes may be in
    /// PDUs.
    pub fn drain(&mut self) -> impl Iterator<Item = (Sdu, bool)> {
        self.backlog = Backlog::default();
        let begun = std::mem::take(&mut self.mapped) > 0;
        (self.judged, self.gone) = (false, 0);
        let all = self.sdus.drain(..).enumerate().filter(|(_, w)| !w.is_gone());
        all.map(move |(i, w)| (w.sdu, i == 0 && begun))
    }
}

const fn sight(sdu: &Sdu) -> Sight {
    Sight { size: sdu.size(), ecn: sdu.ecn() }
}

fn seen(backlog: Backlog) -> aqm::Backlog {
    aqm::Backlog { packets: u64::from(backlog.packets), bytes: backlog.bytes }
}

/// Marks an SDU with congestion experienced; each SDU is reported once.
fn mark<S>(sdu: &mut Sdu, marked: &mut u64, out: &mut RlcOutput<S>) {
    if sdu.ecn() != Ecn::Ce {
        *sdu = sdu.with_ecn(Ecn::Ce);
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
        b.take(10, false); // serial 0 is begun and stays
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
        b.take(1, false);
        assert_eq!(b.discard(0), None);
        assert_eq!(b.discard(2).map(|s| s.serial), Some(2));
        assert_eq!(b.discard(2), None);
        b.take(99, true);
        assert_eq!(b.head(Instant(0), &mut out).map(|h| h.0.serial), Some(1));
        b.take(100, true);
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
        b.set_aqm(Some(AqmConfig::Codel(params).build(&Site { mtu: Some(100), ..Site::default() })));
        for i in 0..6 {
            let ecn = if i == 3 { Ecn::Ect0 } else { Ecn::NotEct };
            b.push(Instant(i), sdu(i, 100).with_ecn(ecn), &mut out);
        }
        let (mut sent, mut now) = (Vec::new(), Instant(10));
        while let Some((sdu, mapped)) = b.head(now, &mut out) {
            sent.push((sdu.serial, mapped));
            b.take(50, mapped > 0);
            now += Duration(10);
        }
        let numbers: Vec<u64> = sent.iter().map(|s| s.0).collect();
        assert_eq!(numbers, [0, 0, 2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(out.dropped.len(), 1);
        assert_eq!({ out.dropped[0].0.serial }, 1);
        assert_eq!(out.dropped[0].1, DropCause::Aqm);
        assert_eq!((out.marked.len(), out.marked[0].serial, b.marked()), (1, 3, 1));
        assert_eq!(out.marked[0].ecn(), Ecn::Ce);
    }
}
