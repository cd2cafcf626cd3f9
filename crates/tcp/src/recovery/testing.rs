//! A sender's history, for the tests that compare a loss detector with its definition.

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant};

use super::digest::AckDigest;
use super::rack::{Delivered, Rack};

/// A sender's records beside the marks: when each segment was sent last, its end, the number of
/// transmissions.
#[derive(Clone, Default)]
pub struct Flow {
    pub rack: Rack,
    pub records: VecDeque<(Instant, u64, u32)>,
    next: u64,
}

impl Flow {
    pub fn send(&mut self, now: Instant) {
        self.next += 1000;
        self.rack.sent(now, 0);
        self.records.push_back((now, self.next, 1));
    }
    pub fn resend(&mut self, i: usize, now: Instant) {
        self.rack.sent_again(i, now, 0);
        self.records[i] = (now, self.records[i].1, self.records[i].2 + 1);
    }
    pub fn deliver(&mut self, i: usize, now: Instant) {
        let d = self.delivered(i, now);
        self.rack.delivered(&mut AckDigest::default(), i, d);
    }
    fn delivered(&self, i: usize, now: Instant) -> Delivered {
        let (at, end, transmissions) = self.records[i];
        Delivered { now, at, end, octets: 1000, transmissions, min_rtt: Duration(0) }
    }
    pub fn detect<T>(&mut self, how: impl Fn(&mut Rack, &VecDeque<(Instant, u64, u32)>) -> T) -> T {
        how(&mut self.rack, &self.records)
    }
    pub fn state(&self) -> impl PartialEq + std::fmt::Debug {
        let marks: Vec<_> = self.rack.marks.iter().map(|m| (m.sacked, m.lost, m.resent)).collect();
        let r = &self.rack;
        (marks, r.lost, r.resent, r.total_lost, r.loss.map(|l| (l.sent_in_flight, l.lost)))
    }
    /// One step of a history: what happens, and to which mark or how often.
    pub fn step(&mut self, what: u8, n: usize, now: Instant) {
        match what {
            0..=3 => (0..n % 8).for_each(|_| self.send(now)),
            4..=6 if n < self.records.len() && !self.rack.marks[n].sacked => {
                self.deliver(n, now);
                self.rack.mark_sacked(n);
            }
            7 | 8 => (0..n % 5).for_each(|_| {
                if let Some(i) = self.rack.next_lost() {
                    self.resend(i, now);
                }
            }),
            9 => (0..(n % 6).min(self.records.len())).for_each(|_| {
                let d = self.delivered(0, now);
                self.rack.deliver_oldest(&mut AckDigest::default(), &d);
                self.records.pop_front();
            }),
            // A probe: with any mark.
            10 if n.is_multiple_of(3) && !self.records.is_empty() => {
                let i = if n.is_multiple_of(2) { 0 } else { self.records.len() - 1 };
                if !self.rack.marks[i].sacked {
                    self.resend(i, now);
                }
            }
            11 if n < 4 => self.rack.lose_everything(n == 0),
            11 if n < 6 => self.rack.unlose(),
            11 if n < 9 => self.rack.clear_resent_head(),
            _ => {}
        }
    }
}
