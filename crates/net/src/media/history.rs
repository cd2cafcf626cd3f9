//! The sender's record of its packets and their reports: each packet is received once, lost once,
//! and late if it was lost before.
//!
//! A packet is lost when a report has it as missing, and a later packet as received, for as long as
//! reordering has been observed to last (draft-johansson-ccwg-rfc8298bis-screamv2, section on
//! detecting lost data units; the idea is that of RFC 8985); the same holds for a packet without
//! any report before that of a later one.

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant};

use super::control::{Feedback, Outcome, SentPacket};
use super::feedback::Report;

/// A packet that is decided can be late for this long.
const MEMORY: Duration = Duration::from_secs(5);
/// Maximum number of packets in the record: a quarter of RTP's sequence numbers.
const MOST: usize = 16_384;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Flying,
    /// Missing since then, by reports.
    Missing(Instant),
    /// Taken for lost then.
    Lost(Instant),
    Received,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    size: u32,
    sent: Instant,
    /// Octets sent before it.
    before: u64,
    state: State,
}

/// The packets that a sender has sent.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Number of the first of `packets`.
    base: u64,
    packets: VecDeque<Packet>,
    /// Octets sent.
    octets: u64,
    /// The number after the highest packet that was reported as received.
    acked: u64,
    /// Octets sent up to there.
    acked_octets: u64,
    /// No packet below this is in flight or missing.
    decided: u64,
    /// The longest duration of reordering so far.
    reordering: Duration,
    rtt: Option<Duration>,
    outcomes: Vec<Outcome>,
    lost: u64,
}

impl History {
    /// A packet of `size` octets leaves.
    pub fn send(&mut self, now: Instant, size: u32) -> SentPacket {
        let packet = Packet { size, sent: now, before: self.octets, state: State::Flying };
        let number = self.next();
        self.packets.push_back(packet);
        self.octets += u64::from(size);
        if self.packets.len() > MOST {
            self.remove_first();
        }
        SentPacket { number, size, at: now, in_flight: self.in_flight() }
    }

    /// The number of the next packet.
    pub fn next(&self) -> u64 {
        self.base + self.packets.len() as u64
    }
    /// Octets behind the highest packet that was reported as received.
    pub fn in_flight(&self) -> u64 {
        self.octets - self.acked_octets
    }
    /// The latest round trip.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt
    }
    /// Packets that were declared lost and have not arrived since.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// A report arrives.
    pub fn report(&mut self, now: Instant, report: &Report) -> Feedback<'_> {
        let in_flight_before = self.in_flight();
        let before = self.acked_octets;
        self.outcomes.clear();
        let rtt = self.take_received(now, report);
        self.rtt = rtt.or(self.rtt);
        self.take_lost(now, report);
        self.outcomes.sort_unstable_by_key(|o| o.number);
        self.remove_old(now);
        Feedback {
            now,
            rtt,
            packets: &self.outcomes,
            in_flight_before,
            in_flight: self.in_flight(),
            newly_acked: self.acked_octets - before,
            queued: 0,
        }
    }

    fn take_received(&mut self, now: Instant, report: &Report) -> Option<Duration> {
        let mut rtt = None;
        for (number, metric) in (report.begin..).zip(&report.metrics) {
            let Some(metric) = metric else { continue };
            let Some(i) = number.checked_sub(self.base) else { continue };
            let Some(packet) = self.packets.get_mut(i as usize) else { break };
            let late = match packet.state {
                State::Received => continue,
                State::Flying => false,
                State::Missing(since) => {
                    self.reordering = self.reordering.max(now.since(since));
                    false
                }
                State::Lost(since) => {
                    self.reordering = self.reordering.max(now.since(since));
                    self.lost -= 1;
                    true
                }
            };
            packet.state = State::Received;
            let arrival = report.arrival(*metric);
            if number >= self.acked {
                self.acked = number + 1;
                self.acked_octets = packet.before + u64::from(packet.size);
                let held = report.at.since(arrival);
                rtt = Some(now.since(packet.sent).saturating_sub(held));
            }
            let Packet { size, sent, .. } = *packet;
            let arrival = Some(arrival);
            self.outcomes.push(Outcome { number, size, sent, arrival, ecn: metric.ecn, late });
        }
        rtt
    }

    /// The packets before the highest received one that are still not received.
    fn take_lost(&mut self, now: Instant, report: &Report) {
        let end = self.acked.min(report.begin + report.metrics.len() as u64);
        let mut all = true;
        for number in self.decided.max(self.base)..end {
            let packet = &mut self.packets[(number - self.base) as usize];
            let since = match packet.state {
                State::Flying => now,
                State::Missing(since) => since,
                State::Lost(_) | State::Received => {
                    self.decided += u64::from(all);
                    continue;
                }
            };
            if now.since(since) < self.reordering {
                packet.state = State::Missing(since);
                all = false;
                continue;
            }
            packet.state = State::Lost(now);
            self.lost += 1;
            self.decided += u64::from(all);
            let Packet { size, sent, .. } = *packet;
            let ecn = lasthop_units::Ecn::NotEct;
            self.outcomes.push(Outcome { number, size, sent, arrival: None, ecn, late: false });
        }
    }

    fn remove_old(&mut self, now: Instant) {
        while let Some(first) = self.packets.front() {
            let decided = self.base < self.decided;
            if !decided || now.since(first.sent) < MEMORY {
                break;
            }
            self.remove_first();
        }
    }
    fn remove_first(&mut self) {
        if let Some(first) = self.packets.pop_front() {
            self.base += 1;
            self.decided = self.decided.max(self.base);
            self.acked = self.acked.max(self.base);
            self.acked_octets = self.acked_octets.max(first.before + u64::from(first.size));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::feedback::Receiver;
    use super::*;
    use lasthop_units::Ecn;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// A sender of packets of 1000 octets every 10 ms, and a receiver 40 ms away in either
    /// direction.
    struct Path {
        history: History,
        receiver: Receiver,
    }

    impl Path {
        fn new(packets: u64) -> Path {
            let mut history = History::default();
            for n in 0..packets {
                history.send(at(10 * n), 1000);
            }
            Path { history, receiver: Receiver::new(Duration::from_millis(50), 1200) }
        }
        fn arrive(&mut self, numbers: &[u64]) {
            for n in numbers {
                self.receiver.arrived(at(10 * n + 40), *n, Ecn::NotEct);
            }
        }
        fn report(&mut self, ms: u64) -> Report {
            self.receiver.report(at(ms)).unwrap()
        }
        fn outcomes(&mut self, report: &Report, ms: u64) -> Vec<(u64, bool, bool)> {
            let feedback = self.history.report(at(ms), report);
            feedback.packets.iter().map(|o| (o.number, o.arrival.is_some(), o.late)).collect()
        }
    }

    #[test]
    fn a_missing_packet_is_lost_once_and_late_when_it_comes_after_all() {
        let mut p = Path::new(8);
        p.arrive(&[0, 1, 3, 4]);
        let first = p.report(90);
        let got = p.outcomes(&first, 130);
        assert_eq!(
            got,
            [(0, true, false), (1, true, false), (2, false, false), (3, true, false), (4, true, false)]
        );
        p.arrive(&[5]);
        let second = p.report(140);
        assert_eq!(p.outcomes(&second, 180), [(5, true, false)]);
        p.receiver.arrived(at(145), 2, Ecn::NotEct);
        p.arrive(&[7]);
        let third = p.report(200);
        assert_eq!(p.history.lost(), 1);
        // Packet 6 waits from now on: reordering has lasted 240 - 130 ms.
        assert_eq!(p.outcomes(&third, 240), [(2, true, true), (7, true, false)]);
        assert_eq!(p.history.lost(), 0);
        p.history.send(at(300), 1000);
        p.receiver.arrived(at(340), 8, Ecn::NotEct);
        let fourth = p.report(390);
        assert_eq!(p.outcomes(&fourth, 430), [(6, false, false), (8, true, false)]);
    }

    /// Packet 4 arrives at 80 ms and is reported at 90: 10 of the 130 - 40 ms since it was sent
    /// were the receiver's. The offset is right to 1/1024 s.
    #[test]
    fn a_round_trip_is_without_the_time_at_the_receiver() {
        let mut p = Path::new(5);
        p.arrive(&[0, 1, 2, 3, 4]);
        let report = p.report(90);
        let feedback = p.history.report(at(130), &report);
        let rtt = feedback.rtt.unwrap();
        assert!(rtt >= Duration::from_millis(80) && rtt <= Duration::from_millis(82), "{rtt}");
        assert_eq!((feedback.in_flight_before, feedback.in_flight, feedback.newly_acked), (5000, 0, 5000));
    }

    #[test]
    fn one_lost_report_takes_nothing_away_two_do() {
        let run = |lost: usize| {
            let mut p = Path::new(12);
            let mut found = Vec::new();
            for i in 0..4 {
                p.arrive(&[3 * i, 3 * i + 1, 3 * i + 2]);
                let report = p.report(110 + 30 * i);
                if i > 0 && (i as usize) <= lost {
                    continue;
                }
                found.extend(p.outcomes(&report, 150 + 30 * i));
            }
            found.iter().filter(|(_, received, _)| !received).count()
        };
        assert_eq!((run(0), run(1), run(2)), (0, 0, 3));
    }

    #[test]
    fn packets_that_are_never_reported_are_removed_at_last() {
        let mut history = History::default();
        for n in 0..40_000 {
            history.send(at(n), 100);
        }
        assert_eq!((history.packets.len(), history.next()), (MOST, 40_000));
        assert_eq!(history.in_flight(), 100 * MOST as u64);
    }
}
