//! RACK (RFC 8985 section 6.2 step 5): losses by the times at which segments were sent.
//!
//! Linux keeps the segments in flight in a list in the order of time (`tsorted_sent_queue`), so
//! that it inspects only those sent before the newest delivered one. Here the order of time is that
//! of the marks for segments sent once, and that of a list for retransmissions.

use lasthop_units::{Duration, Instant};

use super::rack::{Rack, sent_after};

/// What a look at the segments has to know, and what it has found.
struct Look {
    now: Instant,
    /// The newest delivered segment.
    newest: (Instant, u64),
    /// How long after it was sent a segment is taken for lost.
    patience: (Duration, Duration),
    /// When the last of the segments that wait is due.
    wait: Option<Instant>,
}

/// What to do with a segment in flight.
#[derive(PartialEq, Eq)]
enum Verdict {
    /// Sent after the newest delivered one.
    Later,
    Waits,
    Lost,
}

impl Look {
    #[inline(always)]
    fn judge(&mut self, at: Instant, end: u64) -> Verdict {
        if !sent_after(self.newest, (at, end)) {
            return Verdict::Later;
        }
        let due = at + self.patience.0 + self.patience.1;
        if due <= self.now {
            return Verdict::Lost;
        }
        self.wait = self.wait.max(Some(due));
        Verdict::Waits
    }
}

impl Rack {
    /// Marks as lost the segments that were sent before a delivered one and have waited long
    /// enough. `sent` gives time, end and number of transmissions of a record. Returns the time of
    /// the next check.
    pub fn detect_by_time(
        &mut self,
        now: Instant,
        reo_wnd: Duration,
        sent: impl Fn(usize) -> (Instant, u64, u32),
    ) -> Option<Instant> {
        let mut look = Look { now, newest: self.newest?, patience: (self.rtt, reo_wnd), wait: None };
        if self.pending.incomplete {
            self.list_all_resent(&sent);
        }
        if !self.pending.resent.is_empty() {
            self.judge_resent(&mut look, &sent);
        }
        let (mut i, mut judged_to) = (self.pending.judged_to, None);
        while let Some(m) = self.marks.get(i) {
            // A retransmission that is in flight is in the list.
            if m.is_in_flight() && !m.resent {
                let (at, end, transmissions) = sent(i);
                if transmissions == 1 {
                    match look.judge(at, end) {
                        // All above were sent later still.
                        Verdict::Later => break,
                        Verdict::Waits => judged_to = judged_to.or(Some(i)),
                        Verdict::Lost => self.pending.overtaken.push(i),
                    }
                }
            }
            i += 1;
        }
        self.pending.judged_to = judged_to.unwrap_or(i);
        if !self.pending.overtaken.is_empty() {
            self.lose_listed();
        }
        look.wait
    }

    /// Judges the retransmissions that were sent no later than the newest delivered segment, and
    /// removes those from the list that are lost or not in flight.
    fn judge_resent(&mut self, look: &mut Look, sent: &impl Fn(usize) -> (Instant, u64, u32)) {
        let (mut looked_at, mut kept) = (0, 0);
        while let Some(&(then, number)) = self.pending.resent.get(looked_at).filter(|r| r.0 <= look.newest.0)
        {
            looked_at += 1;
            let place = self.pending.place(number);
            let Some(i) = place.filter(|&i| self.marks.get(i).is_some_and(|m| m.is_in_flight())) else {
                continue;
            };
            let (at, end, _) = sent(i);
            // Else it was sent once more since then, and the list has that too.
            if at != then {
                continue;
            }
            if look.judge(at, end) == Verdict::Lost {
                self.pending.overtaken.push(i);
            } else {
                self.pending.resent[kept] = (then, number);
                kept += 1;
            }
        }
        self.pending.resent.drain(kept..looked_at);
    }

    /// Segment `i` left once more at `now`.
    pub(super) fn list_resent(&mut self, i: usize, now: Instant) {
        let pending = &mut self.pending;
        // Entries that were delivered or lost since then are removed from time to time.
        if pending.resent.len() > 2 * self.resent as usize + 16 {
            let (marks, gone) = (&self.marks, pending.gone);
            let in_flight = |number: u64| {
                let mark = number.checked_sub(gone).and_then(|i| marks.get(i as usize));
                mark.is_some_and(|m| m.is_in_flight())
            };
            pending.resent.retain(|&(_, number)| in_flight(number));
        }
        pending.resent.push_back((now, pending.gone + i as u64));
    }

    /// Lists the retransmissions in flight anew.
    #[cold]
    fn list_all_resent(&mut self, sent: &impl Fn(usize) -> (Instant, u64, u32)) {
        let pending = &mut self.pending;
        pending.incomplete = false;
        pending.resent.clear();
        for (i, _) in self.marks.iter().enumerate().filter(|(_, m)| m.is_in_flight()) {
            let (at, _, transmissions) = sent(i);
            if transmissions > 1 {
                pending.resent.push_back((at, pending.gone + i as u64));
            }
        }
        pending.resent.make_contiguous().sort_by_key(|r| r.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::testing::Flow;
    use proptest::prelude::*;

    /// The definition: inspects the marks one by one.
    fn plain(
        r: &mut Rack,
        now: Instant,
        reo_wnd: Duration,
        sent: impl Fn(usize) -> (Instant, u64, u32),
    ) -> Option<Instant> {
        let newest = r.newest?;
        let mut wait = None;
        for i in 0..r.marks.len() {
            let (at, end, _) = sent(i);
            if r.marks[i].is_in_flight() && sent_after(newest, (at, end)) {
                let due = at + r.rtt + reo_wnd;
                if due <= now {
                    r.mark_lost(i);
                } else {
                    wait = wait.max(Some(due));
                }
            }
        }
        wait
    }

    proptest! {
        /// Two senders with the same history, one by the definition: the same after every step.
        #[test]
        fn an_ack_loses_what_a_look_at_every_mark_loses(
            steps in proptest::collection::vec((0u8..12, 0usize..40, 0u64..3, 0u64..6), 0..400),
        ) {
            let (mut a, mut b) = (Flow::default(), Flow::default());
            let mut now = Instant(1_000);
            for (what, n, later, reo_wnd) in steps {
                now = Instant(now.0 + later);
                for f in [&mut a, &mut b] {
                    f.step(what, n, now);
                }
                let reo_wnd = Duration(reo_wnd);
                let found = a.detect(|r, records| r.detect_by_time(now, reo_wnd, |i| records[i]));
                let expected = b.detect(|r, records| plain(r, now, reo_wnd, |i| records[i]));
                prop_assert_eq!(found, expected);
                prop_assert_eq!(format!("{:?}", a.state()), format!("{:?}", b.state()));
                a.rack.next_lost();
                b.rack.next_lost();
            }
        }
    }

    /// A thousand in flight, every second one lost and sent again: an ACK visits a handful of
    /// records.
    #[test]
    fn an_ack_inspects_only_the_marks_it_changes() {
        let mut f = Flow::default();
        (0..1000).for_each(|i| f.send(Instant(i)));
        let looks = std::cell::Cell::new(0u32);
        for i in (1..1000).step_by(2) {
            let now = Instant(5000 + i as u64);
            f.deliver(i, now);
            f.rack.mark_sacked(i);
            f.detect(|r, records| {
                r.detect_by_time(now, Duration(0), |i| {
                    looks.set(looks.get() + 1);
                    records[i]
                })
            });
            if let Some(lost) = f.rack.next_lost() {
                f.resend(lost, now);
            }
        }
        // Each of the even ones when it is taken for lost, and the lowest that is not, if there is
        // one, at every ACK.
        assert!(looks.get() <= 1000, "{}", looks.get());
        assert_eq!(f.rack.total_lost, 500);
    }
}
