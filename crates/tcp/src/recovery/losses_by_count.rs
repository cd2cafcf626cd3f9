//! Forward acknowledgement: losses by the count of segments below the highest SACKed one, with work
//! in proportion to the segments that an ACK changes, and not to those in flight.

use lasthop_units::Instant;

use super::rack::{Rack, sent_after};

impl Rack {
    /// Segment `i` left once more at `now`, and losses are found by count.
    pub fn note_resent(&mut self, i: usize, now: Instant) {
        let gone = self.fack.gone;
        // Entries that were delivered or lost since then are removed from time to time.
        if self.fack.resent.len() > 2 * self.resent as usize + 16 {
            let marks = &self.marks;
            let in_flight = |number: u64| {
                let mark = number.checked_sub(gone).and_then(|i| marks.get(i as usize));
                mark.is_some_and(|m| m.resent)
            };
            self.fack.resent.retain(|&(_, number)| in_flight(number));
        }
        self.fack.resent.push_back((now, gone + i as u64));
    }

    /// Forward acknowledgement: marks as lost the segments that are `threshold` segments below the
    /// highest SACKed one, and retransmissions there that were sent before a delivered segment.
    /// `sent` as in [`detect`](Self::detect).
    pub fn detect_by_count(&mut self, threshold: u32, sent: impl Fn(usize) -> (Instant, u64, u32)) {
        let limit = self.fack.sacked_to.saturating_sub(threshold as usize);
        let known = self.fack.judged_to.min(limit);
        if known > 0 && self.resent > 0 {
            self.lose_overtaken(known, &sent);
        }
        for i in known..limit {
            let m = self.marks[i];
            let (at, end, _) = sent(i);
            let overtaken = m.resent && self.newest.is_some_and(|n| sent_after(n, (at, end)));
            if !m.sacked && (!m.lost || overtaken) {
                self.mark_lost(i);
            }
        }
        self.fack.judged_to = self.fack.judged_to.max(limit);
    }

    /// Of the marks below `known`, which are SACKed or lost, takes those retransmissions for lost
    /// that were sent before the newest delivered segment. In the order of the marks.
    fn lose_overtaken(&mut self, known: usize, sent: &impl Fn(usize) -> (Instant, u64, u32)) {
        let Some(newest) = self.newest else { return };
        let mut overtaken = std::mem::take(&mut self.fack.overtaken);
        let (mut looked_at, mut kept) = (0, 0);
        while let Some(&(then, number)) = self.fack.resent.get(looked_at).filter(|r| r.0 <= newest.0) {
            looked_at += 1;
            let place = number.checked_sub(self.fack.gone).map(|i| i as usize);
            let Some(i) = place.filter(|&i| self.marks.get(i).is_some_and(|m| m.resent)) else { continue };
            let (at, end, _) = sent(i);
            if i < known && sent_after(newest, (at, end)) {
                overtaken.push(i);
            } else if at == then {
                // Sent at the same time as the newest, or too near the highest SACKed one.
                self.fack.resent[kept] = (then, number);
                kept += 1;
            }
        }
        self.fack.resent.drain(kept..looked_at);
        overtaken.sort_unstable();
        for &i in &overtaken {
            // A segment that was sent again twice is in the list twice.
            if self.marks[i].resent {
                self.mark_lost(i);
            }
        }
        overtaken.clear();
        self.fack.overtaken = overtaken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::digest::AckDigest;
    use crate::recovery::rack::Delivered;
    use lasthop_units::Duration;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// The definition: inspects every mark.
    fn plain(r: &mut Rack, threshold: u32, sent: impl Fn(usize) -> (Instant, u64, u32)) {
        let Some(highest) = r.marks.iter().rposition(|m| m.sacked) else { return };
        for i in 0..(highest + 1).saturating_sub(threshold as usize) {
            let m = r.marks[i];
            let (at, end, _) = sent(i);
            let overtaken = m.resent && r.newest.is_some_and(|n| sent_after(n, (at, end)));
            if !m.sacked && (!m.lost || overtaken) {
                r.mark_lost(i);
            }
        }
    }

    /// A sender's records beside the marks: when each segment was sent last, its end, the number of
    /// transmissions.
    #[derive(Clone, Default)]
    struct Flow {
        rack: Rack,
        records: VecDeque<(Instant, u64, u32)>,
        next: u64,
    }

    impl Flow {
        fn send(&mut self, now: Instant) {
            self.next += 1000;
            self.rack.sent(now, 0);
            self.records.push_back((now, self.next, 1));
        }
        fn resend(&mut self, i: usize, now: Instant) {
            self.rack.sent_again(i, now, 0);
            self.rack.note_resent(i, now);
            self.records[i] = (now, self.records[i].1, self.records[i].2 + 1);
        }
        fn deliver(&mut self, i: usize, now: Instant) {
            let (at, end, transmissions) = self.records[i];
            let d = Delivered { now, at, end, octets: 1000, transmissions, min_rtt: Duration(0) };
            self.rack.delivered(&mut AckDigest::default(), i, d);
        }
        fn detect(&mut self, how: impl Fn(&mut Rack, &VecDeque<(Instant, u64, u32)>)) {
            how(&mut self.rack, &self.records);
        }
        fn state(&self) -> impl PartialEq + std::fmt::Debug {
            let marks: Vec<_> = self.rack.marks.iter().map(|m| (m.sacked, m.lost, m.resent)).collect();
            let r = &self.rack;
            (marks, r.lost, r.resent, r.total_lost, r.loss.map(|l| (l.sent_in_flight, l.lost)))
        }
    }

    proptest! {
        /// Two senders with the same history, one by the definition: the same after every step.
        #[test]
        fn an_ack_loses_what_a_look_at_every_mark_loses(
            steps in proptest::collection::vec((0u8..12, 0usize..40, 0u64..3), 0..400),
        ) {
            let (mut a, mut b) = (Flow::default(), Flow::default());
            let mut now = Instant(1_000);
            for (what, n, later) in steps {
                now = Instant(now.0 + later);
                for f in [&mut a, &mut b] {
                    match what {
                        0..=3 => (0..n % 8).for_each(|_| f.send(now)),
                        4..=6 if n < f.records.len() && !f.rack.marks[n].sacked => {
                            f.deliver(n, now);
                            f.rack.mark_sacked(n);
                        }
                        7 | 8 => (0..n % 5).for_each(|_| {
                            if let Some(i) = f.rack.next_lost() {
                                f.resend(i, now);
                            }
                        }),
                        9 => (0..(n % 6).min(f.records.len())).for_each(|_| {
                            f.deliver(0, now);
                            f.rack.pop();
                            f.records.pop_front();
                        }),
                        // A probe: with any mark.
                        10 if n % 3 == 0 && !f.records.is_empty() => {
                            let i = if n % 2 == 0 { 0 } else { f.records.len() - 1 };
                            if !f.rack.marks[i].sacked {
                                f.resend(i, now);
                            }
                        }
                        11 if n < 4 => f.rack.lose_everything(n == 0),
                        11 if n < 6 => f.rack.unlose(),
                        11 if n < 9 => f.rack.clear_resent_head(),
                        _ => {}
                    }
                }
                a.detect(|r, records| r.detect_by_count(3, |i| records[i]));
                b.detect(|r, records| plain(r, 3, |i| records[i]));
                prop_assert_eq!(format!("{:?}", a.state()), format!("{:?}", b.state()));
                a.rack.next_lost();
                b.rack.next_lost();
            }
        }
    }

    /// A thousand in flight, every second one lost: an ACK visits a handful of records.
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
                r.detect_by_count(3, |i| {
                    looks.set(looks.get() + 1);
                    records[i]
                })
            });
            if let Some(lost) = f.rack.next_lost() {
                f.resend(lost, now);
            }
        }
        // Each of the 997 marks below the last three is inspected once.
        assert!(looks.get() <= 1000, "{}", looks.get());
        assert_eq!(f.rack.lost, 499, "all even ones below the last three");
    }
}
