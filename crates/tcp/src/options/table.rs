//! The one table of what a scenario may write under `[flow.<name>.tcp]`: of each key its text, its
//! type, which values there are and where they go in [`Config`], how that of a profile prints, and
//! where the value of `rfc` comes from.
//!
//! From it come the fields of [`Options`], which stand in groups here and side by side in a
//! scenario, the schema, what reads, writes and applies them, and [`SETTINGS`].

use std::collections::BTreeMap;
use std::fmt;

use lasthop_units::{Bitrate, Bytes, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use super::{OptionError, refuse};
use crate::cc::CcName;
use crate::config::*;
use crate::host::{AckRule, Offload};
use crate::jiffies::KernelClock;
use crate::profile::Profile;
use crate::word::bare_word;

/// What the table says of a key that has a value in each profile.
pub struct Setting {
    /// The key under `[flow.x.tcp]`.
    pub key: &'static str,
    /// The group of options that it belongs to; empty: none.
    pub group: &'static str,
    /// Reads the value for display.
    pub value: fn(&Config) -> String,
    /// Where the `rfc` value comes from.
    pub rfc_source: &'static str,
}

impl Setting {
    /// The source of this value in `profile`: its own, or that of the profile it starts from.
    pub fn source(&self, profile: Profile) -> &'static str {
        let own = profile.sources().iter().find(|s| s.0 == self.key);
        match (own, profile.base()) {
            (Some(s), _) => s.1,
            (None, None) => self.rfc_source,
            (None, Some(Profile::Linux6)) => "as in `linux-6`",
            (None, Some(_)) => "as in `rfc`",
        }
    }
}

/// A bare enum prints as it is written in a scenario.
fn word<T: Serialize>(value: T) -> String {
    bare_word(&value)
}
fn or<T: ToString>(value: Option<T>, none: &str) -> String {
    value.map_or(none.to_owned(), |v| v.to_string())
}
fn on_off(value: bool) -> String {
    value.to_string()
}

/// Checks a value and puts it where it belongs; or what is wrong with it.
type Set<T> = fn(&mut Config, T) -> Result<(), String>;

fn within(value: u64, min: u64, max: u64, unit: &str) -> Result<u64, String> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(format!("{value}{unit} is outside {min}{unit} to {max}{unit}"))
}

/// A field of [`Config`] that takes a number in its own width, or may hold none.
trait Holds {
    fn hold(&mut self, value: u64);
}
macro_rules! holds {
    ($($number:ty),*) => {
        $(impl Holds for $number {
            fn hold(&mut self, value: u64) {
                // In range: the table says from where to where.
                *self = value as $number;
            }
        })*
    };
}
holds!(u16, u32, u64);
impl<T: Holds + Default> Holds for Option<T> {
    fn hold(&mut self, value: u64) {
        self.get_or_insert_default().hold(value);
    }
}

/// Any value goes there.
macro_rules! to {
    ($($place:ident).+) => {
        |c, value| {
            c.$($place).+ = value;
            Ok(())
        }
    };
}
/// Any value goes there; unset is none.
macro_rules! some {
    ($($place:ident).+) => {
        |c, value| {
            c.$($place).+ = Some(value);
            Ok(())
        }
    };
}
/// A number from `min` to `max`.
macro_rules! count {
    ($($place:ident).+, $min:expr, $max:expr) => {
        |c, value| {
            c.$($place).+.hold(within(value.into(), $min, $max, "")?);
            Ok(())
        }
    };
}
/// Octets from `min` to `max`.
macro_rules! octets {
    ($($place:ident).+, $min:expr, $max:expr) => {
        |c, value| {
            c.$($place).+.hold(within(value.0, $min, $max, " B")?);
            Ok(())
        }
    };
}
/// A value of which something holds; else what is wrong with it.
macro_rules! only {
    ($($place:ident).+, |$value:ident| $holds:expr, $problem:literal) => {
        |c, $value| {
            if !$holds {
                return Err(format!($problem));
            }
            c.$($place).+ = $value;
            Ok(())
        }
    };
}

macro_rules! options {
    (
        {$(
            $(#[doc = $head_doc:tt])*
            $(#[serde($($serde:tt)*)])?
            $(#[schemars($($schemars:tt)*)])?
            $head:ident: $head_type:ty $(, $head_value:expr, $head_source:expr)?;
        )*}
        $($(#[$group_doc:meta])* $group:ident: $Group:ident {
            $($(#[$doc:meta])* $key:ident: $type:ty, $set:expr, $value:expr, $source:expr;)*
        })*
    ) => {
        /// TCP options of a flow. A profile gives every value; what is written here replaces the
        /// profile's.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Options {
            $($(#[doc = $head_doc])* pub $head: $head_type,)*
            $($(#[$group_doc])* pub $group: $Group,)*
        }

        /// What is in no group, for the schema.
        #[derive(Default, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        #[schemars(
            rename = "Options",
            description = "TCP options of a flow. A profile gives every value; what is written here replaces the profile's.",
            extend("x-default-of-keys" = "the profile's")
        )]
        struct Head {
            $($(#[doc = $head_doc])* $(#[serde($($serde)*)])? $(#[schemars($($schemars)*)])? $head: $head_type,)*
        }

        $(
            $(#[$group_doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
            #[serde(default)]
            pub struct $Group {
                $($(#[$doc])* pub $key: Option<$type>,)*
            }
        )*

        /// Every key that has a value in each profile, in the order of the documentation.
        pub const SETTINGS: &[Setting] = &[
            $($(Setting {
                key: stringify!($head), group: "", value: $head_value, rfc_source: $head_source,
            },)?)*
            $($(Setting {
                key: stringify!($key), group: stringify!($group), value: $value, rfc_source: $source,
            },)*)*
        ];

        /// Every key.
        const KEYS: &[&str] = &[$(stringify!($head),)* $($(stringify!($key),)*)*];

        impl Options {
            /// The options write this key of a group.
            pub fn writes(&self, key: &str) -> bool {
                match key {
                    $($(stringify!($key) => self.$group.$key.is_some(),)*)*
                    _ => false,
                }
            }
            /// Puts what is written in groups into `c`, key by key in the order of the table.
            pub(super) fn apply_groups(&self, c: &mut Config) -> Result<(), OptionError> {
                $($(if let Some(value) = self.$group.$key {
                    let set: Set<$type> = $set;
                    set(c, value).or_else(|problem| refuse(stringify!($key), problem))?;
                })*)*
                Ok(())
            }
            fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
                match key {
                    $(stringify!($head) => self.$head = map.next_value()?,)*
                    $($(stringify!($key) => self.$group.$key = map.next_value()?,)*)*
                    _ => return Err(A::Error::unknown_field(key, KEYS)),
                }
                Ok(())
            }
            fn write_groups<S: SerializeStruct>(&self, out: &mut S) -> Result<(), S::Error> {
                $($(out.serialize_field(stringify!($key), &self.$group.$key)?;)*)*
                Ok(())
            }
            fn group_schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
                vec![$($Group::json_schema(generator)),*]
            }
        }
    };
}

options! {
    {
        /// The stack profile that all other values default to: `rfc`, `ns2`, `linux-6`,
        /// `linux-2.6.26`, `ns3-3.28`, `ns3-3.44` or `inet`; `lasthop describe profile NAME` prints
        /// one.
        profile: Profile;
        /// Congestion control algorithm: `reno` (RFC 5681), `cubic` (RFC 9438), `bbr`, `vegas`,
        /// ...; `lasthop describe cc` prints them all. Or the name under which one of your own was
        /// registered.
        cc: Option<CcName>, |c| word(c.cc), "RFC 5681";
        /// Parameters of a congestion control of your own, by name.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[schemars(extend("x-default-of-keys" = "the algorithm's"))]
        cc_parameters: BTreeMap<String, f64>;
        /// Loss recovery: `tahoe`, `reno`, `newreno` (RFC 6582), `sack` (RFC 6675) or `rack` (RFC
        /// 8985 with RFC 9937, as Linux; also what `cc = "bbr"` defaults to, because it estimates
        /// the delivery rate).
        recovery: Option<RecoveryFlavour>, |c| word(c.recovery), "RFC 6675";
    }
    /// Segments, and the window that a connection begins with.
    window: WindowOptions {
        /// Maximum segment size: octets of data and TCP options in one segment (RFC 6691), 64 B to
        /// 65495 B.
        mss: Bytes,
            octets!(window.mss, 64, 65_495),
            |c| format!("{} B", c.window.mss),
            "Ethernet's 1500 B less 40 B of headers";
        /// Initial congestion window in segments, 1 to 1000. Unset in `rfc`: min(10 MSS, max(2 MSS,
        /// 14600 B)) (RFC 6928).
        initial_window: u32,
            count!(window.initial_window, 1, 1000),
            |c| or(c.window.initial_window, "min(10 MSS, max(2 MSS, 14600 B))"),
            "RFC 6928 section 2";
        /// Initial slow-start threshold in segments, at least 2.
        initial_ssthresh: f64,
            |c, n| {
                if n.is_nan() || n < 2.0 {
                    return Err(format!("{n} is below 2 segments"));
                }
                c.window.initial_ssthresh = InitialSsthresh::Segments(n);
                Ok(())
            },
            |c| c.initial_ssthresh().to_string(),
            "RFC 5681 section 3.1: arbitrarily high";
        /// Ceiling of the congestion window in segments, at least 1.
        max_window: u32,
            count!(window.max_window, 1, 1 << 24),
            |c| or(c.window.max_window, "unlimited"),
            "not limited";
        /// Whether the window counts whole segments only (ns-2) instead of octets (RFC 5681).
        whole_segments: bool,
            to!(window.whole_segments),
            |c| on_off(c.window.whole_segments),
            "RFC 5681 counts octets";
    }
    /// Buffers of the receiver and of the sender.
    buffers: BufferOptions {
        /// Receive buffer: the largest window the receiver offers, 256 B to 1 GiB. Above 64 KiB it
        /// needs window scaling.
        receive_buffer: Bytes,
            |c, b| {
                c.buffers.receive_tuning = false;
                c.buffers.receive_buffer = within(b.0, 256, 1 << 30, " B")?;
                Ok(())
            },
            |c| format!("{} B", c.buffers.receive_buffer),
            "Linux' default maximum of tcp_rmem, 6 MiB: no RFC value";
        /// The receive buffer grows with what the application reads per round trip (dynamic
        /// right-sizing, Linux' `tcp_moderate_rcvbuf`), from `receive_buffer_start` up to
        /// `receive_buffer`. A `receive_buffer` that is written alone is fixed, as SO_RCVBUF is.
        /// Both are octets of window: half of Linux' `tcp_rmem`.
        receive_tuning: bool,
            to!(buffers.receive_tuning),
            |c| on_off(c.buffers.receive_tuning),
            "no RFC asks for it";
        /// With `receive_tuning`: what the receive buffer starts from, 256 B up to
        /// `receive_buffer`.
        receive_buffer_start: Bytes,
            |c, b| {
                c.buffers.receive_buffer_start = within(b.0, 256, c.buffers.receive_buffer, " B")?;
                Ok(())
            },
            |c| format!("{} B", c.buffers.receive_buffer_start),
            "with `receive_tuning`: half of Linux' default of tcp_rmem, 131072 (net.ipv4.tcp_adv_win_scale 1)";
        /// Send buffer: how much the application may write ahead of the ACKs, at least 1 B. Unset:
        /// unlimited, or what `send_tuning` makes of it. A `send_buffer` that is written is fixed,
        /// as SO_SNDBUF is.
        send_buffer: Bytes,
            |c, b| {
                c.buffers.send_tuning = false;
                c.buffers.send_buffer = Some(within(b.0, 1, 1 << 50, " B")?);
                Ok(())
            },
            |c| or(c.buffers.send_buffer, "unlimited, or `send_tuning`"),
            "no RFC value";
        /// Without `send_buffer`: the send buffer counts memory, as Linux does (each octet written
        /// and not acknowledged, and 1280 octets for each packet that holds some), starts from
        /// `send_buffer_start` and grows up to `send_buffer_max` where it keeps the congestion
        /// window from being filled. An application that filled it writes again when a third is
        /// free.
        send_tuning: bool,
            to!(buffers.send_tuning),
            |c| on_off(c.buffers.send_tuning),
            "no RFC asks for it";
        /// With `send_tuning`: initial size of the send buffer, 4096 B up to `send_buffer_max` (the
        /// default of Linux' `tcp_wmem`); at least the memory of twice ten segments once the
        /// connection is established.
        send_buffer_start: Bytes,
            octets!(buffers.send_buffer_start, 4096, 1 << 40),
            |c| format!("{} B", c.buffers.send_buffer_start),
            "with `send_tuning`: Linux' tcp_wmem";
        /// With `send_tuning`: largest size of the send buffer, at least 4096 B (the maximum of
        /// Linux' `tcp_wmem`).
        send_buffer_max: Bytes,
            octets!(buffers.send_buffer_max, 4096, 1 << 40),
            |c| format!("{} B", c.buffers.send_buffer_max),
            "with `send_tuning`: Linux' tcp_wmem";
        /// Cut written data into packets of two and more segments. They leave together, the last
        /// with PSH, and wait for more space in the congestion window: Linux' TCP since 4.17, over
        /// any device (`generic segmentation offload`). With `recovery = "rack"` only; elsewhere
        /// segments leave one by one.
        gso: bool,
            |c, on| {
                c.host.offload = on.then_some(Offload::LINUX);
                Ok(())
            },
            |c| on_off(c.host.offload.is_some()),
            "no RFC asks for it";
    }
    /// What the handshake offers.
    negotiated: NegotiatedOptions {
        /// Offer timestamps (RFC 7323): 12 octets in each segment, RTT samples from retransmitted
        /// data too, PAWS.
        timestamps: bool,
            to!(negotiated.timestamps),
            |c| on_off(c.negotiated.timestamps),
            "RFC 7323";
        /// Offer window scaling (RFC 7323 section 2).
        window_scaling: bool,
            to!(negotiated.window_scaling),
            |c| on_off(c.negotiated.window_scaling),
            "RFC 7323";
        /// Offer selective acknowledgements (RFC 2018).
        sack: bool,
            to!(negotiated.sack),
            |c| on_off(c.negotiated.sack),
            "RFC 2018";
    }
    /// How lost segments are found and sent again.
    loss: LossOptions {
        /// SACK information at a retransmission timeout: `keep` (RFC 6675 section 5.1) or `clear`
        /// (RFC 2018 section 8).
        sack_on_timeout: SackOnTimeout,
            to!(loss.sack_on_timeout),
            |c| word(c.loss.sack_on_timeout),
            "RFC 6675 section 5.1";
        /// Duplicate ACKs that mean a loss, 1 to 255 (RFC 5681 section 3.2: 3).
        dup_threshold: u32,
            count!(loss.dup_threshold, 1, 255),
            |c| c.loss.dup_threshold.to_string(),
            "RFC 5681 section 3.2";
        /// Send new data on the first two duplicate ACKs (RFC 3042).
        limited_transmit: bool,
            to!(loss.limited_transmit),
            |c| on_off(c.loss.limited_transmit),
            "RFC 3042";
        /// Forbid a second fast retransmit within one window of data (RFC 6582 section 3.2; ns-2
        /// `bugFix_`).
        bugfix: bool,
            to!(loss.bugfix),
            |c| on_off(c.loss.bugfix),
            "RFC 6582 section 3.2 step 2";
        /// Restart the retransmission timer at a fast retransmit (ns-2 does, RFC 6298 does not say
        /// so).
        timer_on_fast_retransmit: bool,
            to!(loss.timer_on_fast_retransmit),
            |c| on_off(c.loss.timer_on_fast_retransmit),
            "RFC 6298 section 5 restarts it at ACKs of new data only";
        /// Which partial ACKs restart the timer in NewReno's recovery (RFC 6582 section 4):
        /// `first-only` or `every`.
        timer_on_partial_ack: TimerOnPartialAck,
            to!(loss.timer_on_partial_ack),
            |c| word(c.loss.timer_on_partial_ack),
            "RFC 6582 section 3.2 step 5";
        /// A retransmission timeout ends NewReno's fast recovery (RFC 6582). `false`: the oldest
        /// segment is sent again, one hole per round trip goes on with a window of one segment, and
        /// slow start follows the full ACK (the D2D study's reading).
        rto_leaves_recovery: bool,
            to!(loss.rto_leaves_recovery),
            |c| on_off(c.loss.rto_leaves_recovery),
            "RFC 6582 section 3.2 step 6";
        /// The window at the end of Reno's and NewReno's recovery: `deflate` (RFC 6582) or `keep`
        /// (ns-2: ssthresh, and the ACK grows it).
        recovery_exit: RecoveryExit,
            to!(loss.recovery_exit),
            |c| word(c.loss.recovery_exit),
            "RFC 6582 section 3.2 step 3, option 1";
        /// How `recovery = "rack"` finds losses: `rack` (by time, RFC 8985) or `fack` (by count,
        /// Linux up to 4.15).
        loss_detection: LossDetection,
            to!(loss.loss_detection),
            |c| word(c.loss.loss_detection),
            "RFC 8985, with `recovery = rack`";
        /// Tail loss probes with `recovery = "rack"` (RFC 8985 section 7).
        loss_probe: bool,
            to!(host.loss_probes),
            |c| on_off(c.host.loss_probes),
            "RFC 8985 section 7, with `recovery = rack`";
        /// How `recovery = "rack"` brings the window down: `prr` (RFC 9937) or `rate-halving`
        /// (Linux up to 3.1).
        window_reduction: WindowReduction,
            to!(loss.window_reduction),
            |c| word(c.loss.window_reduction),
            "RFC 9937, with `recovery = rack`";
    }
    /// When small segments and ACKs leave.
    acks: AckOptions {
        /// Nagle's algorithm: hold back small segments while data is outstanding (RFC 9293 section
        /// 3.7.4).
        nagle: bool,
            to!(acks.nagle),
            |c| on_off(c.acks.nagle),
            "RFC 9293 section 3.7.4";
        /// Full-sized segments per ACK, 1 (no delayed ACK) to 64; RFC 5681 section 4.2 requires at
        /// most 2.
        ack_every: u32,
            count!(acks.ack_every, 1, 64),
            |c| c.acks.ack_every.to_string(),
            "RFC 5681 section 4.2";
        /// What makes an ACK due before its delay is over: `octets` (of `ack_every` full segments),
        /// `segments` (`ack_every` of any size), or `linux` with its heuristics: `ack_every` is not
        /// used then, `quick_acks` bounds each budget of quick ACKs, and `ack_delay` is where the
        /// estimate of the ACK timeout begins.
        ack_rule: AckRule,
            to!(host.acks),
            |c| word(c.host.acks),
            "RFC 5681 section 4.2: full-sized segments";
        /// Segments acknowledged one by one at the start of a connection, 0 to 1000 (Linux: 16).
        quick_acks: u32,
            count!(acks.quick_acks, 0, 1000),
            |c| c.acks.quick_acks.to_string(),
            "RFC 9293 section 3.8.6.3 asks for none";
        /// Report duplicate segments to the sender (RFC 2883).
        dsack: bool,
            to!(acks.dsack),
            |c| on_off(c.acks.dsack),
            "RFC 2883 is optional";
        /// Longest time an ACK is delayed, up to 500 ms (RFC 9293 section 3.8.6.3).
        ack_delay: Duration,
            only!(acks.ack_delay, |d| d <= Duration::from_millis(500), "{d} is above the 500 ms of RFC 9293 section 3.8.6.3"),
            |c| c.acks.ack_delay.to_string(),
            "RFC 9293 section 3.8.6.3 allows 500 ms; 200 ms is usual";
    }
    /// Round-trip times, timers and their limits.
    timers: TimerOptions {
        /// Arithmetic of the RTT estimate: `rfc6298`, `linux`, `per-sample` (ns-3), `inet` or
        /// `ns2-ticks`.
        rtt_estimator: RttEstimator,
            to!(timers.rtt_estimator),
            |c| word(c.timers.rtt_estimator),
            "RFC 6298 section 2";
        /// RTT samples: from `every-ack` of new data or from `one-segment` at a time.
        rtt_sampling: RttSampling,
            to!(timers.rtt_sampling),
            |c| word(c.timers.rtt_sampling),
            "RFC 7323 section 4";
        /// Clock granularity G of RFC 6298, or the tick of `ns2-ticks`; at least 1 us.
        clock_granularity: Duration,
            only!(
                timers.clock_granularity,
                |d| d >= Duration::from_micros(1),
                "a clock has a granularity of at least 1 us"
            ),
            |c| c.timers.clock_granularity.to_string(),
            "no RFC value; below 100 ms is advised";
        /// The clock of the timers: `exact`, or the ticks of a Linux kernel, `hz-1000`, `hz-250` or
        /// `hz-100`. With ticks a wait is rounded up to whole ticks and ends at the next slot of
        /// the kernel's timer wheel: up to a tick late for waits below 63 ticks, up to 8 ticks
        /// below 504, up to 64 below 4032. The timers are those of RTO, loss probes, RACK's
        /// reordering window, delayed ACKs, window probes and TIME-WAIT; pacing is exact.
        kernel_clock: KernelClock,
            to!(timers.kernel_clock),
            |c| word(c.timers.kernel_clock),
            "no RFC asks for ticks";
        /// Retransmission timeout before the first RTT sample (RFC 6298: 1 s; ns-2: 6 s).
        initial_rto: Duration,
            to!(timers.initial_rto),
            |c| c.timers.initial_rto.to_string(),
            "RFC 6298 (2.1)";
        /// Floor of the retransmission timeout (RFC 6298: 1 s; Linux: 200 ms).
        min_rto: Duration,
            to!(timers.min_rto),
            |c| c.timers.min_rto.to_string(),
            "RFC 6298 (2.4)";
        /// Ceiling of the retransmission timeout, at least 1 ms (RFC 6298: at least 60 s).
        max_rto: Duration,
            to!(timers.max_rto),
            |c| c.timers.max_rto.to_string(),
            "RFC 6298 (2.5): at least 60 s";
        /// Largest factor of the exponential back-off, a power of two (ns-2: 64).
        max_backoff: u32,
            only!(timers.max_backoff, |n| n.is_power_of_two(), "{n} is not a power of two"),
            |c| c.timers.max_backoff.to_string(),
            "RFC 6298 bounds the RTO, not the factor";
        /// Apply the floor of the RTO `before` or `after` the back-off.
        backoff_floor: BackoffFloor,
            to!(timers.backoff_floor),
            |c| word(c.timers.backoff_floor),
            "RFC 6298 (2.4) then (5.5)";
        /// Timeouts in a row after which the connection is aborted (RFC 9293 section 3.8.3).
        max_retries: u32,
            some!(timers.max_retries),
            |c| or(c.timers.max_retries, "never"),
            "RFC 9293 section 3.8.3: R2 at least 100 s; 15 is usual";
        /// Timeouts of the SYN in a row after which the connection is aborted.
        syn_retries: u32,
            some!(timers.syn_retries),
            |c| or(c.timers.syn_retries, "never"),
            "RFC 9293 section 3.8.3: R2 of a SYN at least 3 minutes (1+2+4+...+60 s is less by seconds only beyond 6)";
        /// Filler on the SYN of the end that opens, 0 B to 65495 B; the peer acknowledges the SYN
        /// alone, so the data is sent in the first window. The default is `0 B`, but one segment in
        /// `ns2` with `cc = "vegas"`: ns-2's Vegas agent ignores `syn_` and opens with a whole data
        /// packet, whose round trip becomes its baseRTT.
        syn_filler: Bytes,
            octets!(timers.syn_filler, 0, 65_495),
            |c| format!("{} B", c.timers.syn_filler),
            "a SYN carries no data";
        /// How long TIME-WAIT lasts: two maximum segment lifetimes (RFC 9293 section 3.4.2).
        time_wait: Duration,
            to!(timers.time_wait),
            |c| c.timers.time_wait.to_string(),
            "RFC 9293 section 3.4.2: 2 MSL of 2 minutes";
    }
    /// How the window grows, and how data is spaced out and read.
    growth: GrowthOptions {
        /// What makes the window grow: `bytes` acknowledged (RFC 5681, 3465) or `acks` (ns-2).
        growth: Growth,
            to!(growth.growth),
            |c| word(c.growth.growth),
            "RFC 5681 section 3.1";
        /// Limit L of appropriate byte counting in segments, 1 to 64 (RFC 5681: 1; RFC 3465: up to
        /// 2).
        abc_limit: u32,
            count!(growth.abc_limit, 1, 64),
            |c| or((c.growth.abc_limit != u32::MAX).then_some(c.growth.abc_limit), "unlimited"),
            "RFC 5681 equation 2; RFC 3465 allows 2";
        /// FlightSize when ssthresh is computed: `flight` (RFC 5681), `window` (ns-2, INET) or
        /// `cwnd` (Linux).
        ssthresh_basis: SsthreshBasis,
            to!(growth.ssthresh_basis),
            |c| word(c.growth.ssthresh_basis),
            "RFC 5681 equation 4";
        /// Grow the window only while it is what limits the sender.
        window_validation: bool,
            to!(growth.window_validation),
            |c| on_off(c.growth.window_validation),
            "RFC 7661 in spirit: no growth while not limited by cwnd";
        /// Fall back to the initial window after an idle time of one RTO (RFC 5681 section 4.1).
        idle_restart: bool,
            to!(growth.idle_restart),
            |c| on_off(c.growth.idle_restart),
            "RFC 5681 section 4.1";
        /// Space data out at the window per round trip, twice that early in slow start, 120 % after
        /// (Linux under the fq scheduler). BBR paces without it; `l4s = true`, `prague` and
        /// `radio-aware` have it on unless it is `false`.
        pacing: bool,
            to!(growth.pacing),
            |c| on_off(c.growth.pacing),
            "no RFC asks for it";
        /// Ceiling of the sending rate, data and TCP header counted, like Linux'
        /// SO_MAX_PACING_RATE. Unset: not paced.
        max_pacing_rate: Bitrate,
            some!(growth.max_pacing_rate),
            |c| or(c.growth.max_pacing_rate, "not paced"),
            "no RFC value";
        /// The application reads by calls of its own, so that the window can close; otherwise it
        /// reads at once.
        manual_read: bool,
            to!(growth.manual_read),
            |c| on_off(c.growth.manual_read),
            "the application reads at once";
    }
    /// Parameters of Vegas.
    vegas: VegasOptions {
        /// Vegas: grow below this many extra segments in the network (ns-2 v_alpha: 1).
        vegas_alpha: f64,
            only!(vegas.alpha, |n| n.is_finite() && n >= 0.0, "{n} is not a number of segments"),
            |c| c.vegas.alpha.to_string(),
            "as ns-2";
        /// Vegas: shrink above this many extra segments in the network (ns-2 v_beta: 3).
        vegas_beta: f64,
            only!(vegas.beta, |n| n.is_finite() && n >= 0.0, "{n} is not a number of segments"),
            |c| c.vegas.beta.to_string(),
            "as ns-2";
        /// Vegas: leave slow start above this many extra segments in the network (ns-2 v_gamma: 1).
        vegas_gamma: f64,
            only!(vegas.gamma, |n| n.is_finite() && n >= 0.0, "{n} is not a number of segments"),
            |c| c.vegas.gamma.to_string(),
            "as ns-2";
        /// Vegas' retransmission timer: `coarse` (the ordinary RTO) or `fine` (the fine-grained
        /// timeout, no minimum).
        vegas_rto: VegasRto,
            to!(vegas.rto),
            |c| word(c.vegas.rto),
            "as ns-2";
        /// What Vegas' baseRTT starts from: the absolute `clock` at the first ACK (ns-2) or the
        /// first `sample`.
        vegas_base_start: VegasBaseStart,
            to!(vegas.base_start),
            |c| word(c.vegas.base_start),
            "the sane reading";
        /// Whether the deciding ACK's RTT sample is counted `after-decision` (ns-2) or
        /// `before-decision`.
        vegas_sample_order: VegasSampleOrder,
            to!(vegas.sample_order),
            |c| word(c.vegas.sample_order),
            "as ns-2";
        /// Whose Vegas: `ns2` or `linux` (once per round by the smallest round trip; ns-3's too).
        vegas_reading: VegasReading,
            to!(vegas.reading),
            |c| word(c.vegas.reading),
            "as ns-2";
    }
    /// Parameters of CUBIC.
    cubic: CubicOptions {
        /// Whose CUBIC: `rfc9438` or `linux` (whole segments, a look at most every 1/32 s).
        cubic_reading: CubicReading,
            to!(cubic.reading),
            |c| word(c.cubic.reading),
            "RFC 9438";
        /// CUBIC: what is left of the window after a loss, 0.1 to 0.99 (RFC 9438: 0.7; Linux before
        /// 2.6.26: 0.8).
        cubic_beta: f64,
            only!(cubic.beta, |n| (0.1..=0.99).contains(&n), "{n} is outside 0.1 to 0.99"),
            |c| c.cubic.beta.to_string(),
            "RFC 9438 section 4.6";
        /// CUBIC: C in segments/s^3, above 0 and at most 10 (RFC 9438: 0.4).
        cubic_c: f64,
            only!(cubic.c, |n| n > 0.0 && n <= 10.0, "{n} is not above 0 and at most 10 segments/s^3"),
            |c| c.cubic.c.to_string(),
            "RFC 9438 section 5.1";
        /// CUBIC: a loss below the last maximum lowers it further (RFC 9438 section 4.7).
        cubic_fast_convergence: bool,
            to!(cubic.fast_convergence),
            |c| on_off(c.cubic.fast_convergence),
            "RFC 9438 section 4.7";
        /// CUBIC: never slower than Reno (RFC 9438 section 4.3).
        cubic_friendliness: bool,
            to!(cubic.friendliness),
            |c| on_off(c.cubic.friendliness),
            "RFC 9438 section 4.3";
    }
    /// Explicit congestion notification.
    ecn: EcnOptions {
        /// A congestion mark costs Reno and CUBIC less than a loss (RFC 8511).
        abe: bool,
            to!(cubic.abe),
            |c| on_off(c.cubic.abe),
            "RFC 8511 is experimental";
        /// With `abe`: what stays of the window after a mark, 0.5 to 1 (RFC 8511: 0.8 for Reno,
        /// 0.85 for CUBIC).
        abe_beta: f64,
            |c, beta| {
                if !(0.5..=1.0).contains(&beta) {
                    return Err(format!("{beta} is outside 0.5 to 1"));
                }
                (c.cubic.abe_beta, c.ecn.reno_abe_beta) = (beta, beta);
                Ok(())
            },
            |c| format!("{} (reno), {} (cubic)", c.ecn.reno_abe_beta, c.cubic.abe_beta),
            "RFC 8511 section 3.1";
        /// Explicit congestion notification (RFC 3168), Linux' `tcp_ecn`: `off` (0), `on` (1: ask
        /// and accept), `passive` (2: accept only), `accurate` (3: ask for AccECN, RFC 9768),
        /// `accurate-in` (4: accept AccECN, ask for RFC 3168) or `accurate-passive` (5: accept
        /// AccECN, ask for nothing). `cc = "dctcp"` asks for it by itself.
        ecn: EcnMode,
            to!(ecn.mode),
            |c| word(c.ecn.mode),
            "RFC 3168 leaves it open";
        /// When the AccECN option is sent, Linux' `tcp_ecn_option`: `off` (0), `minimum` (1: when
        /// counters change, and three times a round trip) or `full` (2: in every segment; data
        /// segments keep 12 octets for it).
        accecn_option: AccEcnOption,
            to!(ecn.accecn_option),
            |c| word(c.ecn.accecn_option),
            "RFC 9768 section 3.2.3 recommends it";
        /// Send data as ECT(1), for the low-latency queue of `dualpi2` (RFC 9331), instead of
        /// ECT(0). It needs a congestion control that responds to the share of marks: `dctcp`, or
        /// `prague`, which asks for it by itself.
        l4s: bool,
            to!(ecn.l4s),
            |c| on_off(c.ecn.l4s),
            "RFC 9331 is experimental";
    }
    /// What several algorithms share.
    readings: ReadingOptions {
        /// What ends CUBIC's slow start before a loss: `none`, `linux` (HyStart), `ns3` (HyStart as
        /// ns-3 has it) or `rfc9406` (HyStart++).
        hystart: HyStartKind,
            to!(readings.hystart),
            |c| word(c.readings.hystart),
            "RFC 9438 section 4.10 allows RFC 9406";
        /// Whose reading of algorithms without a standard: `paper`, or `linux` with its arithmetic
        /// (Hybla starts with rho segments, LP takes delays from timestamps).
        cc_reading: CcReading,
            to!(readings.cc_reading),
            |c| word(c.readings.cc_reading),
            "the papers: no RFC";
    }
    /// Parameters of Westwood.
    westwood: WestwoodOptions {
        /// Whose Westwood: `paper` or `linux` (one sample per round trip, the window set when
        /// recovery ends).
        westwood_reading: WestwoodReading,
            to!(westwood.reading),
            |c| word(c.westwood.reading),
            "the papers: no RFC";
        /// What Westwood makes of two ACKs at the same instant: a sample of `zero`, `skip` it, or
        /// `merge` it with the next.
        zero_interval: ZeroInterval,
            to!(westwood.zero_interval),
            |c| word(c.westwood.zero_interval),
            "D2D study section 1.4";
    }
    /// Parameters of the controls that hear capacity hints.
    hint: HintOptions {
        /// `radio-aware`: the algorithm that takes over without hints, any built-in one but itself.
        hint_base: CcName,
            only!(
                hint.base,
                |base| base.algorithm().is_some_and(|a| !a.needs.hints),
                "name a built-in algorithm that needs no hints, such as `cubic`"
            ),
            |c| word(c.hint.base),
            "the contribution's \"normal\" TCP; no RFC";
        /// `radio-aware`: the round trip in its window, `min` (of the last 10 s), `srtt` (smoothed)
        /// or `predicted` (smoothed, less the time that the reported queue takes at the reported
        /// rate).
        hint_rtt: HintRtt,
            to!(hint.rtt),
            |c| word(c.hint.rtt),
            "no RFC: a round trip with queueing would count the queue twice";
        /// `radio-aware`: the window has the queue term gain * (threshold - queue).
        hint_queue_term: bool,
            to!(hint.queue_term),
            |c| on_off(c.hint.queue_term),
            "no RFC: TR 36.933's contribution";
        /// `radio-aware`: the layer-2 queue aimed at, up to 1 GiB.
        hint_queue_threshold: Bytes,
            octets!(hint.queue_threshold, 0, 1 << 30),
            |c| format!("{} B", c.hint.queue_threshold),
            "no RFC: half a buffer of 60 kB";
        /// `radio-aware`: gain of the queue term, above 0 and at most 10.
        hint_gain: f64,
            only!(hint.gain, |n| n > 0.0 && n <= 10.0, "{n} is not above 0 and at most 10"),
            |c| c.hint.gain.to_string(),
            "no RFC: TR 36.933's contribution, reconstructed";
        /// `radio-aware`: how old a reading may be before the base algorithm takes over, above 0 s.
        /// Unset: a smoothed round trip, at least 2.5 periods of the hints.
        hint_timeout: Duration,
            |c, d| {
                if d.is_zero() {
                    return Err("no reading is younger than 0 s".into());
                }
                c.hint.timeout = Some(d);
                Ok(())
            },
            |c| or(c.hint.timeout, "a smoothed round trip, at least 2.5 periods"),
            "no RFC value";
    }
    /// Parameters of Hybla.
    hybla: HyblaOptions {
        /// Hybla: the round trip whose growth is imitated, above 0 s (Linux 25 ms, ns-3 50 ms).
        hybla_rtt0: Duration,
            only!(hybla.rtt0, |d| !d.is_zero(), "a round trip of 0 s has no growth to imitate"),
            |c| c.hybla.rtt0.to_string(),
            "Caini and Firrincieli 2004";
    }
}

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Options", KEYS.len())?;
        out.serialize_field("profile", &self.profile)?;
        out.serialize_field("cc", &self.cc)?;
        if self.cc_parameters.is_empty() {
            out.skip_field("cc_parameters")?;
        } else {
            out.serialize_field("cc_parameters", &self.cc_parameters)?;
        }
        out.serialize_field("recovery", &self.recovery)?;
        self.write_groups(&mut out)?;
        out.end()
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Options, D::Error> {
        deserializer.deserialize_struct("Options", KEYS, Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Options;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct Options")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
        let mut options = Options::default();
        while let Some(Key(key)) = map.next_key()? {
            options.read(key, &mut map)?;
        }
        Ok(options)
    }
}

/// One of [`KEYS`].
struct Key(&'static str);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        struct Word;
        impl Visitor<'_> for Word {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("field identifier")
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Key, E> {
                let known = KEYS.iter().copied().find(|key| *key == word);
                known.map(Key).ok_or_else(|| E::unknown_field(word, KEYS))
            }
        }
        deserializer.deserialize_identifier(Word)
    }
}

impl JsonSchema for Options {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Head::schema_name()
    }
    fn schema_id() -> std::borrow::Cow<'static, str> {
        concat!(module_path!(), "::Options").into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Head::json_schema(generator);
        let groups = Options::group_schemas(generator);
        if let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut()) {
            for mut group in groups {
                if let Some(more) = group.get_mut("properties").and_then(|p| p.as_object_mut()) {
                    properties.append(more);
                }
            }
        }
        schema
    }
}
