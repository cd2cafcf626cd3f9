//! The snoop agent of H. Balakrishnan, S. Seshan, R. H. Katz, "Improving reliable transport and
//! handoff performance in cellular wireless networks", ACM Wireless Networks 1(4), 1995, section 3,
//! for one connection and one direction of its data.
//!
//! It is at the node before the wireless hop and inspects passing segments. Data towards the mobile
//! is stored until the mobile acknowledges it; a duplicate ACK for stored data is answered here, by
//! a retransmission, and not forwarded to the sender. Its state is soft: if it is lost, the
//! connection continues end to end, as if without the agent. Our choices where the paper leaves
//! something open are noted below.
//!
//! Sans-IO: the caller passes in segments with a token `T` (its packet), receives the decision
//! whether to forward each, and sends the copies that are returned.

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant, Seq};

use crate::segment::{Flags, Segment};

/// The limits of an agent's storage, and its timer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnoopConfig {
    /// Maximum of stored octets of data; data that does not fit is forwarded and not stored.
    pub buffer: u64,
    /// Floor of the local timer.
    pub min_timeout: Duration,
    /// How often the agent sends a segment again before it leaves the repair to the sender. The
    /// paper has no such limit.
    pub retransmissions: u32,
}

/// The decision of the agent about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is passed on.
    Pass,
    /// Not forwarded: an ACK that the sender should not receive, or data that the mobile has.
    Keep,
}

/// Copies to send.
#[derive(Debug)]
pub struct SnoopOut<T> {
    /// Data, towards the mobile.
    pub down: Vec<T>,
    /// ACKs, towards the sender.
    pub up: Vec<T>,
}

impl<T> Default for SnoopOut<T> {
    fn default() -> Self {
        SnoopOut { down: Vec::new(), up: Vec::new() }
    }
}

/// Counters of the agent's actions, for the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnoopCounters {
    /// Segments sent again because of a duplicate ACK.
    pub by_dup_ack: u64,
    /// Segments sent again by the local timer.
    pub by_timer: u64,
    /// Duplicate or old ACKs that were not forwarded to the sender.
    pub suppressed: u64,
    /// Maximum of stored octets at any time.
    pub held_max: u64,
}

/// A segment that the mobile has not acknowledged.
#[derive(Clone, Debug)]
struct Cached<T> {
    seq: Seq,
    end: Seq,
    what: T,
    /// When it last went towards the mobile.
    sent: Instant,
    /// How often it was sent again here.
    again: u32,
    /// The sender sent it again: it has reacted to the loss already, or the loss was before the
    /// agent.
    by_sender: bool,
}

/// The agent for one connection's data in one direction.
#[derive(Clone, Debug)]
pub struct Snoop<T> {
    config: SnoopConfig,
    /// In order of sequence numbers.
    cache: VecDeque<Cached<T>>,
    held: u64,
    /// The mobile's last ACK: its number, window and token.
    last_ack: Option<(Seq, u16, T)>,
    srtt: Option<Duration>,
    rttvar: Duration,
    backoff: u32,
    /// The last ACK that moved SND.UNA: the oldest segment has waited for its predecessor before.
    timer_from: Instant,
    counters: SnoopCounters,
}

impl<T: Clone> Snoop<T> {
    /// An agent without state.
    pub fn new(config: SnoopConfig) -> Snoop<T> {
        Snoop {
            config,
            cache: VecDeque::new(),
            held: 0,
            last_ack: None,
            srtt: None,
            rttvar: Duration::ZERO,
            backoff: 0,
            timer_from: Instant::ZERO,
            counters: SnoopCounters::default(),
        }
    }

    /// Octets stored.
    pub const fn held(&self) -> u64 {
        self.held
    }
    /// The counters so far.
    pub const fn counters(&self) -> &SnoopCounters {
        &self.counters
    }

    /// When the local timer fires.
    pub fn poll_at(&self) -> Option<Instant> {
        // Without a round trip there is no timer: the first losses are left to the sender, or are
        // found by duplicate ACKs.
        let timeout = self.timeout()?;
        self.cache.front().map(|c| c.sent.max(self.timer_from).saturating_add(timeout))
    }

    /// Data (or any segment) towards the mobile.
    pub fn handle_data(
        &mut self,
        now: Instant,
        segment: &Segment,
        what: &T,
        out: &mut SnoopOut<T>,
    ) -> Verdict {
        if segment.flags.has(Flags::SYN) || segment.flags.has(Flags::RST) {
            self.clear();
            return Verdict::Pass;
        }
        if segment.len == 0 {
            return Verdict::Pass;
        }
        let (seq, end) = (segment.seq, segment.seq + segment.len);
        if let Some((ack, _, token)) = &self.last_ack
            && !after(end, *ack)
        {
            // The mobile has it, its ACK was lost before it reached the sender: the last one is
            // sent again.
            out.up.push(token.clone());
            return Verdict::Keep;
        }
        let place = self.cache.iter().position(|c| !after(seq, c.seq));
        let known = place.filter(|i| self.cache[*i].seq == seq);
        if let Some(i) = known {
            let c = &mut self.cache[i];
            (c.sent, c.again, c.by_sender) = (now, 0, true);
            self.backoff = 0;
            return Verdict::Pass;
        }
        if self.held + u64::from(segment.len) > self.config.buffer {
            return Verdict::Pass;
        }
        // Below something that has passed already: it was lost or overtaken before it came here.
        let by_sender = place.is_some();
        let entry = Cached { seq, end, what: what.clone(), sent: now, again: 0, by_sender };
        self.cache.insert(place.unwrap_or(self.cache.len()), entry);
        self.held += u64::from(segment.len);
        self.counters.held_max = self.counters.held_max.max(self.held);
        Verdict::Pass
    }

    /// A segment from the mobile.
    pub fn handle_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        what: &T,
        out: &mut SnoopOut<T>,
    ) -> Verdict {
        if segment.flags.has(Flags::SYN) || segment.flags.has(Flags::RST) {
            self.clear();
            return Verdict::Pass;
        }
        if !segment.flags.has(Flags::ACK) {
            return Verdict::Pass;
        }
        let pure = segment.len == 0 && !segment.flags.has(Flags::FIN);
        let before = self.last_ack.as_ref().map(|(ack, window, _)| (*ack, *window));
        match before {
            Some((ack, _)) if after(ack, segment.ack) => {
                // "A spurious ACK": older than the last ACK passed to the sender.
                if pure { self.suppress() } else { Verdict::Pass }
            }
            Some((ack, window)) if ack == segment.ack => {
                let duplicate = pure && window == segment.window;
                self.last_ack = Some((segment.ack, segment.window, what.clone()));
                if duplicate { self.duplicate(now, out) } else { Verdict::Pass }
            }
            _ => {
                self.acknowledge(now, segment.ack);
                self.last_ack = Some((segment.ack, segment.window, what.clone()));
                Verdict::Pass
            }
        }
    }

    /// The local timer: the oldest segment that the mobile has not acknowledged is sent again.
    pub fn on_time(&mut self, now: Instant, out: &mut SnoopOut<T>) {
        if self.poll_at().is_none_or(|at| now < at) {
            return;
        }
        let Some(front) = self.cache.front_mut() else { return };
        if front.again >= self.config.retransmissions {
            self.drop_front();
            return;
        }
        front.again += 1;
        front.sent = now;
        out.down.push(front.what.clone());
        self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
        self.counters.by_timer += 1;
    }

    /// Discards all state, as when the mobile moves to a node without an agent.
    pub fn clear(&mut self) {
        *self = Snoop { counters: self.counters, ..Snoop::new(self.config) };
    }

    fn duplicate(&mut self, now: Instant, out: &mut SnoopOut<T>) -> Verdict {
        let ack = self.last_ack.as_ref().map(|(ack, ..)| *ack);
        let limit = self.config.retransmissions;
        match self.cache.front_mut() {
            // Lost before the agent, or the sender has taken the matter up, or it was tried often
            // enough: its ACK.
            Some(c) if Some(c.seq) != ack || c.by_sender || c.again >= limit => Verdict::Pass,
            None => Verdict::Pass,
            Some(c) => {
                // The first duplicate indicates the missing segment; those that follow come from
                // segments sent after it, and if the retransmission is lost too, the timer expires.
                if c.again == 0 {
                    c.again = 1;
                    c.sent = now;
                    out.down.push(c.what.clone());
                    self.counters.by_dup_ack += 1;
                }
                self.suppress()
            }
        }
    }

    fn suppress(&mut self) -> Verdict {
        self.counters.suppressed += 1;
        Verdict::Keep
    }

    fn acknowledge(&mut self, now: Instant, ack: Seq) {
        let mut sample = None;
        while let Some(front) = self.cache.front()
            && !after(front.end, ack)
        {
            // Karn and Partridge: nothing that was sent twice is measured.
            if front.again == 0 && !front.by_sender {
                sample = Some(now.since(front.sent));
            }
            self.drop_front();
        }
        self.backoff = 0;
        if let Some(rtt) = sample {
            self.measure(rtt);
        }
        self.timer_from = now;
    }

    fn drop_front(&mut self) {
        if let Some(c) = self.cache.pop_front() {
            self.held -= u64::from(c.end.distance_from(c.seq).unsigned_abs());
        }
    }

    /// The estimate of RFC 6298 section 2, for the wireless side only. (The paper takes a smoothed
    /// round trip without giving the formula.)
    fn measure(&mut self, rtt: Duration) {
        match self.srtt {
            None => (self.srtt, self.rttvar) = (Some(rtt), rtt / 2),
            Some(srtt) => {
                let error = Duration(srtt.0.abs_diff(rtt.0));
                self.rttvar = Duration((3 * self.rttvar.0 + error.0) / 4);
                self.srtt = Some(Duration((7 * srtt.0 + rtt.0) / 8));
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        let srtt = self.srtt?;
        let base = Duration(srtt.0 + 4 * self.rttvar.0).max(self.config.min_timeout);
        Some(base.saturating_mul(1 << self.backoff))
    }
}

fn after(a: Seq, b: Seq) -> bool {
    a.distance_from(b) > 0
}

/// The timer doubles at most so often.
const BACKOFF_MAX: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> Snoop<u32> {
        let config =
            SnoopConfig { buffer: 5000, min_timeout: Duration::from_millis(100), retransmissions: 3 };
        Snoop::new(config)
    }
    /// Segment number `n` of 1000 octets; its token is its number.
    fn data(n: u32) -> Segment {
        Segment { seq: Seq(n * 1000), len: 1000, flags: Flags::ACK, ..Segment::default() }
    }
    /// The mobile has everything before segment `n`.
    fn ack(n: u32) -> Segment {
        Segment { ack: Seq(n * 1000), flags: Flags::ACK, window: 9, ..Segment::default() }
    }
    fn ms(t: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(t)
    }
    struct Bench(Snoop<u32>, SnoopOut<u32>);
    impl Bench {
        fn data(&mut self, t: u64, n: u32) -> Verdict {
            self.0.handle_data(ms(t), &data(n), &n, &mut self.1)
        }
        fn ack(&mut self, t: u64, n: u32) -> Verdict {
            self.0.handle_ack(ms(t), &ack(n), &(100 + n), &mut self.1)
        }
        fn down(&mut self) -> Vec<u32> {
            std::mem::take(&mut self.1.down)
        }
    }
    /// Four segments sent, the first acknowledged after 50 ms.
    fn going() -> Bench {
        let mut b = Bench(agent(), SnoopOut::default());
        (0..4).for_each(|n| assert_eq!(b.data(0, n), Verdict::Pass));
        assert_eq!(b.ack(50, 1), Verdict::Pass);
        b
    }

    #[test]
    fn the_first_duplicate_is_answered_here_and_all_are_kept_from_the_sender() {
        let mut b = going();
        assert_eq!(b.ack(60, 1), Verdict::Keep);
        assert_eq!(b.down(), [1]);
        assert_eq!((b.ack(61, 1), b.ack(62, 1)), (Verdict::Keep, Verdict::Keep));
        assert!(b.down().is_empty(), "once is enough");
        assert_eq!(b.ack(110, 4), Verdict::Pass);
        assert_eq!((b.0.held(), b.0.poll_at()), (0, None));
        assert_eq!(b.0.counters().suppressed, 3);
    }

    #[test]
    fn a_loss_before_the_agent_is_the_senders() {
        let mut b = Bench(agent(), SnoopOut::default());
        b.data(0, 0);
        b.ack(50, 1);
        // Segment 1 never came here; 2 and 3 make duplicates for it.
        (2..4).for_each(|n| assert_eq!(b.data(50, n), Verdict::Pass));
        assert_eq!((b.ack(60, 1), b.ack(61, 1), b.down().len()), (Verdict::Pass, Verdict::Pass, 0));
        // Sent again by the sender: the duplicates still in transmission are the sender's.
        assert_eq!(b.data(100, 1), Verdict::Pass);
        assert_eq!((b.ack(101, 1), b.down().len()), (Verdict::Pass, 0));
    }

    #[test]
    fn the_timer_is_the_round_trip_of_the_wireless_side_and_doubles() {
        let mut b = going();
        // RFC 6298: RTO = 50 + 4 * 25 = 150 ms, from the ACK at 50 ms.
        assert_eq!(b.0.poll_at(), Some(ms(200)));
        b.0.on_time(ms(199), &mut b.1);
        assert!(b.down().is_empty());
        b.0.on_time(ms(200), &mut b.1);
        assert_eq!((b.down(), b.0.poll_at()), (vec![1], Some(ms(500))));
        b.0.on_time(ms(500), &mut b.1);
        b.0.on_time(ms(1100), &mut b.1);
        assert_eq!(b.down(), [1, 1]);
        // Three times: from now on the sender gets the duplicates.
        assert_eq!(b.ack(1200, 1), Verdict::Pass);
        b.0.on_time(ms(9000), &mut b.1);
        assert_eq!((b.down().len(), b.0.held()), (0, 2000));
    }

    #[test]
    fn old_acks_stop_here_and_data_that_the_mobile_has_is_answered_with_its_ack() {
        let mut b = going();
        b.ack(60, 3);
        assert_eq!(b.ack(61, 2), Verdict::Keep);
        assert_eq!(b.data(70, 1), Verdict::Keep);
        assert_eq!(b.1.up, [103]);
    }

    #[test]
    fn the_buffer_is_a_limit_and_what_does_not_fit_passes() {
        let mut b = Bench(agent(), SnoopOut::default());
        (0..9).for_each(|n| assert_eq!(b.data(0, n), Verdict::Pass));
        assert_eq!((b.0.held(), b.0.counters().held_max), (5000, 5000));
    }

    #[test]
    fn without_its_memory_it_lets_everything_pass() {
        let mut b = going();
        b.0.clear();
        assert_eq!((b.ack(60, 1), b.ack(61, 1), b.ack(62, 1)), (Verdict::Pass, Verdict::Pass, Verdict::Pass));
        assert!(b.down().is_empty() && b.0.poll_at().is_none());
    }

    #[test]
    fn numbers_wrap() {
        let mut s = agent();
        let mut out = SnoopOut::default();
        let at = |seq: u32| Segment { seq: Seq(seq), ..data(0) };
        let acked = |n: u32| Segment { ack: Seq(n), ..ack(0) };
        s.handle_data(ms(0), &at(u32::MAX - 999), &1, &mut out);
        s.handle_data(ms(0), &at(0), &2, &mut out);
        s.handle_ack(ms(40), &acked(0), &3, &mut out);
        assert_eq!(s.held(), 1000);
        assert_eq!(s.handle_ack(ms(41), &acked(0), &3, &mut out), Verdict::Keep);
        assert_eq!(out.down, [2]);
    }
}
