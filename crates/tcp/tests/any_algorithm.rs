//! Any algorithm under any sequence of operations: the window never falls below its floor, nothing
//! panics, nothing is NaN, time only moves on.

use lasthop_tcp::cc::*;
use lasthop_tcp::*;
use lasthop_units::{Bitrate, Duration, Instant};
use proptest::prelude::*;

const MSS: u64 = 1448;

/// One thing that may happen to an algorithm.
#[derive(Clone, Debug)]
enum Operation {
    /// An ACK of so many segments after a round trip of so many microseconds.
    Ack {
        segments: u64,
        rtt_us: u64,
        limited: bool,
        state: u8,
    },
    /// SACK news.
    Sack {
        segments: u64,
        lost: u64,
    },
    Duplicate(u32),
    Congestion(bool),
    Timeout(bool),
    Recovered,
    Undo,
    SetWindow(f64),
    Mark(u64),
    /// A hint: rate [kbit/s], queue, age [ms], number of the notice.
    Hint(u64, u64, u64, u8),
    Wait(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let rtt = prop_oneof![8 => 10_000u64..200_000, 1 => 0u64..10, 1 => 1_000_000u64..60_000_000];
    prop_oneof![
        30 => (1u64..20, rtt, prop::bool::weighted(0.9), 0u8..20)
            .prop_map(|(segments, rtt_us, limited, state)| Ack { segments, rtt_us, limited, state }),
        4 => (0u64..10, 0u64..10).prop_map(|(segments, lost)| Sack { segments, lost }),
        2 => (1u32..20).prop_map(Duplicate),
        3 => any::<bool>().prop_map(Congestion),
        2 => any::<bool>().prop_map(Timeout),
        2 => Just(Recovered),
        1 => Just(Undo),
        1 => prop_oneof![0.0f64..3.0, 1.0f64..1e6].prop_map(SetWindow),
        2 => (1u64..30).prop_map(Mark),
        6 => (prop_oneof![0u64..100_000, Just(u64::MAX / 1000)], prop_oneof![0u64..1_000_000, Just(u64::MAX)], 0u64..100, 0u8..12)
            .prop_map(|(rate, queue, age, notice)| Hint(rate, queue, age, notice)),
        8 => prop_oneof![0u64..50_000, 0u64..20_000_000].prop_map(Wait),
    ]
}

/// An algorithm and the sender's side of its world.
struct Bench {
    cc: Cc,
    now: Instant,
    una: u64,
    delivered: u64,
    before: (f64, f64),
}

impl Bench {
    fn new(config: &Config) -> Bench {
        let mut cc = Cc::new(config);
        let now = Instant::from_millis(100);
        let rtt = Some(Duration::from_millis(100));
        cc.on_established(&Established { now, rtt, initial_window: 10.0, nxt: 1, mss: MSS as u32, seed: 1 });
        Bench { cc, now, una: 1, delivered: 0, before: (10.0, 10.0) }
    }

    fn sample(&mut self, segments: u64) -> AckSample {
        self.delivered += segments * MSS;
        let window = (self.cc.cwnd().min(1e6)) as u64 * MSS;
        AckSample {
            now: self.now,
            delivered: segments * MSS,
            total_delivered: self.delivered,
            una: self.una,
            nxt: self.una + window,
            in_flight: window,
            flight_before: window + segments * MSS,
            mss: MSS as u32,
            cwnd_limited: true,
            ..AckSample::default()
        }
    }

    fn congestion(&mut self, signal: Signal, repeated: bool) -> Congestion {
        self.before = (self.cc.cwnd(), self.cc.ssthresh());
        Congestion { now: self.now, signal, flight: self.cc.cwnd(), repeated, loss: None }
    }

    #[allow(clippy::too_many_lines)] // an arm for each operation
    fn take(&mut self, operation: &Operation) {
        match *operation {
            Operation::Ack { segments, rtt_us, limited, state } => {
                let rtt = Duration::from_micros(rtt_us);
                self.now += rtt / 8;
                self.una += segments * MSS;
                let state = match state {
                    0 => CaState::Recovery,
                    1 => CaState::Loss,
                    2 => CaState::Disorder,
                    _ => CaState::Open,
                };
                let rate = RateSample {
                    delivered: 10 * MSS,
                    interval: rtt,
                    prior_delivered: self.delivered.saturating_sub(10 * MSS),
                    prior_in_flight: 10 * MSS,
                    sent_in_flight: 10 * MSS,
                    lost: 0,
                    app_limited: !limited,
                };
                let a = AckSample {
                    acked: segments * MSS,
                    rtt: Some(rtt),
                    srtt: Some(rtt),
                    rate: Some(rate),
                    state,
                    cwnd_limited: limited,
                    may_grow: state != CaState::Recovery,
                    before: state,
                    ..self.sample(segments)
                };
                self.cc.on_ack(&a);
            }
            Operation::Sack { segments, lost } => {
                let loss = (lost > 0).then_some(LossSample { sent_in_flight: 10 * MSS, lost: lost * MSS });
                let a =
                    AckSample { lost: lost * MSS, loss, state: CaState::Recovery, ..self.sample(segments) };
                self.cc.on_ack(&a);
            }
            Operation::Duplicate(count) => {
                let dup = DupAck {
                    now: self.now,
                    count,
                    oldest_sent: Instant::ZERO,
                    oldest_transmissions: 1,
                    guard_open: true,
                    window: self.cc.cwnd() as u32,
                };
                self.cc.on_dup_ack(&dup);
            }
            Operation::Congestion(mark) => {
                let c = self.congestion(if mark { Signal::Ecn } else { Signal::Loss }, false);
                self.cc.on_congestion(&c);
            }
            Operation::Timeout(repeated) => {
                let c = self.congestion(Signal::Loss, repeated);
                self.cc.on_timeout(&c);
            }
            Operation::Recovered => self.cc.on_recovered(self.now),
            Operation::Undo => self.cc.on_undo(self.before.0, self.before.1),
            Operation::SetWindow(n) => self.cc.set_cwnd(n),
            Operation::Mark(segments) => {
                let a = AckSample { marked: segments * MSS, ..self.sample(segments) };
                self.cc.on_ack(&a);
            }
            Operation::Hint(rate, queue, age, notice) => {
                let measured = Instant(self.now.0.saturating_sub(age * 1_000_000));
                self.cc.on_hint(&Hint {
                    measured: Some(measured),
                    rate: Some(Bitrate(rate.saturating_mul(1000))),
                    queue: Some(queue),
                    notice: Notice::ALL.get(usize::from(notice)).copied(),
                    ..Hint::at(self.now)
                });
            }
            Operation::Wait(us) => self.now += Duration::from_micros(us),
        }
    }

    /// Name and unit of its variables, of which no value is NaN.
    fn shown(&self) -> Vec<(String, String)> {
        let mut found = vec![];
        let mut take = |o: &Observation<'_>| {
            assert!(!matches!(o.value, Shown::Number(Some(v)) if v.is_nan()), "{}", o.name);
            assert!(
                !o.about.is_empty() && (o.unit == "text") != matches!(o.value, Shown::Number(_)),
                "{}",
                o.name
            );
            found.push((o.name.to_owned(), o.unit.to_owned()));
        };
        self.cc.observe(&mut Observer::new(&mut take));
        found
    }

    fn check(&mut self, name: &str) -> Result<(), TestCaseError> {
        let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        prop_assert!(cwnd.is_finite() && cwnd >= 1.0, "{name}: cwnd {cwnd}");
        prop_assert!(!ssthresh.is_nan() && ssthresh >= 1.0, "{name}: ssthresh {ssthresh}");
        prop_assert!(self.cc.pacing_rate().is_none_or(|r| r.0 > 0), "{name}: a rate of 0 never ends");
        prop_assert!(self.cc.own_timeout().is_none_or(|t| t > Duration::ZERO), "{name}");
        self.cc.oldest_is_overdue(self.now, Instant::ZERO);
        Ok(())
    }
}

/// Every algorithm, in each of its readings.
fn readings() -> Vec<(String, Config)> {
    let mut out = vec![];
    for a in ALGORITHMS {
        for word in ["", " as Linux", " as ns-3"] {
            let mut c = Options { cc: Some(a.id), ..Options::default() }.resolve().unwrap();
            if word == " as ns-3" {
                c.vegas.reading = VegasReading::Ns3;
                c.westwood.reading = WestwoodReading::Ns3;
                c.readings.cc_reading = CcReading::Ns3;
            } else if word == " as Linux" {
                c.vegas.reading = VegasReading::Linux;
                c.cubic.reading = CubicReading::Linux;
                c.readings.hystart = HyStartKind::Linux;
                c.westwood.reading = WestwoodReading::Linux;
                c.growth.abc_limit = None;
            } else {
                c.readings.hystart = HyStartKind::Rfc9406;
            }
            out.push((format!("{}{word}", a.name), c));
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_sequence_of_operations_is_survived_by_every_algorithm(
        operations in prop::collection::vec(operation(), 1..150)
    ) {
        for (name, config) in readings() {
            let mut bench = Bench::new(&config);
            let mut last = bench.now;
            let shown = bench.shown();
            prop_assert!(shown.is_empty() == (name.starts_with("none")), "{name}");
            for operation in &operations {
                bench.take(operation);
                bench.check(&name)?;
                prop_assert_eq!(&bench.shown(), &shown, "{}", &name);
                prop_assert!(bench.now >= last, "time moves on");
                last = bench.now;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn a_ceiling_is_never_passed(operations in prop::collection::vec(operation(), 1..100)) {
        for (name, mut config) in readings() {
            config.window.max_window = Some(32);
            let mut bench = Bench::new(&config);
            for operation in &operations {
                // Duplicate ACKs inflate ns-2's Vegas beyond it; the endpoint cuts that.
                if !matches!(operation, Operation::Duplicate(_)) {
                    bench.take(operation);
                    prop_assert!(bench.cc.cwnd() <= 32.0, "{name}: {}", bench.cc.cwnd());
                }
            }
        }
    }
}

#[test]
fn a_loss_never_grows_the_window_and_a_timeout_leaves_at_most_two_segments() {
    for (name, config) in readings() {
        let mut b = Bench::new(&config);
        for _ in 0..200 {
            b.take(&Operation::Ack { segments: 1, rtt_us: 100_000, limited: true, state: 9 });
        }
        let before = b.cc.cwnd();
        let c = b.congestion(Signal::Loss, false);
        b.cc.on_congestion(&c);
        assert!(b.cc.cwnd() <= before, "{name}");
        let c = b.congestion(Signal::Loss, false);
        b.cc.on_timeout(&c);
        // ns-2's Vegas takes two; `none` has no window to lose.
        assert!(b.cc.cwnd() <= 2.0 || config.cc == CcName::None, "{name}");
    }
}
