//! What a scenario may write under `[flow.<name>.tcp]`.

use std::collections::BTreeMap;

use lasthop_units::{Bitrate, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cc::{ALGORITHMS, CcName, Controls};
use crate::config::*;
use crate::host::{AckRule, Offload};
use crate::jiffies::KernelClock;
use crate::profile::Profile;

/// TCP options of a flow. A profile gives every value; what is written here replaces the profile's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-default-of-keys" = "the profile's"))]
pub struct Options {
    /// The stack profile that all other values default to: `rfc`, `ns2`, `linux-6`, `linux-2.6.26`,
    /// `ns3-3.28`, `ns3-3.44` or `inet`; `lasthop describe profile NAME` prints one.
    pub profile: Profile,
    /// Congestion control algorithm: `reno` (RFC 5681), `cubic` (RFC 9438), `bbr`, `vegas`, ...;
    /// `lasthop describe cc` prints them all. Or the name under which one of your own was
    /// registered.
    pub cc: Option<CcName>,
    /// Parameters of a congestion control of your own, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-default-of-keys" = "the algorithm's"))]
    pub cc_parameters: BTreeMap<String, f64>,
    /// Loss recovery: `tahoe`, `reno`, `newreno` (RFC 6582), `sack` (RFC 6675) or `rack` (RFC 8985
    /// with RFC 9937, as Linux; also what `cc = "bbr"` defaults to, because it estimates the
    /// delivery rate).
    pub recovery: Option<RecoveryFlavour>,
    /// Maximum segment size: octets of data and TCP options in one segment (RFC 6691), 64 B to
    /// 65495 B.
    pub mss: Option<Bytes>,
    /// Initial congestion window in segments, 1 to 1000. Unset in `rfc`: min(10 MSS, max(2 MSS,
    /// 14600 B)) (RFC 6928).
    pub initial_window: Option<u32>,
    /// Initial slow-start threshold in segments, at least 2.
    pub initial_ssthresh: Option<f64>,
    /// Ceiling of the congestion window in segments, at least 1.
    pub max_window: Option<u32>,
    /// Whether the window counts whole segments only (ns-2) instead of octets (RFC 5681).
    pub whole_segments: Option<bool>,
    /// Receive buffer: the largest window the receiver offers, 256 B to 1 GiB. Above 64 KiB it
    /// needs window scaling.
    pub receive_buffer: Option<Bytes>,
    /// The receive buffer grows with what the application reads per round trip (dynamic
    /// right-sizing, Linux' `tcp_moderate_rcvbuf`), from `receive_buffer_start` up to
    /// `receive_buffer`. A `receive_buffer` that is written alone is fixed, as SO_RCVBUF is.
    /// Both are octets of window: half of Linux' `tcp_rmem`.
    pub receive_tuning: Option<bool>,
    /// With `receive_tuning`: what the receive buffer starts from, 256 B up to `receive_buffer`.
    pub receive_buffer_start: Option<Bytes>,
    /// Send buffer: how much the application may write ahead of the ACKs, at least 1 B. Unset:
    /// unlimited, or what `send_tuning` makes of it. A `send_buffer` that is written is fixed,
    /// as SO_SNDBUF is.
    pub send_buffer: Option<Bytes>,
    /// Without `send_buffer`: the send buffer counts memory, as Linux does (each octet written and
    /// not acknowledged, and 1280 octets for each packet that holds some), starts from
    /// `send_buffer_start` and grows up to `send_buffer_max` where it keeps the congestion
    /// window from being filled. An application that filled it writes again when a third is free.
    pub send_tuning: Option<bool>,
    /// With `send_tuning`: initial size of the send buffer, 4096 B up to `send_buffer_max` (the
    /// default of Linux' `tcp_wmem`); at least the memory of twice ten segments once the connection
    /// is established.
    pub send_buffer_start: Option<Bytes>,
    /// With `send_tuning`: largest size of the send buffer, at least 4096 B (the maximum of Linux'
    /// `tcp_wmem`).
    pub send_buffer_max: Option<Bytes>,
    /// Cut written data into packets of two and more segments. They leave together, the last with
    /// PSH, and wait for more space in the congestion window: Linux' TCP since 4.17, over any
    /// device (`generic segmentation offload`). With `recovery = "rack"` only; elsewhere segments
    /// leave one by one.
    pub gso: Option<bool>,
    /// Offer timestamps (RFC 7323): 12 octets in each segment, RTT samples from retransmitted data
    /// too, PAWS.
    pub timestamps: Option<bool>,
    /// Offer window scaling (RFC 7323 section 2).
    pub window_scaling: Option<bool>,
    /// Offer selective acknowledgements (RFC 2018).
    pub sack: Option<bool>,
    /// SACK information at a retransmission timeout: `keep` (RFC 6675 section 5.1) or `clear` (RFC
    /// 2018 section 8).
    pub sack_on_timeout: Option<SackOnTimeout>,
    /// Duplicate ACKs that mean a loss, 1 to 255 (RFC 5681 section 3.2: 3).
    pub dup_threshold: Option<u32>,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: Option<bool>,
    /// Forbid a second fast retransmit within one window of data (RFC 6582 section 3.2; ns-2
    /// `bugFix_`).
    pub bugfix: Option<bool>,
    /// Restart the retransmission timer at a fast retransmit (ns-2 does, RFC 6298 does not say so).
    pub timer_on_fast_retransmit: Option<bool>,
    /// Which partial ACKs restart the timer in NewReno's recovery (RFC 6582 section 4):
    /// `first-only` or `every`.
    pub timer_on_partial_ack: Option<TimerOnPartialAck>,
    /// A retransmission timeout ends NewReno's fast recovery (RFC 6582). `false`: one hole per
    /// round trip goes on with a window of one segment, and slow start follows the full ACK
    /// (the D2D study's reading).
    pub rto_leaves_recovery: Option<bool>,
    /// The window at the end of Reno's and NewReno's recovery: `deflate` (RFC 6582) or `keep`
    /// (ns-2: ssthresh, and the ACK grows it).
    pub recovery_exit: Option<RecoveryExit>,
    /// How `recovery = "rack"` finds losses: `rack` (by time, RFC 8985) or `fack` (by count, Linux
    /// up to 4.15).
    pub loss_detection: Option<LossDetection>,
    /// Tail loss probes with `recovery = "rack"` (RFC 8985 section 7).
    pub loss_probe: Option<bool>,
    /// How `recovery = "rack"` brings the window down: `prr` (RFC 9937) or `rate-halving` (Linux up
    /// to 3.1).
    pub window_reduction: Option<WindowReduction>,
    /// Nagle's algorithm: hold back small segments while data is outstanding (RFC 9293 section
    /// 3.7.4).
    pub nagle: Option<bool>,
    /// Full-sized segments per ACK, 1 (no delayed ACK) to 64; RFC 5681 section 4.2 wants at most 2.
    pub ack_every: Option<u32>,
    /// What makes an ACK due before its delay is over: `octets` (of `ack_every` full segments),
    /// `segments` (`ack_every` of any size), or `linux` with its heuristics: `ack_every` is not
    /// used then, `quick_acks` bounds each budget of quick ACKs, and `ack_delay` is where the
    /// estimate of the ACK timeout begins.
    pub ack_rule: Option<AckRule>,
    /// Segments acknowledged one by one at the start of a connection, 0 to 1000 (Linux: 16).
    pub quick_acks: Option<u32>,
    /// Report duplicate segments to the sender (RFC 2883).
    pub dsack: Option<bool>,
    /// Longest time an ACK is delayed, up to 500 ms (RFC 9293 section 3.8.6.3).
    pub ack_delay: Option<Duration>,
    /// Arithmetic of the RTT estimate: `rfc6298`, `linux`, `per-sample` (ns-3), `inet` or
    /// `ns2-ticks`.
    pub rtt_estimator: Option<RttEstimator>,
    /// RTT samples: from `every-ack` of new data or from `one-segment` at a time.
    pub rtt_sampling: Option<RttSampling>,
    /// Clock granularity G of RFC 6298, or the tick of `ns2-ticks`; at least 1 us.
    pub clock_granularity: Option<Duration>,
    /// The clock of the timers: `exact`, or the ticks of a Linux kernel, `hz-1000`, `hz-250` or
    /// `hz-100`. With ticks a wait is rounded up to whole ticks and ends at the next slot of
    /// the kernel's timer wheel: up to a tick late for waits below 63 ticks, up to 8 ticks
    /// below 504, up to 64 below 4032. The timers are those of RTO, loss probes, RACK's
    /// reordering window, delayed ACKs, window probes and TIME-WAIT; pacing is exact.
    pub kernel_clock: Option<KernelClock>,
    /// Retransmission timeout before the first RTT sample (RFC 6298: 1 s; ns-2: 6 s).
    pub initial_rto: Option<Duration>,
    /// Floor of the retransmission timeout (RFC 6298: 1 s; Linux: 200 ms).
    pub min_rto: Option<Duration>,
    /// Ceiling of the retransmission timeout, at least 1 ms (RFC 6298: at least 60 s).
    pub max_rto: Option<Duration>,
    /// Largest factor of the exponential back-off, a power of two (ns-2: 64).
    pub max_backoff: Option<u32>,
    /// Apply the floor of the RTO `before` or `after` the back-off.
    pub backoff_floor: Option<BackoffFloor>,
    /// Timeouts in a row after which the connection is given up (RFC 9293 section 3.8.3).
    pub max_retries: Option<u32>,
    /// Timeouts of the SYN in a row after which the connection is given up.
    pub syn_retries: Option<u32>,
    /// Filler on the SYN of the end that opens, 0 B to 65495 B; the peer acknowledges the SYN
    /// alone, so the data is sent in the first window. The default is `0 B`, but one segment in
    /// `ns2` with `cc = "vegas"`: ns-2's Vegas agent ignores `syn_` and opens with a whole data
    /// packet, whose round trip becomes its baseRTT.
    pub syn_filler: Option<Bytes>,
    /// How long TIME-WAIT lasts: two maximum segment lifetimes (RFC 9293 section 3.4.2).
    pub time_wait: Option<Duration>,
    /// What makes the window grow: `bytes` acknowledged (RFC 5681, 3465) or `acks` (ns-2).
    pub growth: Option<Growth>,
    /// Limit L of appropriate byte counting in segments, 1 to 64 (RFC 5681: 1; RFC 3465: up to 2).
    pub abc_limit: Option<u32>,
    /// FlightSize when ssthresh is computed: `flight` (RFC 5681), `window` (ns-2, INET) or `cwnd`
    /// (Linux).
    pub ssthresh_basis: Option<SsthreshBasis>,
    /// Grow the window only while it is what limits the sender.
    pub window_validation: Option<bool>,
    /// Fall back to the initial window after an idle time of one RTO (RFC 5681 section 4.1).
    pub idle_restart: Option<bool>,
    /// Space data out at the window per round trip, twice that early in slow start, 120 % after
    /// (Linux under the fq scheduler). BBR paces without it; `l4s = true`, `prague` and
    /// `radio-aware` have it on unless it is `false`.
    pub pacing: Option<bool>,
    /// Ceiling of the sending rate, data and TCP header counted, like Linux' SO_MAX_PACING_RATE.
    /// Unset: not paced.
    pub max_pacing_rate: Option<Bitrate>,
    /// The application reads by calls of its own, so that the window can close; otherwise it reads
    /// at once.
    pub manual_read: Option<bool>,
    /// Vegas: grow below this many extra segments in the network (ns-2 v_alpha: 1).
    pub vegas_alpha: Option<f64>,
    /// Vegas: shrink above this many extra segments in the network (ns-2 v_beta: 3).
    pub vegas_beta: Option<f64>,
    /// Vegas: leave slow start above this many extra segments in the network (ns-2 v_gamma: 1).
    pub vegas_gamma: Option<f64>,
    /// Vegas' retransmission timer: `coarse` (the ordinary RTO) or `fine` (the fine-grained
    /// timeout, no minimum).
    pub vegas_rto: Option<VegasRto>,
    /// What Vegas' baseRTT starts from: the absolute `clock` at the first ACK (ns-2) or the first
    /// `sample`.
    pub vegas_base_start: Option<VegasBaseStart>,
    /// Whether the deciding ACK's RTT sample is counted `after-decision` (ns-2) or
    /// `before-decision`.
    pub vegas_sample_order: Option<VegasSampleOrder>,
    /// Whose Vegas: `ns2` or `linux` (once per round by the smallest round trip; ns-3's too).
    pub vegas_reading: Option<VegasReading>,
    /// Whose CUBIC: `rfc9438` or `linux` (whole segments, a look at most every 1/32 s).
    pub cubic_reading: Option<CubicReading>,
    /// CUBIC: what is left of the window after a loss, 0.1 to 0.99 (RFC 9438: 0.7; Linux before
    /// 2.6.26: 0.8).
    pub cubic_beta: Option<f64>,
    /// CUBIC: C in segments/s^3, above 0 and at most 10 (RFC 9438: 0.4).
    pub cubic_c: Option<f64>,
    /// CUBIC: a loss below the last maximum lowers it further (RFC 9438 section 4.7).
    pub cubic_fast_convergence: Option<bool>,
    /// CUBIC: never slower than Reno (RFC 9438 section 4.3).
    pub cubic_friendliness: Option<bool>,
    /// A congestion mark costs Reno and CUBIC less than a loss (RFC 8511).
    pub abe: Option<bool>,
    /// With `abe`: what stays of the window after a mark, 0.5 to 1 (RFC 8511: 0.8 for Reno, 0.85
    /// for CUBIC).
    pub abe_beta: Option<f64>,
    /// Explicit congestion notification (RFC 3168), Linux' `tcp_ecn`: `off` (0), `on` (1: ask and
    /// accept), `passive` (2: accept only), `accurate` (3: ask for AccECN, RFC 9768),
    /// `accurate-in` (4: accept AccECN, ask for RFC 3168) or `accurate-passive` (5: accept
    /// AccECN, ask for nothing). `cc = "dctcp"` asks for it by itself.
    pub ecn: Option<EcnMode>,
    /// When the AccECN option is sent, Linux' `tcp_ecn_option`: `off` (0), `minimum` (1: when
    /// counters change, and three times a round trip) or `full` (2: in every segment; data
    /// segments keep 12 octets for it).
    pub accecn_option: Option<AccEcnOption>,
    /// Send data as ECT(1), for the low-latency queue of `dualpi2` (RFC 9331), instead of ECT(0).
    /// It wants a congestion control that answers to the share of marks: `dctcp`, or `prague`,
    /// which asks for it by itself.
    pub l4s: Option<bool>,
    /// What ends CUBIC's slow start before a loss: `none`, `linux` (HyStart), `ns3` (HyStart as
    /// ns-3 has it) or `rfc9406` (HyStart++).
    pub hystart: Option<HyStartKind>,
    /// Whose reading of algorithms without a standard: `paper`, or `linux` with its arithmetic
    /// (Hybla starts with rho segments, LP takes delays from timestamps).
    pub cc_reading: Option<CcReading>,
    /// Whose Westwood: `paper` or `linux` (one sample per round trip, the window set when recovery
    /// ends).
    pub westwood_reading: Option<WestwoodReading>,
    /// What Westwood makes of two ACKs at the same instant: a sample of `zero`, `skip` it, or
    /// `merge` it with the next.
    pub zero_interval: Option<ZeroInterval>,
    /// `radio-aware`: the algorithm that takes over without hints, any built-in one but itself.
    pub hint_base: Option<CcName>,
    /// `radio-aware`: the round trip in its window, `min` (of the last 10 s), `srtt` (smoothed) or
    /// `predicted` (smoothed, less the time that the reported queue takes at the reported
    /// rate).
    pub hint_rtt: Option<HintRtt>,
    /// `radio-aware`: the window has the queue term gain * (threshold - queue).
    pub hint_queue_term: Option<bool>,
    /// `radio-aware`: the layer-2 queue aimed at, up to 1 GiB.
    pub hint_queue_threshold: Option<Bytes>,
    /// `radio-aware`: gain of the queue term, above 0 and at most 10.
    pub hint_gain: Option<f64>,
    /// `radio-aware`: how old a reading may be before the base algorithm takes over, above 0 s.
    /// Unset: a smoothed round trip, at least 2.5 periods of the hints.
    pub hint_timeout: Option<Duration>,
    /// Hybla: the round trip whose growth is imitated, above 0 s (Linux 25 ms, ns-3 50 ms).
    pub hybla_rtt0: Option<Duration>,
}

/// A value that cannot be, with the key that holds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {problem}")]
pub struct OptionError {
    /// The key under `[flow.<name>.tcp]`.
    pub key: &'static str,
    /// What is wrong and what would be right.
    pub problem: String,
    /// Where a word is unknown: those that are known.
    pub known: Vec<String>,
}

fn refuse<T>(key: &'static str, problem: impl Into<String>) -> Result<T, OptionError> {
    Err(OptionError { key, problem: problem.into(), known: Vec::new() })
}

fn within(key: &'static str, value: u64, min: u64, max: u64, unit: &str) -> Result<u64, OptionError> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    refuse(key, format!("{value}{unit} is outside {min}{unit} to {max}{unit}"))
}

impl Options {
    /// The values an endpoint runs on: the profile's, replaced by what is written here, and
    /// checked.
    pub fn resolve(&self) -> Result<Config, OptionError> {
        self.resolve_with(&Controls::default())
    }

    /// As [`Options::resolve`], where `cc` may also name one of `controls`.
    pub fn resolve_with(&self, controls: &Controls) -> Result<Config, OptionError> {
        self.check_control(controls)?;
        let mut c = self.profile.config();
        self.apply_words(&mut c);
        self.apply_numbers(&mut c)?;
        self.apply_vegas(&mut c)?;
        self.apply_algorithms(&mut c)?;
        check_together(&c)?;
        Ok(c)
    }

    fn check_control(&self, controls: &Controls) -> Result<(), OptionError> {
        let cc = self.cc.unwrap_or(self.profile.config().cc);
        if let CcName::Custom(name) = cc
            && controls.get(name.as_str()).is_none()
        {
            let own = controls.iter().map(|d| d.name());
            let known = ALGORITHMS.iter().map(|a| a.name).chain(own).map(str::to_owned).collect();
            return Err(OptionError {
                key: "cc",
                problem: format!("unknown name \"{}\"", name.as_str()),
                known,
            });
        }
        match controls.unknown_parameter(cc, &self.cc_parameters) {
            None => Ok(()),
            Some(_) if cc.algorithm().is_some() => {
                let problem = format!("`{}` is built in: its parameters are keys of this table", cc.name());
                refuse("cc_parameters", problem)
            }
            Some((wrong, known)) => {
                let problem = format!("`{}` has no parameter `{wrong}`", cc.name());
                Err(OptionError { key: "cc_parameters", problem, known })
            }
        }
    }

    fn apply_words(&self, c: &mut Config) {
        fn set<T: Copy>(to: &mut T, from: Option<T>) {
            if let Some(v) = from {
                *to = v;
            }
        }
        set(&mut c.cc, self.cc);
        set(&mut c.recovery, self.recovery);
        let needs = c.cc.needs();
        if self.recovery.is_none() && needs.delivery_rate {
            c.recovery = RecoveryFlavour::Rack;
        }
        if matches!(c.recovery, RecoveryFlavour::Rack) || self.recovery == Some(RecoveryFlavour::Sack) {
            c.sack = true;
        }
        set(&mut c.dsack, self.dsack);
        set(&mut c.pacing, self.pacing);
        if let Some(mode) = needs.ecn.filter(|_| c.ecn != EcnMode::Accurate) {
            c.ecn = mode;
        }
        c.l4s |= needs.l4s;
        set(&mut c.ecn, self.ecn);
        set(&mut c.accecn_option, self.accecn_option);
        set(&mut c.l4s, self.l4s);
        if c.l4s || needs.pacing {
            // RFC 9331 section 4.3 asks an L4S sender to limit bursts: its queue marks what waits 1
            // ms.
            c.pacing = self.pacing.unwrap_or(true);
        }
        set(&mut c.sack, self.sack);
        set(&mut c.whole_segments, self.whole_segments);
        set(&mut c.timestamps, self.timestamps);
        set(&mut c.window_scaling, self.window_scaling);
        set(&mut c.sack_on_timeout, self.sack_on_timeout);
        set(&mut c.limited_transmit, self.limited_transmit);
        set(&mut c.bugfix, self.bugfix);
        set(&mut c.timer_on_fast_retransmit, self.timer_on_fast_retransmit);
        set(&mut c.timer_on_partial_ack, self.timer_on_partial_ack);
        set(&mut c.rto_leaves_recovery, self.rto_leaves_recovery);
        set(&mut c.recovery_exit, self.recovery_exit);
        set(&mut c.loss_detection, self.loss_detection);
        set(&mut c.host.loss_probes, self.loss_probe);
        set(&mut c.window_reduction, self.window_reduction);
        set(&mut c.host.acks, self.ack_rule);
        set(&mut c.nagle, self.nagle);
        set(&mut c.rtt_estimator, self.rtt_estimator);
        set(&mut c.rtt_sampling, self.rtt_sampling);
        set(&mut c.backoff_floor, self.backoff_floor);
        if let Some(gso) = self.gso {
            c.host.offload = gso.then_some(Offload::LINUX);
        }
        set(&mut c.kernel_clock, self.kernel_clock);
        set(&mut c.time_wait, self.time_wait);
        set(&mut c.initial_rto, self.initial_rto);
        set(&mut c.min_rto, self.min_rto);
        set(&mut c.max_rto, self.max_rto);
        set(&mut c.growth, self.growth);
        set(&mut c.ssthresh_basis, self.ssthresh_basis);
        set(&mut c.window_validation, self.window_validation);
        set(&mut c.idle_restart, self.idle_restart);
        set(&mut c.manual_read, self.manual_read);
        c.max_pacing_rate = self.max_pacing_rate.or(c.max_pacing_rate);
        c.max_retries = self.max_retries.or(c.max_retries);
        c.syn_retries = self.syn_retries.or(c.syn_retries);
    }

    fn apply_numbers(&self, c: &mut Config) -> Result<(), OptionError> {
        if let Some(mss) = self.mss {
            // Room for 40 octets of options and some data; 65535 less 40 octets of headers.
            c.mss = within("mss", mss.0, 64, 65_495, " B")? as u16;
        }
        let opens_with_data = c.cc.needs().opens_with_data == Some(c.profile);
        let filler = Bytes(if opens_with_data { c.mss.into() } else { 0 });
        c.syn_filler = within("syn_filler", self.syn_filler.unwrap_or(filler).0, 0, 65_495, " B")? as u32;
        if let Some(n) = self.initial_window {
            c.initial_window = Some(within("initial_window", n.into(), 1, 1000, "")? as u32);
        }
        if let Some(n) = self.max_window {
            c.max_window = Some(within("max_window", n.into(), 1, 1 << 24, "")? as u32);
            if self.profile == Profile::Ns2 {
                // ns-2: initial ssthresh = max window.
                c.initial_ssthresh = f64::from(n.max(2));
            }
        }
        if self.profile == Profile::Inet {
            // INET counts 65535 octets, whatever the segments.
            c.initial_ssthresh = 65_535.0 / f64::from(c.mss);
        }
        if let Some(n) = self.initial_ssthresh {
            if n.is_nan() || n < 2.0 {
                return refuse("initial_ssthresh", format!("{n} is below 2 segments"));
            }
            c.initial_ssthresh = n;
        }
        if let Some(b) = self.receive_buffer {
            c.receive_buffer = within("receive_buffer", b.0, 256, 1 << 30, " B")?;
            c.receive_tuning = false;
        }
        c.receive_tuning = self.receive_tuning.unwrap_or(c.receive_tuning);
        if let Some(b) = self.receive_buffer_start {
            c.receive_buffer_start = within("receive_buffer_start", b.0, 256, c.receive_buffer, " B")?;
        }
        // One that was not written gives way to a small ceiling.
        c.receive_buffer_start = c.receive_buffer_start.min(c.receive_buffer);
        if let Some(b) = self.send_buffer {
            c.send_buffer = Some(within("send_buffer", b.0, 1, 1 << 50, " B")?);
            c.send_tuning = false;
            if self.send_tuning == Some(true) {
                return refuse("send_tuning", "a `send_buffer` is fixed; write `send_buffer_max` instead");
            }
        }
        c.send_tuning = self.send_tuning.unwrap_or(c.send_tuning);
        if let Some(b) = self.send_buffer_max {
            c.send_buffer_max = within("send_buffer_max", b.0, 4096, 1 << 40, " B")?;
        }
        if let Some(b) = self.send_buffer_start {
            c.send_buffer_start = within("send_buffer_start", b.0, 4096, c.send_buffer_max, " B")?;
        }
        // One that was not written gives way to a small ceiling.
        c.send_buffer_start = c.send_buffer_start.min(c.send_buffer_max);
        if let Some(n) = self.dup_threshold {
            c.dup_threshold = within("dup_threshold", n.into(), 1, 255, "")? as u32;
        }
        if let Some(n) = self.ack_every {
            c.ack_every = within("ack_every", n.into(), 1, 64, "")? as u32;
        }
        if let Some(n) = self.quick_acks {
            c.quick_acks = within("quick_acks", n.into(), 0, 1000, "")? as u32;
        }
        if let Some(d) = self.ack_delay {
            if d > Duration::from_millis(500) {
                return refuse("ack_delay", format!("{d} is above the 500 ms of RFC 9293 section 3.8.6.3"));
            }
            c.ack_delay = d;
        }
        if let Some(d) = self.clock_granularity {
            if d < Duration::from_micros(1) {
                return refuse("clock_granularity", "a clock has a granularity of at least 1 us");
            }
            c.clock_granularity = d;
        }
        if let Some(n) = self.max_backoff {
            if !n.is_power_of_two() {
                return refuse("max_backoff", format!("{n} is not a power of two"));
            }
            c.max_backoff = n;
        }
        if let Some(n) = self.abc_limit {
            c.abc_limit = within("abc_limit", n.into(), 1, 64, "")? as u32;
        }
        Ok(())
    }

    fn apply_vegas(&self, c: &mut Config) -> Result<(), OptionError> {
        let v = &mut c.vegas;
        for (key, value, to) in [
            ("vegas_alpha", self.vegas_alpha, &mut v.alpha),
            ("vegas_beta", self.vegas_beta, &mut v.beta),
            ("vegas_gamma", self.vegas_gamma, &mut v.gamma),
        ] {
            let Some(n) = value else { continue };
            if !n.is_finite() || n < 0.0 {
                return refuse(key, format!("{n} is not a number of segments"));
            }
            *to = n;
        }
        v.rto = self.vegas_rto.unwrap_or(v.rto);
        v.base_start = self.vegas_base_start.unwrap_or(v.base_start);
        v.sample_order = self.vegas_sample_order.unwrap_or(v.sample_order);
        Ok(())
    }
}

impl Options {
    fn apply_algorithms(&self, c: &mut Config) -> Result<(), OptionError> {
        let cubic = &mut c.cubic;
        if let Some(beta) = self.cubic_beta {
            if !(0.1..=0.99).contains(&beta) {
                return refuse("cubic_beta", format!("{beta} is outside 0.1 to 0.99"));
            }
            cubic.beta = beta;
        }
        if let Some(n) = self.cubic_c {
            if !(n > 0.0 && n <= 10.0) {
                return refuse("cubic_c", format!("{n} is not above 0 and at most 10 segments/s^3"));
            }
            cubic.c = n;
        }
        if let Some(d) = self.hybla_rtt0 {
            if d.is_zero() {
                return refuse("hybla_rtt0", "a round trip of 0 s has no growth to imitate");
            }
            c.hybla_rtt0 = d;
        }
        if let Some(n) = self.hint_queue_threshold {
            c.hint.queue_threshold = within("hint_queue_threshold", n.0, 0, 1 << 30, " B")?;
        }
        if let Some(gain) = self.hint_gain {
            if !(gain > 0.0 && gain <= 10.0) {
                return refuse("hint_gain", format!("{gain} is not above 0 and at most 10"));
            }
            c.hint.gain = gain;
        }
        if let Some(d) = self.hint_timeout {
            if d.is_zero() {
                return refuse("hint_timeout", "no reading is younger than 0 s");
            }
            c.hint.timeout = Some(d);
        }
        c.hint.base = self.hint_base.unwrap_or(c.hint.base);
        if c.hint.base.algorithm().is_none_or(|a| a.needs.hints) {
            return refuse("hint_base", "name a built-in algorithm that needs no hints, such as `cubic`");
        }
        c.hint.rtt = self.hint_rtt.unwrap_or(c.hint.rtt);
        c.hint.queue_term = self.hint_queue_term.unwrap_or(c.hint.queue_term);
        cubic.reading = self.cubic_reading.unwrap_or(cubic.reading);
        cubic.fast_convergence = self.cubic_fast_convergence.unwrap_or(cubic.fast_convergence);
        cubic.friendliness = self.cubic_friendliness.unwrap_or(cubic.friendliness);
        cubic.abe = self.abe.unwrap_or(cubic.abe);
        if let Some(beta) = self.abe_beta {
            if !(0.5..=1.0).contains(&beta) {
                return refuse("abe_beta", format!("{beta} is outside 0.5 to 1"));
            }
            (cubic.abe_beta, c.reno_abe_beta) = (beta, beta);
        }
        c.vegas.reading = self.vegas_reading.unwrap_or(c.vegas.reading);
        c.hystart = self.hystart.unwrap_or(c.hystart);
        c.cc_reading = self.cc_reading.unwrap_or(c.cc_reading);
        c.westwood_reading = self.westwood_reading.unwrap_or(c.westwood_reading);
        c.zero_interval = self.zero_interval.unwrap_or(c.zero_interval);
        Ok(())
    }
}

/// What no key forbids alone.
fn check_together(c: &Config) -> Result<(), OptionError> {
    if c.min_rto > c.max_rto {
        return refuse("min_rto", format!("{} is above max_rto, {}", c.min_rto, c.max_rto));
    }
    if c.initial_rto.is_zero() || c.max_rto.is_zero() {
        return refuse("initial_rto", "a timeout of 0 s would fire for ever");
    }
    // A peer that is gone is asked again at this interval, for ever where nothing limits it.
    if c.max_rto < Duration::from_millis(1) {
        return refuse("max_rto", format!("{} is below 1 ms", c.max_rto));
    }
    if c.min_rto.is_zero() && c.rtt_estimator == RttEstimator::Rfc6298 && c.clock_granularity.is_zero() {
        return refuse("min_rto", "0 s needs a clock granularity above 0 s");
    }
    if c.l4s && !c.ecn.asks() {
        return refuse("l4s", "needs `ecn = \"accurate\"` or `\"on\"`: without ECN nothing is marked");
    }
    if c.vegas.alpha > c.vegas.beta {
        return refuse("vegas_alpha", format!("{} is above vegas_beta, {}", c.vegas.alpha, c.vegas.beta));
    }
    let control = c.control_at_work();
    if control.needs().delivery_rate && c.recovery != RecoveryFlavour::Rack {
        let name = control.name();
        return refuse(
            "cc",
            format!("`{name}` needs `recovery = \"rack\"`, which estimates the delivery rate"),
        );
    }
    if c.recovery == RecoveryFlavour::Sack && !c.sack && c.profile != Profile::Rfc {
        return refuse("recovery", "`sack` needs `sack = true`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_replaces_the_profile_and_errors_name_the_key() {
        let o = Options { mss: Some(Bytes(1000)), ..Options::default() };
        assert_eq!(o.resolve().unwrap().mss, 1000);
        let wrong = Options { mss: Some(Bytes(10)), ..Options::default() };
        assert_eq!(wrong.resolve().unwrap_err().to_string(), "`mss`: 10 B is outside 64 B to 65495 B");
        let cross = Options { min_rto: Some(Duration::from_secs(90)), ..Options::default() };
        assert_eq!(cross.resolve().unwrap_err().key, "min_rto");
    }

    #[test]
    fn options_are_read_as_a_scenario_writes_them() {
        let text = "profile = 'ns2'\ncc = 'vegas'\nrecovery = 'newreno'\nmss = '512 B'\nmin_rto = '200 ms'\n\
                    vegas_rto = 'fine'\nrtt_estimator = 'ns2-ticks'\nmax_pacing_rate = '2 Mbit/s'";
        let o: Options = toml::from_str(text).unwrap();
        let c = o.resolve().unwrap();
        assert_eq!((c.profile, c.cc, c.recovery), (Profile::Ns2, CcName::Vegas, RecoveryFlavour::NewReno));
        assert_eq!((c.mss, c.min_rto, c.vegas.rto), (512, Duration::from_millis(200), VegasRto::Fine));
        let typo = toml::from_str::<Options>("min_rtoo = '1 s'").unwrap_err().to_string();
        assert!(typo.contains("unknown field `min_rtoo`"), "{typo}");
        let word = toml::from_str::<Options>("cc = 'newreno'").unwrap().resolve().unwrap_err();
        assert!(word.known.contains(&"reno".into()) && word.known.contains(&"vegas".into()), "{word}");
        let word = toml::from_str::<Options>("cc = 'New Reno'").unwrap_err().to_string();
        assert!(word.contains("`reno`") && word.contains("`vegas`"), "{word}");
        assert_eq!(toml::from_str::<Options>(&toml::to_string(&o).unwrap()).unwrap(), o);
    }

    #[test]
    fn the_ns2_window_sets_its_initial_threshold_too() {
        let o = Options { profile: Profile::Ns2, max_window: Some(20), ..Options::default() };
        let c = o.resolve().unwrap();
        assert_eq!((c.max_window, c.initial_ssthresh), (Some(20), 20.0));
    }
}
