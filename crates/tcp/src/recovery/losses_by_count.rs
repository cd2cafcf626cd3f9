//! Forward acknowledgement: losses by the count of segments below the highest SACKed one, with work
//! in proportion to the segments that an ACK changes, and not to those in flight.

use lasthop_units::Instant;

use super::rack::{Rack, sent_after};

impl Rack {
    /// Forward acknowledgement: marks as lost the segments that are `threshold` segments below the
    /// highest SACKed one, and retransmissions there that were sent before a delivered segment.
    /// `sent` as in [`detect_by_time`](Self::detect_by_time).
    pub fn detect_by_count(&mut self, threshold: u32, sent: impl Fn(usize) -> (Instant, u64, u32)) {
        let limit = self.pending.sacked_to.saturating_sub(threshold as usize);
        let known = self.pending.judged_to.min(limit);
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
        self.pending.judged_to = self.pending.judged_to.max(limit);
    }

    /// Of the marks below `known`, which are SACKed or lost, takes those retransmissions for lost
    /// that were sent before the newest delivered segment. In the order of the marks.
    fn lose_overtaken(&mut self, known: usize, sent: &impl Fn(usize) -> (Instant, u64, u32)) {
        let Some(newest) = self.newest else { return };
        let (mut looked_at, mut kept) = (0, 0);
        while let Some(&(then, number)) = self.pending.resent.get(looked_at).filter(|r| r.0 <= newest.0) {
            looked_at += 1;
            let place = self.pending.place(number);
            let Some(i) = place.filter(|&i| self.marks.get(i).is_some_and(|m| m.resent)) else { continue };
            let (at, end, _) = sent(i);
            if i < known && sent_after(newest, (at, end)) {
                self.pending.overtaken.push(i);
            } else if at == then {
                // Sent at the same time as the newest, or too near the highest SACKed one.
                self.pending.resent[kept] = (then, number);
                kept += 1;
            }
        }
        self.pending.resent.drain(kept..looked_at);
        self.lose_listed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::testing::Flow;
    use proptest::prelude::*;

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
                    f.step(what, n, now);
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
