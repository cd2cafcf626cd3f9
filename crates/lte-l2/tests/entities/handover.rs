//! Handover of a bearer at any moment, with an adversarial channel and packets in transit between
//! two nodes: a lossless handover delivers every packet exactly once and in order, a seamless one
//! loses exactly the packets that it reports as discarded.

use std::collections::VecDeque;

use super::support::*;
use lasthop_bearer::{DropCause, End, Sdu};
use lasthop_engine::{Draw, Purpose, Stream};
use lasthop_lte_l2::pdcp::*;
use lasthop_lte_l2::rlc::*;
use lasthop_units::{Bytes, Duration, Id, Instant, PacketId};
use proptest::prelude::*;

/// The outcome of a packet. None: inside.
type Outcome = Option<Result<(), DropCause>>;

struct World {
    bearer: LteBearer,
    out: LteBearerOutput,
    rng: Stream,
    air: Vec<(Instant, u64, End, Pdu)>,
    sent: u64,
    loss: f64,
    grant: u32,
    /// X2: first in, first out.
    x2: VecDeque<(Instant, ForwardedSdu)>,
    /// During a handover: when the terminal can reach the target, and when the last packet takes
    /// the old path.
    away: Option<(Instant, Instant)>,
    outcomes: [Vec<Outcome>; 2],
    /// Packets that were forwarded at least once.
    forwarded: Vec<u64>,
    handovers: u32,
}

impl World {
    fn new(config: &LteBearerConfig, loss: f64, grant: u32, seed: u64) -> World {
        config.validate().unwrap();
        World {
            bearer: LteBearer::new(config),
            out: LteBearerOutput::default(),
            rng: Draw::new(seed, Purpose::Test, 8).stream(0),
            air: Vec::new(),
            sent: 0,
            loss,
            grant,
            x2: VecDeque::new(),
            away: None,
            outcomes: Default::default(),
            forwarded: Vec::new(),
            handovers: 0,
        }
    }

    fn push(&mut self, now: Instant, end: End) {
        let size = 40 + self.rng.below(1460) as u32;
        let outcomes = &mut self.outcomes[end.index()];
        let packet = Sdu::new(PacketId::from_index(outcomes.len()), size);
        outcomes.push(None);
        let old_way = self.away.is_some_and(|(_, switched)| now < switched) || !self.x2.is_empty();
        if end == End::Network && old_way {
            let sdu = self.bearer.stamp(end, packet);
            self.forward(now, ForwardedSdu::fresh(sdu));
        } else {
            self.bearer.push_ecn(now, end, packet, &mut self.out);
        }
    }

    fn forward(&mut self, now: Instant, forwarded_sdu: ForwardedSdu) {
        let last = self.x2.back().map_or(now, |(t, _)| *t);
        self.forwarded.push(forwarded_sdu.sdu.serial);
        self.x2.push_back((last.max(now + Duration::from_micros(6_000)), forwarded_sdu));
    }

    fn hand_over(&mut self, now: Instant) {
        self.air.clear();
        let mut forwarded_sdus = Vec::new();
        self.bearer.hand_over(now, &mut forwarded_sdus, &mut self.out);
        forwarded_sdus.into_iter().for_each(|p| self.forward(now, p));
        let attached = now + Duration::from_millis(self.rng.below(60));
        let switched = attached + Duration::from_millis(self.rng.below(30));
        self.away = Some((attached, switched));
        self.handovers += 1;
    }

    /// Returns the terminal to the node that it has left, which still has the forwarded packets.
    fn fall_back(&mut self, now: Instant) {
        while let Some((_, forwarded_sdu)) = self.x2.pop_front() {
            self.bearer.accept(now, forwarded_sdu, &mut self.out);
        }
        self.air.clear();
        self.bearer.re_establish(now, &mut self.out);
        self.away = None;
    }

    fn tick(&mut self, now: Instant) {
        while self.x2.front().is_some_and(|(t, _)| *t <= now) {
            let forwarded_sdu = self.x2.pop_front().unwrap().1;
            self.bearer.accept(now, forwarded_sdu, &mut self.out);
        }
        if self.away.is_some_and(|(attached, switched)| now >= attached.max(switched)) && self.x2.is_empty() {
            self.away = None;
        }
        let (mut due, rest): (Vec<_>, Vec<_>) = self.air.drain(..).partition(|p| p.0 <= now);
        self.air = rest;
        due.sort_by_key(|p| (p.0, p.1));
        for (_, _, to, pdu) in due {
            self.bearer.receive(now, to, &pdu, &mut self.out);
        }
        self.bearer.on_time(now, &mut self.out);
        if self.away.is_none_or(|(attached, _)| now >= attached) {
            for end in [End::Network, End::Ue] {
                let grant = 1 + self.rng.below(u64::from(self.grant)) as u32;
                let mut pdus = Vec::new();
                self.bearer.pull(now, end, Grant::of(grant), &mut pdus, &mut self.out);
                for pdu in pdus {
                    if self.rng.uniform() < self.loss {
                        self.bearer.lost(end, &pdu, &mut self.out);
                        continue;
                    }
                    self.sent += 1;
                    let at = now + Duration::from_millis(4 + 8 * self.rng.below(3));
                    self.air.push((at, self.sent, end.peer(), pdu));
                }
            }
        }
        self.account();
    }

    fn account(&mut self) {
        for (at, sdu) in self.out.delivered.drain(..) {
            let outcomes = &mut self.outcomes[at.peer().index()];
            let n = sdu.id.index();
            assert_eq!(outcomes[n], None, "packet {n} is delivered and had an outcome");
            assert!(!outcomes[n + 1..].contains(&Some(Ok(()))), "packet {n} is late");
            outcomes[n] = Some(Ok(()));
        }
        for (by, sdu, cause) in self.out.dropped.drain(..) {
            let outcome = &mut self.outcomes[by.index()][sdu.id.index()];
            assert_eq!(*outcome, None, "packet {} is dropped ({cause:?}) and had an outcome", sdu.id.index());
            *outcome = Some(Err(cause));
        }
        let fresh = self.x2.iter().filter(|(_, p)| p.count.is_none()).count();
        for end in [End::Network, End::Ue] {
            let open = self.outcomes[end.index()].iter().filter(|f| f.is_none()).count();
            let on_the_way = if end == End::Network { fresh } else { 0 };
            assert_eq!(self.bearer.inside(end) + on_the_way, open, "inside {end:?}");
        }
    }
}

fn scenario(config: &LteBearerConfig, loss: f64, grant: u32, seed: u64) -> World {
    let mut w = World::new(config, loss, grant, seed);
    for t in 0..800 {
        for end in [End::Network, End::Ue] {
            if w.rng.below(3) == 0 {
                w.push(ms(t), end);
            }
        }
        w.tick(ms(t));
        if w.away.is_none() && w.rng.below(50) == 0 {
            w.hand_over(ms(t));
        } else if w.away.is_some_and(|(attached, _)| ms(t) < attached) && w.rng.below(100) == 0 {
            w.fall_back(ms(t));
        } else if w.away.is_none() && w.rng.below(200) == 0 {
            w.air.clear();
            w.bearer.re_establish(ms(t), &mut w.out);
        }
        w.account();
    }
    (w.loss, w.grant) = (0.0, 9000);
    for t in 800..6_000 {
        w.tick(ms(t));
    }
    assert!(w.handovers > 0, "800 chances of 1 in 50");
    w
}

fn config(kind: HandoverKind, counts: Counted, mode: Mode) -> LteBearerConfig {
    let retransmission = RetransmissionQueue { counts, ..RetransmissionQueue::default() };
    let pdcp = PdcpConfig { handover: kind, retransmission, ..PdcpConfig::default() };
    LteBearerConfig { pdcp, rlc: RlcConfig { mode, ..RlcConfig::default() } }
}

fn cases() -> ProptestConfig {
    let n = std::env::var("LASTHOP_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(48);
    ProptestConfig { cases: n, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn lossless_delivers_every_packet_once_and_in_order(
        seed: u64, loss in 0.0..0.5, grant in prop_oneof![1u32..40, 100u32..9000], report: bool,
    ) {
        let mut c = config(HandoverKind::Lossless, Counted::OnAir, Mode::Am);
        c.pdcp.status_report = report;
        let w = scenario(&c, loss, grant, seed);
        for outcomes in &w.outcomes {
            prop_assert!(outcomes.iter().all(|f| *f == Some(Ok(()))), "{outcomes:?}");
        }
    }

    /// The lost packets are those that the handover reports as discarded and those that a
    /// re-establishment in the same cell discarded; no packet that was forwarded as untransmitted
    /// is lost.
    #[test]
    fn seamless_loses_what_it_discards(
        seed: u64, loss in 0.0..0.5, grant in prop_oneof![30u32..300, 1000u32..9000], all: bool,
    ) {
        let counts = if all { Counted::HandedOver } else { Counted::OnAir };
        let w = scenario(&config(HandoverKind::Seamless, counts, Mode::Am), loss, grant, seed);
        for outcomes in &w.outcomes {
            let named = |f: &Outcome| matches!(f, Some(
                Ok(()) | Err(DropCause::HandoverDiscard | DropCause::Reestablishment)));
            prop_assert!(outcomes.iter().all(named), "{outcomes:?}");
        }
    }

    /// UM: packets in lost PDUs are lost too. Packets after the last delivery may have no outcome.
    #[test]
    fn um_delivers_in_order_or_reports(seed: u64, loss in 0.0..0.5, grant in 30u32..3000) {
        let w = scenario(&config(HandoverKind::Seamless, Counted::OnAir, Mode::Um), loss, grant, seed);
        for outcomes in &w.outcomes {
            let last = outcomes.iter().rposition(|f| *f == Some(Ok(()))).unwrap_or(0);
            prop_assert!(outcomes[..last].iter().all(Option::is_some));
        }
    }

    #[test]
    fn without_forwarding_the_source_keeps_nothing(seed: u64, loss in 0.0..0.3, grant in 500u32..3000) {
        let c = config(HandoverKind::None, Counted::OnAir, Mode::Am);
        let mut w = World::new(&c, loss, grant, seed);
        (0..30).for_each(|_| w.push(ms(0), End::Network));
        (0..5).for_each(|t| w.tick(ms(t)));
        w.hand_over(ms(5));
        prop_assert!(w.x2.is_empty());
        w.account();
        prop_assert_eq!(w.bearer.inside(End::Network), 0);
    }
}

/// H1 of the study: 20 packets of 1000 B are handed to RLC, two were transmitted and are
/// unconfirmed, a third is begun. The queue that counts all packets in RLC has 20 packets, the
/// other one 3; a seamless handover discards the queue less the packets that the terminal has
/// received, a lossless one forwards it.
#[test]
fn the_retransmission_queue_is_what_a_seamless_handover_discards() {
    for (kind, counts, queue, forwarded, lost) in [
        (HandoverKind::Seamless, Counted::HandedOver, 20, 0, 18),
        (HandoverKind::Seamless, Counted::OnAir, 3, 17, 1),
        (HandoverKind::Lossless, Counted::HandedOver, 20, 20, 0),
        (HandoverKind::None, Counted::OnAir, 3, 0, 18),
    ] {
        let mut c = config(kind, counts, Mode::Am);
        // With a large limit the queue counts what RLC has begun.
        c.pdcp.retransmission.bytes = OrInfinity::Value(Bytes(1_000_000));
        let mut w = World::new(&c, 0.0, 1, 1);
        let mut pdus = Vec::new();
        for i in 0..20 {
            w.bearer.push(ms(0), End::Network, PacketId::from_index(i), 1000, &mut w.out);
            w.outcomes[0].push(None);
        }
        w.bearer.pull(ms(0), End::Network, Grant::of(2100), &mut pdus, &mut w.out);
        pdus.iter().for_each(|p| w.bearer.receive(ms(4), End::Ue, p, &mut w.out));
        assert_eq!(w.bearer.retransmission_queue(End::Network).0, queue, "{kind:?} {counts:?}");
        w.hand_over(ms(5));
        w.account();
        assert_eq!(w.x2.len(), forwarded, "{kind:?} {counts:?}");
        let dropped = w.outcomes[0].iter().filter(|f| **f == Some(Err(DropCause::HandoverDiscard))).count();
        assert_eq!(dropped, lost, "{kind:?} {counts:?}");
    }
}

/// A queue of 9000 B takes nine packets of 1000 B; three more may wait; there is no room for the
/// others. Delivery of the nine makes room for those that wait.
#[test]
fn buffers_are_bounded_and_report_refused_packets() {
    let mut c = config(HandoverKind::Lossless, Counted::HandedOver, Mode::Am);
    c.pdcp.retransmission.bytes = OrInfinity::Value(Bytes(9_000));
    c.pdcp.waiting.packets = OrInfinity::Value(3);
    let mut w = World::new(&c, 0.0, 9000, 3);
    for i in 0..20 {
        w.bearer.push(ms(0), End::Network, PacketId::from_index(i), 1000, &mut w.out);
        w.outcomes[0].push(None);
    }
    w.account();
    let refused =
        |w: &World| w.outcomes[0].iter().filter(|f| **f == Some(Err(DropCause::PdcpBufferFull))).count();
    assert_eq!((refused(&w), w.bearer.inside(End::Network)), (8, 12));
    (1..200).for_each(|t| w.tick(ms(t)));
    assert_eq!((refused(&w), w.outcomes[0].iter().filter(|f| **f == Some(Ok(()))).count()), (8, 12));
}
