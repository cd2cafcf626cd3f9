//! Property tests with an adversarial channel between the ends: loss, duplication, reordering as
//! far as HARQ can cause it, grants from one byte, discard and re-establishment at any moment. Each
//! SDU is delivered exactly once and in order, or reported as lost.

use super::support::*;
use lasthop_bearer::{DropCause, End};
use lasthop_engine::{Draw, Purpose, Stream};
use lasthop_lte_l2::pdcp::*;
use lasthop_lte_l2::rlc::*;
use lasthop_units::{Duration, Id, Instant, PacketId};
use proptest::prelude::*;

/// The impairments that the channel may apply.
#[derive(Clone, Debug)]
struct Powers {
    loss: f64,
    duplicate: f64,
    /// PDUs are delayed by up to so many milliseconds: HARQ with 8 processes and 4 attempts delays
    /// by up to 32.
    jitter: u64,
    grant_max: u32,
    reestablish: bool,
}

fn powers() -> impl Strategy<Value = Powers> {
    (0.0..0.6, 0.0..0.3, 0u64..24, prop_oneof![1u32..20, 1u32..300, 1000u32..8000], any::<bool>()).prop_map(
        |(loss, duplicate, jitter, grant_max, reestablish)| Powers {
            loss,
            duplicate,
            jitter,
            grant_max,
            reestablish,
        },
    )
}

fn rlc_configs() -> impl Strategy<Value = RlcConfig> {
    let am = (any::<bool>(), any::<bool>(), 0u64..12, 0u64..12, prop_oneof![Just(None), Just(Some(4))]);
    (am, any::<bool>()).prop_map(|((wide, long, reordering, prohibit, poll), um5)| {
        let mut c = RlcConfig::default();
        c.am.sn_bits = if wide { 16 } else { 10 };
        c.am.li_bits = if long { 15 } else { 11 };
        c.am.t_reordering = Duration::from_millis(5 * reordering);
        c.am.t_status_prohibit = Duration::from_millis(5 * prohibit);
        c.am.poll_pdu = poll.map_or(OrInfinity::INFINITY, OrInfinity::Value);
        c.um.sn_bits = if um5 { 5 } else { 10 };
        c.um.t_reordering = c.am.t_reordering;
        c
    })
}

/// PDUs in transmission: arrival, order, receiving end.
#[derive(Default)]
struct Air {
    pdus: Vec<(Instant, u64, End, Pdu)>,
    sent: u64,
}

impl Air {
    fn arrivals(&mut self, now: Instant) -> Vec<(End, Pdu)> {
        let (mut due, rest): (Vec<_>, Vec<_>) = self.pdus.drain(..).partition(|p| p.0 <= now);
        self.pdus = rest;
        due.sort_by_key(|p| (p.0, p.1));
        due.into_iter().map(|p| (p.2, p.3)).collect()
    }
}

struct World {
    bearer: LteBearer,
    out: LteBearerOutput,
    air: Air,
    rng: Stream,
    /// The outcome of each packet, by pushing end. None: inside.
    outcomes: [Vec<Option<Outcome>>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Delivered,
    Dropped(DropCause),
}

impl World {
    fn new(config: &LteBearerConfig, seed: u64) -> World {
        config.validate().unwrap();
        World {
            bearer: LteBearer::new(config),
            out: LteBearerOutput::default(),
            air: Air::default(),
            rng: Draw::new(seed, Purpose::Test, 9).stream(0),
            outcomes: Default::default(),
        }
    }

    fn push(&mut self, now: Instant, end: End) {
        let most = if self.rng.below(4) == 0 { 3000 } else { 300 };
        let size = 1 + self.rng.below(most) as u32;
        let id = PacketId::from_index(self.outcomes[end.index()].len());
        let serial = self.bearer.push(now, end, id, size, &mut self.out);
        assert_eq!(serial, self.outcomes[end.index()].len() as u64);
        self.outcomes[end.index()].push(None);
    }

    /// Runs one millisecond over the adversarial channel.
    fn tick(&mut self, now: Instant, p: &Powers) {
        for (to, pdu) in self.air.arrivals(now) {
            self.bearer.receive(now, to, &pdu, &mut self.out);
        }
        self.bearer.on_time(now, &mut self.out);
        for end in [End::Network, End::Ue] {
            let grant = 1 + self.rng.below(u64::from(p.grant_max)) as u32;
            let mut pdus = Vec::new();
            let used = self.bearer.pull(now, end, Grant::of(grant), &mut pdus, &mut self.out);
            assert!(used <= grant);
            for pdu in pdus {
                self.transmit(now, end, pdu, p);
            }
        }
        self.account();
    }

    fn transmit(&mut self, now: Instant, end: End, pdu: Pdu, p: &Powers) {
        if self.rng.uniform() < p.loss {
            self.bearer.lost(end, &pdu, &mut self.out);
            return;
        }
        let copies = 1 + u32::from(self.rng.uniform() < p.duplicate);
        for _ in 0..copies {
            let delay = Duration::from_millis(4 + self.rng.below(p.jitter + 1));
            self.air.sent += 1;
            self.air.pdus.push((now + delay, self.air.sent, end.peer(), pdu.clone()));
        }
    }

    fn re_establish(&mut self, now: Instant) {
        self.air.pdus.clear(); // MAC is reset with RLC
        self.bearer.re_establish(now, &mut self.out);
        self.account();
    }

    /// Exactly one outcome each; deliveries in order of pushing.
    fn account(&mut self) {
        for (at, sdu) in self.out.delivered.drain(..) {
            let outcomes = &mut self.outcomes[at.peer().index()];
            let n = sdu.serial as usize;
            assert_eq!(sdu.id.index(), n, "the packet is the one that was pushed");
            assert_eq!(outcomes[n], None, "packet {n} is delivered and had an outcome");
            assert!(!outcomes[n + 1..].contains(&Some(Outcome::Delivered)), "packet {n} is late");
            outcomes[n] = Some(Outcome::Delivered);
        }
        for (pushed_by, sdu, cause) in self.out.dropped.drain(..) {
            let outcome = &mut self.outcomes[pushed_by.index()][sdu.serial as usize];
            assert_eq!(*outcome, None, "packet {} is dropped ({cause:?}) and had an outcome", { sdu.serial });
            *outcome = Some(Outcome::Dropped(cause));
        }
        for end in [End::Network, End::Ue] {
            let open = self.outcomes[end.index()].iter().filter(|f| f.is_none()).count();
            assert_eq!(self.bearer.inside(end), open, "inside {end:?}");
        }
    }
}

fn scenario(config: &LteBearerConfig, p: &Powers, seed: u64, packets: usize) -> World {
    let mut w = World::new(config, seed);
    let mut t = 0;
    while t < 400 {
        for end in [End::Network, End::Ue] {
            if w.outcomes[end.index()].len() < packets && w.rng.below(4) == 0 {
                w.push(ms(t), end);
            }
        }
        w.tick(ms(t), p);
        if p.reestablish && w.rng.below(60) == 0 {
            w.re_establish(ms(t));
        }
        t += 1;
    }
    // The impairments stop: every packet must have an outcome.
    let kind = Powers { loss: 0.0, duplicate: 0.0, jitter: 0, grant_max: 8000, reestablish: false };
    let end = t + 4_000;
    while t < end {
        w.tick(ms(t), &kind);
        t += 1;
    }
    w
}

fn cases() -> ProptestConfig {
    let n = std::env::var("LASTHOP_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(64);
    ProptestConfig { cases: n, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    /// AM without a discard timer is lossless in every case: re-establishments included.
    #[test]
    fn am_loses_nothing_and_keeps_order(
        rlc in rlc_configs(), p in powers(), seed: u64, bits in prop::sample::select(vec![12u32, 15, 18]),
        report: bool,
    ) {
        let pdcp = PdcpConfig { sn_bits: bits, status_report: report, ..PdcpConfig::default() };
        let w = scenario(&LteBearerConfig { pdcp, rlc }, &p, seed, 120);
        for outcomes in &w.outcomes {
            prop_assert!(outcomes.iter().all(|f| *f == Some(Outcome::Delivered)), "{outcomes:?}");
        }
    }

    /// With a discard timer and a small buffer each packet is delivered or dropped by a named
    /// cause. A packet whose discard timer expired after RLC had begun it can remain without an
    /// outcome only after the last delivery.
    #[test]
    fn am_with_discard_delivers_or_reports(rlc in rlc_configs(), p in powers(), seed: u64, head: bool) {
        let timer = OrInfinity::Value(Duration::from_millis(50));
        let pdcp = PdcpConfig { discard_timer: timer, ..PdcpConfig::default() };
        let mut rlc = rlc;
        rlc.buffer.packets = OrInfinity::Value(5);
        rlc.buffer.discipline = if head { Discipline::HeadDrop } else { Discipline::DropTail };
        let w = scenario(&LteBearerConfig { pdcp, rlc }, &p, seed, 120);
        for outcomes in &w.outcomes {
            let last = outcomes.iter().rposition(|f| *f == Some(Outcome::Delivered)).unwrap_or(0);
            prop_assert!(outcomes[..last].iter().all(Option::is_some));
            prop_assert!(p.reestablish || outcomes.iter().all(Option::is_some));
        }
    }

    /// UM: delivered in order, or lost and reported.
    #[test]
    fn um_delivers_in_order_or_reports(rlc in rlc_configs(), p in powers(), seed: u64, short: bool) {
        let rlc = RlcConfig { mode: Mode::Um, ..rlc };
        let pdcp = PdcpConfig { sn_bits: if short { 7 } else { 12 }, ..PdcpConfig::default() };
        let w = scenario(&LteBearerConfig { pdcp, rlc }, &p, seed, 120);
        for outcomes in &w.outcomes {
            let last = outcomes.iter().rposition(|f| *f == Some(Outcome::Delivered)).unwrap_or(0);
            prop_assert!(outcomes[..last].iter().all(Option::is_some));
        }
    }

    /// ns-3's shortcuts are still a reliable protocol as long as grants fit the PDUs.
    #[test]
    fn the_shortcuts_of_ns3_lose_nothing_without_reestablishment(p in powers(), seed: u64) {
        let p = Powers { grant_max: p.grant_max.max(100), reestablish: false, ..p };
        let rlc = RlcConfig { compat: Compat::Ns3, ..RlcConfig::default() };
        let w = scenario(&LteBearerConfig { rlc, ..LteBearerConfig::default() }, &p, seed, 60);
        for outcomes in &w.outcomes {
            prop_assert!(outcomes.iter().all(|f| *f == Some(Outcome::Delivered)));
        }
    }
}
