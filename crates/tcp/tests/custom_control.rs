//! A caller's own control that overrides every method of the trait receives the calls of all of
//! them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::util::Pair;
use lasthop_tcp::cc::*;
use lasthop_tcp::*;
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Seq};

type Called = Arc<Mutex<BTreeSet<&'static str>>>;

/// Reno that records its calls.
#[derive(Clone, Debug)]
struct Listener {
    reno: Reno,
    called: Called,
}

impl Listener {
    fn note(&self, method: &'static str) {
        self.called.lock().unwrap().insert(method);
    }
}

/// The declaration of the trait.
const DECLARATION: &str = include_str!("../src/cc/control.rs");

/// All methods of the trait, in the order of their names. They are read from its declaration: a
/// method that is added there has to be called below.
fn methods() -> BTreeSet<&'static str> {
    let body = DECLARATION.split_once("pub trait CongestionControl {").unwrap().1;
    let lines = body.lines().filter_map(|line| line.trim_start().strip_prefix("fn "));
    lines.map(|rest| rest.split_once('(').unwrap().0).collect()
}

/// Clippy refuses this implementation when a method is missing.
#[deny(clippy::missing_trait_methods)]
impl CongestionControl for Listener {
    fn cwnd(&self) -> f64 {
        self.note("cwnd");
        self.reno.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.note("ssthresh");
        self.reno.ssthresh()
    }
    fn on_established(&mut self, e: &Established) {
        self.note("on_established");
        self.reno.on_established(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.note("on_ack");
        self.reno.on_ack(ack);
    }
    fn on_dup_ack(&mut self, dup: &DupAck) -> DupAckAction {
        self.note("on_dup_ack");
        self.reno.on_dup_ack(dup)
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.note("on_congestion");
        self.reno.on_congestion(c);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.note("on_timeout");
        self.reno.on_timeout(c);
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.note("set_cwnd");
        self.reno.set_cwnd(segments);
    }
    fn set_ssthresh(&mut self, segments: f64) {
        self.note("set_ssthresh");
        self.reno.set_ssthresh(segments);
    }
    fn on_hint(&mut self, hint: &Hint) {
        self.note("on_hint");
        self.reno.on_hint(hint);
    }
    fn on_idle_restart(&mut self, now: Instant, segments: f64) {
        self.note("on_idle_restart");
        self.reno.on_idle_restart(now, segments);
    }
    fn on_recovered(&mut self, now: Instant) {
        self.note("on_recovered");
        self.reno.on_recovered(now);
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.note("on_undo");
        self.reno.on_undo(cwnd, ssthresh);
    }
    fn on_transmit_start(&mut self, start: &TransmitStart) {
        self.note("on_transmit_start");
        self.reno.on_transmit_start(start);
    }
    fn rules_recovery(&self) -> bool {
        self.note("rules_recovery");
        self.reno.rules_recovery()
    }
    fn answers_loss_in_cwr(&self) -> bool {
        self.note("answers_loss_in_cwr");
        self.reno.answers_loss_in_cwr()
    }
    fn oldest_is_overdue(&mut self, now: Instant, sent: Instant) -> bool {
        self.note("oldest_is_overdue");
        self.reno.oldest_is_overdue(now, sent)
    }
    fn take_reduction(&mut self) -> bool {
        self.note("take_reduction");
        self.reno.take_reduction()
    }
    fn own_timeout(&self) -> Option<Duration> {
        self.note("own_timeout");
        self.reno.own_timeout()
    }
    fn pacing_rate(&self) -> Option<Bitrate> {
        self.note("pacing_rate");
        self.reno.pacing_rate()
    }
    fn fault(&mut self) -> Option<Fault> {
        self.note("fault");
        self.reno.fault()
    }
    fn observe(&self, o: &mut Observer<'_>) {
        self.note("observe");
        self.reno.observe(o);
    }
}

/// A connection over 50 ms each way whose client has a `Listener`.
fn connection(recovery: &str, called: &Called) -> Pair {
    let called = called.clone();
    let listener = Definition::new("listener", move |s| {
        Ok(Box::new(Listener { reno: Reno::new(s.config), called: called.clone() }))
    });
    let mut controls = Controls::default();
    controls.add(listener).unwrap();
    // A control's own timer is used with `vegas_rto = "fine"` alone.
    let text = format!(
        "cc = 'listener'\nrecovery = '{recovery}'\nvegas_rto = 'fine'\nmss = '1000 B'\nreceive_buffer = '60000 B'"
    );
    let options: Options = toml::from_str(&text).unwrap();
    let mut config = options.resolve_with(&controls).unwrap();
    // Linux alone sets the threshold after idleness.
    config.host.idle_halves_window = true;
    let cc = controls.build(&config, &options.cc_parameters, ControlContext::default()).unwrap();
    let peer = Options {
        window: WindowOptions { mss: Some(Bytes(1000)), ..WindowOptions::default() },
        buffers: BufferOptions { receive_buffer: Some(Bytes(60_000)), ..BufferOptions::default() },
        ..Options::default()
    };
    let mut pair = Pair::new(config, peer.resolve().unwrap(), Duration::from_millis(50));
    pair.ends[0] = Endpoint::with_control(config, cc, Seq(7));
    pair.connect();
    pair.drive(Instant::from_secs(1));
    pair
}

#[test]
fn each_method_that_a_custom_control_overrides_is_called() {
    let called = Called::default();

    // Loss recovery by duplicate ACKs: the fifth segment of 40 is lost, later everything for 3 s.
    let mut pair = connection("newreno", &called);
    pair.links[0].drop = vec![4];
    pair.write(0, 40_000);
    pair.flush();
    pair.drive(Instant::from_secs(10));
    pair.links[0].loss = 1.0;
    pair.write(0, 20_000);
    pair.flush();
    pair.drive(Instant::from_secs(13));
    pair.links[0].loss = 0.0;
    pair.drive(Instant::from_secs(60));
    let hint = Hint { rate: Some(Bitrate(1_000_000)), ..Hint::at(pair.now) };
    pair.ends[0].handle_hint(&hint);
    assert!(pair.ends[0].control_fault().is_none());
    let shown = variables(|o| observe(&pair.ends[0], o));
    assert!(shown.iter().any(|v| v.name == "reno.counted"), "{shown:?}");

    // By time: a sudden round trip of 4 s causes a spurious timeout.
    let mut pair = connection("rack", &called);
    pair.write(0, 40_000);
    pair.flush();
    pair.drive(Instant::from_secs(10));
    pair.links[1].delay = Duration::from_secs(4);
    pair.write(0, 20_000);
    pair.flush();
    pair.drive(Instant::from_secs(60));

    let methods = methods();
    assert!(methods.contains("cwnd") && methods.contains("observe"), "{methods:?}");
    assert_eq!(*called.lock().unwrap(), methods);
}
