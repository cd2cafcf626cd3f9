//! Congestion control: how much may be in flight, and how fast. Never what is sent: that is
//! [`recovery`](crate::recovery)'s.
//!
//! One file per algorithm behind [`CongestionControl`]; one table, [`ALGORITHMS`], names them all. To add one:
//! write its file, add a row to the table, a name to [`CcName`] and an arm to [`Cc`]. Most keep a [`Window`] and say
//! only by how much it moves. An algorithm from outside this crate comes as a [`Definition`].

mod abc;
mod bbr;
mod bic;
mod cdg;
mod cubic;
mod custom;
mod dctcp;
mod guided;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod illinois;
mod ledbat;
mod lp;
mod marks;
mod name;
mod nv;
mod prague;
mod radio_aware;
mod random;
mod readings;
mod reno;
mod scalable;
#[cfg(test)]
mod testing;
mod unlimited;
mod vegas;
mod vegas_linux;
mod veno;
mod westwood;
mod window;
mod yeah;

pub use abc::Abc;
pub use bbr::{Bbr, Bbr3};
pub use bic::Bic;
pub use cdg::Cdg;
pub use cubic::{Cubic, cubic_k, cubic_window};
pub use custom::{
    ControlKind, Controls, CustomControl, Definition, DefinitionError, Fault, OwnParameter, Place, Setup,
};
pub use dctcp::Dctcp;
pub use guided::Guided;
pub use highspeed::HighSpeed;
pub use htcp::{Htcp, htcp_growth};
pub use hybla::Hybla;
pub use hystart::{HyStart, HyStartPlusPlus, Phase, SlowStartExit};
pub use illinois::Illinois;
pub use ledbat::Ledbat;
pub use lp::Lp;
pub use name::{CcName, CustomName};
pub use nv::Nv;
pub use prague::Prague;
pub use radio_aware::RadioAware;
pub use reno::Reno;
pub use scalable::Scalable;
pub use unlimited::Unlimited;
pub use vegas::{Vegas, vegas_extra_segments};
pub use vegas_linux::VegasLinux;
pub use veno::Veno;
pub use westwood::Westwood;
pub use window::{Round, Window};
pub use yeah::Yeah;

use lasthop_units::{Bitrate, Duration, Instant};

use crate::config::{Config, VegasReading};
pub use crate::hint::{Hint, Notice};
use crate::recovery::CaState;
use crate::segment::Timestamps;

/// How fast data was delivered between two moments of a connection (the delivery-rate estimate that BBR rests on).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Octets delivered over the interval.
    pub delivered: u64,
    /// The longer of the time it took to send and to acknowledge them; zero: no sample.
    pub interval: Duration,
    /// Octets that had been delivered when the newest of them was sent.
    pub prior_delivered: u64,
    /// Octets in flight before the ACK.
    pub prior_in_flight: u64,
    /// Octets in flight when the newest of them was sent, itself included.
    pub sent_in_flight: u64,
    /// Octets lost since then.
    pub lost: u64,
    /// The sender had run out of data, so the rate may be below the path's.
    pub app_limited: bool,
}

/// A lost segment: what was in flight when it was sent, itself included, and what was lost since, itself included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossSample {
    /// Octets.
    pub sent_in_flight: u64,
    /// Octets.
    pub lost: u64,
}

/// What an ACK tells. Counts are of octets, offsets of the sender's stream (0 is the SYN).
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// When the ACK arrived.
    pub now: Instant,
    /// Octets newly acknowledged cumulatively; 0 for an ACK that only brings SACK news.
    pub acked: u64,
    /// Octets newly known to have arrived: acknowledged and not SACKed before, or SACKed.
    pub delivered: u64,
    /// Octets by which SND.UNA moved, those SACKed before included (Linux: `pkts_acked`).
    pub passed: u64,
    /// Octets delivered since the newest segment of this ACK was sent: what was in flight then.
    pub delivered_since_sent: u64,
    /// Octets delivered since the start.
    pub total_delivered: u64,
    /// Octets newly taken for lost.
    pub lost: u64,
    /// Of the segments newly lost the first since whose sending more than 2 % of the flight were lost (BBR), else the last.
    pub loss: Option<LossSample>,
    /// Of `delivered`, the octets that met a congestion mark (ECN).
    pub marked: u64,
    /// Octets in flight after the ACK.
    pub in_flight: u64,
    /// SND.UNA after the ACK.
    pub una: u64,
    /// SND.NXT when the ACK arrived, before anything new is sent.
    pub nxt: u64,
    /// Octets in flight before the ACK.
    pub flight_before: u64,
    /// Sender's segment size \[octets\].
    pub mss: u32,
    /// Round trip of the newest segment acknowledged, if that was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed round trip.
    pub srtt: Option<Duration>,
    /// Delivery rate, where it is estimated.
    pub rate: Option<RateSample>,
    /// The sender's state before the ACK. Linux calls an algorithm's `pkts_acked` in it.
    pub before: CaState,
    /// The sender's state after the ACK.
    pub state: CaState,
    /// The timestamps option: the peer's clock and the echo of ours (RFC 7323), where loss recovery is RACK's.
    pub stamps: Option<Timestamps>,
    /// Duplicate ACKs seen just before this one.
    pub dup_acks: u32,
    /// The window was what limited the sender.
    pub cwnd_limited: bool,
    /// Loss recovery wants the window to grow: not in fast recovery.
    pub may_grow: bool,
}

impl AckSample {
    /// Segments' worth of octets delivered.
    #[inline]
    pub fn segments(&self) -> f64 {
        self.delivered as f64 / f64::from(self.mss.max(1))
    }
    /// Segments that SND.UNA has passed.
    #[inline]
    pub fn segments_passed(&self) -> u32 {
        (self.passed as u32).div_ceil(self.mss.max(1))
    }
    /// Slow start after a timeout (RFC 3465 section 2.3 limits its steps to one segment).
    #[inline]
    pub fn after_timeout(&self) -> bool {
        self.before == CaState::Loss
    }
}

/// What a duplicate ACK tells (recovery without SACK).
#[derive(Clone, Copy, Debug)]
pub struct DupAck {
    /// When it arrived.
    pub now: Instant,
    /// Its number in a row, from 1.
    pub count: u32,
    /// When the oldest outstanding segment was sent last.
    pub oldest_sent: Instant,
    /// How often it was sent.
    pub oldest_transmissions: u32,
    /// The guard against a second reduction for one window is open (`bugfix`).
    pub guard_open: bool,
    /// The window in use, whole segments.
    pub window: u32,
}

/// What the algorithm wants done about a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DupAckAction {
    /// What the recovery flavour says.
    Standard,
    /// Send the oldest segment again; the algorithm has set its window, inflation included.
    Retransmit,
    /// Nothing; the algorithm has set its window.
    Nothing,
}

/// What told of congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// A lost segment.
    #[default]
    Loss,
    /// A mark (ECN).
    Ecn,
}

/// A reason to slow down.
#[derive(Clone, Copy, Debug, Default)]
pub struct Congestion {
    /// When.
    pub now: Instant,
    /// What told.
    pub signal: Signal,
    /// FlightSize in segments, as `ssthresh_basis` defines it.
    pub flight: f64,
    /// The timer expired once more for the same segment: the window has been cut already.
    pub repeated: bool,
}

/// What is known when the handshake is done.
#[derive(Clone, Copy, Debug)]
pub struct Established {
    /// When.
    pub now: Instant,
    /// The handshake's round trip, if the SYN was sent once.
    pub rtt: Option<Duration>,
    /// The initial window \[segments\].
    pub initial_window: f64,
    /// SND.NXT.
    pub nxt: u64,
    /// Sender's segment size [octets].
    pub mss: u32,
    /// Keys the numbers of algorithms that draw.
    pub seed: u64,
}

/// A congestion control algorithm. Windows are in segments of the sender's size.
pub trait CongestionControl {
    /// The congestion window, without recovery's inflation.
    fn cwnd(&self) -> f64;
    /// The slow-start threshold; infinite at the start.
    fn ssthresh(&self) -> f64;
    /// The handshake is done.
    fn on_established(&mut self, e: &Established);
    /// Data was delivered: an ACK of new data, or one with SACK news.
    fn on_ack(&mut self, ack: &AckSample);
    /// A duplicate ACK arrived, without SACK.
    fn on_dup_ack(&mut self, _dup: &DupAck) -> DupAckAction {
        DupAckAction::Standard
    }
    /// Fast retransmit begins: sets ssthresh, and cwnd to it.
    fn on_congestion(&mut self, c: &Congestion);
    /// The retransmission timer expired.
    fn on_timeout(&mut self, c: &Congestion);
    /// Recovery sets the window: Tahoe's one segment, NewReno's at the end, the restart after idleness, and PRR's.
    fn set_cwnd(&mut self, segments: f64);
    /// A capacity hint of the radio network's has come.
    fn on_hint(&mut self, _hint: &Hint) {}
    /// New data after more than a timeout of idleness: the window restarts from `segments` (RFC 5681 section 4.1).
    fn on_idle_restart(&mut self, _now: Instant, segments: f64) {
        self.set_cwnd(segments);
    }
    /// Fast recovery has ended and the window is about to be ssthresh.
    fn on_recovered(&mut self, _now: Instant) {}
    /// The last reduction was for nothing: the window and threshold before it.
    fn on_undo(&mut self, _cwnd: f64, _ssthresh: f64) {}
    /// Data leaves after nothing was in flight; the last had left `idle` before.
    fn on_transmit_start(&mut self, _now: Instant, _idle: Duration) {}
    /// The algorithm sets its window during recovery itself: neither PRR nor the end of recovery touches it.
    fn rules_recovery(&self) -> bool {
        false
    }
    /// After an ACK of new data: is the segment now oldest, sent at `sent`, overdue and to be sent again?
    fn oldest_is_overdue(&mut self, _now: Instant, _sent: Instant) -> bool {
        false
    }
    /// The algorithm wants the window reduced as after a congestion mark: asked once after each ACK where loss recovery
    /// is RACK's (Linux: `tcp_enter_cwr`); [`on_congestion`](Self::on_congestion) follows.
    fn wants_reduction(&mut self) -> bool {
        false
    }
    /// A retransmission timer of the algorithm's own.
    fn own_timeout(&self) -> Option<Duration> {
        None
    }
    /// The rate to pace at.
    fn pacing_rate(&self) -> Option<Bitrate> {
        None
    }
    /// What went wrong in code that is not Rust's, once: the caller ends the run with it.
    fn fault(&mut self) -> Option<Fault> {
        None
    }
}

/// A parameter of an algorithm, for the documentation.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key under `[flow.x.tcp]`, or a fixed constant's name.
    pub name: &'static str,
    /// Default, as written.
    pub default: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

/// One row of the registry.
pub struct Algorithm {
    /// The name in scenarios.
    pub name: &'static str,
    /// The enum value.
    pub id: CcName,
    /// One line for a list.
    pub summary: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// Parameters with provenance.
    pub parameters: &'static [Parameter],
    /// Where ns-3, INET and Linux differ from this and from each other.
    pub differs: &'static str,
    new: fn(&Config) -> Cc,
}

/// Every algorithm, in the order of the documentation.
pub const ALGORITHMS: &[Algorithm] = &[
    Algorithm {
        name: "reno",
        id: CcName::Reno,
        summary: "additive increase, multiplicative decrease",
        source: "RFC 5681; V. Jacobson, Congestion avoidance and control, SIGCOMM 1988",
        parameters: reno::PARAMETERS,
        differs: reno::DIFFERS,
        new: |c| Cc::Reno(Reno::new(c)),
    },
    Algorithm {
        name: "vegas",
        id: CcName::Vegas,
        summary: "holds a few segments in the network's queues, by the round-trip time",
        source: "L. Brakmo, L. Peterson, TCP Vegas, IEEE JSAC 13(8), 1995; as ns-2 2.26/2.27 has it, or Linux 6.1 tcp_vegas.c",
        parameters: vegas::PARAMETERS,
        differs: vegas::DIFFERS,
        new: |c| match c.vegas.reading {
            VegasReading::Ns2 => Cc::Vegas(Box::new(Vegas::new(c))),
            VegasReading::Linux | VegasReading::Ns3 => Cc::VegasLinux(Box::new(VegasLinux::new(c))),
        },
    },
    Algorithm {
        name: "bbr",
        id: CcName::Bbr,
        summary: "models the path by its largest rate and smallest round trip, and paces",
        source: "N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, BBR, ACM Queue 14(5), 2016; Linux 6.1 tcp_bbr.c",
        parameters: bbr::v1::PARAMETERS,
        differs: bbr::v1::DIFFERS,
        new: |c| Cc::Bbr(Box::new(Bbr::new(c))),
    },
    Algorithm {
        name: "bbr3",
        id: CcName::Bbr3,
        summary: "BBR that also minds losses, and probes at intervals of seconds",
        source: "N. Cardwell, I. Swett, J. Beshay (editors), draft-ietf-ccwg-bbr, editors' copy of August 2026",
        parameters: bbr::v3::PARAMETERS,
        differs: bbr::v3::DIFFERS,
        new: |c| Cc::Bbr3(Box::new(Bbr3::new(c))),
    },
    Algorithm {
        name: "abc",
        id: CcName::Abc,
        summary: "one segment more for each packet that says accelerate, one less for each that says brake",
        source: "P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan, ABC, NSDI 2020",
        parameters: abc::PARAMETERS,
        differs: abc::DIFFERS,
        new: |c| Cc::Abc(Box::new(Abc::new(c))),
    },
    Algorithm {
        name: "bic",
        id: CcName::Bic,
        summary: "binary search for the window of the last loss",
        source: "L. Xu, K. Harfoush, I. Rhee, INFOCOM 2004; Linux 6.1 tcp_bic.c",
        parameters: bic::PARAMETERS,
        differs: bic::DIFFERS,
        new: |c| Cc::Bic(Bic::new(c)),
    },
    Algorithm {
        name: "cdg",
        id: CcName::Cdg,
        summary: "backs off by chance when the round trip grows",
        source: "D. Hayes, G. Armitage, Revisiting TCP congestion control using delay gradients, IFIP Networking 2011; Linux 6.1 tcp_cdg.c",
        parameters: cdg::PARAMETERS,
        differs: cdg::DIFFERS,
        new: |c| Cc::Cdg(Box::new(Cdg::new(c))),
    },
    Algorithm {
        name: "cubic",
        id: CcName::Cubic,
        summary: "a cubic function of the time since the last loss",
        source: "RFC 9438; S. Ha, I. Rhee, L. Xu, CUBIC, ACM SIGOPS OSR 42(5), 2008; Linux 6.1 tcp_cubic.c",
        parameters: cubic::PARAMETERS,
        differs: cubic::DIFFERS,
        new: |c| Cc::Cubic(Box::new(Cubic::new(c))),
    },
    Algorithm {
        name: "dctcp",
        id: CcName::Dctcp,
        summary: "cuts by the share of marked octets",
        source: "RFC 8257; M. Alizadeh and others, SIGCOMM 2010",
        parameters: dctcp::PARAMETERS,
        differs: dctcp::DIFFERS,
        new: |c| Cc::Dctcp(Dctcp::new(c)),
    },
    Algorithm {
        name: "guided",
        id: CcName::Guided,
        summary: "a base algorithm under the ceiling that the radio network's hints give",
        source: "draft-flinck-mobile-throughput-guidance-04",
        parameters: guided::PARAMETERS,
        differs: guided::DIFFERS,
        new: |c| Cc::Guided(Box::new(Guided::new(c))),
    },
    Algorithm {
        name: "highspeed",
        id: CcName::HighSpeed,
        summary: "grows faster and cuts less the larger the window",
        source: "RFC 3649; Linux 6.1 tcp_highspeed.c",
        parameters: highspeed::PARAMETERS,
        differs: highspeed::DIFFERS,
        new: |c| Cc::HighSpeed(HighSpeed::new(c)),
    },
    Algorithm {
        name: "htcp",
        id: CcName::Htcp,
        summary: "growth by the time since the last loss",
        source: "D. Leith, R. Shorten, H-TCP, PFLDnet 2004; Linux 6.1 tcp_htcp.c",
        parameters: htcp::PARAMETERS,
        differs: htcp::DIFFERS,
        new: |c| Cc::Htcp(Box::new(Htcp::new(c))),
    },
    Algorithm {
        name: "hybla",
        id: CcName::Hybla,
        summary: "grows on a long path as on a short one",
        source: "C. Caini, R. Firrincieli, TCP Hybla, Int. J. Satellite Communications 22, 2004; Linux 6.1 tcp_hybla.c",
        parameters: hybla::PARAMETERS,
        differs: hybla::DIFFERS,
        new: |c| Cc::Hybla(Hybla::new(c)),
    },
    Algorithm {
        name: "illinois",
        id: CcName::Illinois,
        summary: "growth and cut by the queueing delay",
        source: "S. Liu, T. Basar, R. Srikant, TCP-Illinois, Performance Evaluation 65, 2008; Linux 6.1 tcp_illinois.c",
        parameters: illinois::PARAMETERS,
        differs: illinois::DIFFERS,
        new: |c| Cc::Illinois(Box::new(Illinois::new(c))),
    },
    Algorithm {
        name: "ledbat",
        id: CcName::Ledbat,
        summary: "a scavenger that holds a delay target",
        source: "RFC 6817",
        parameters: ledbat::PARAMETERS,
        differs: ledbat::DIFFERS,
        new: |c| Cc::Ledbat(Box::new(Ledbat::new(c))),
    },
    Algorithm {
        name: "lp",
        id: CcName::Lp,
        summary: "a scavenger that yields to rising delay",
        source: "A. Kuzmanovic, E. Knightly, TCP-LP, INFOCOM 2003; Linux 6.1 tcp_lp.c",
        parameters: lp::PARAMETERS,
        differs: lp::DIFFERS,
        new: |c| Cc::Lp(Box::new(Lp::new(c))),
    },
    Algorithm {
        name: "nv",
        id: CcName::Nv,
        summary: "holds rate times round trip and a pad, for data centres",
        source: "L. Brakmo, TCP-NV: congestion avoidance for data centers, Linux Plumbers 2010; Linux 6.1 tcp_nv.c",
        parameters: nv::PARAMETERS,
        differs: nv::DIFFERS,
        new: |c| Cc::Nv(Box::new(Nv::new(c))),
    },
    Algorithm {
        name: "none",
        id: CcName::None,
        summary: "no congestion control: the peer's window is the limit",
        source: "for a sender beside the only queue (TR 36.933: close coupling in the eNB)",
        parameters: unlimited::PARAMETERS,
        differs: unlimited::DIFFERS,
        new: |c| Cc::Unlimited(Unlimited::new(c)),
    },
    Algorithm {
        name: "prague",
        id: CcName::Prague,
        summary: "L4S: cuts by the share of marks, grows independently of short round trips",
        source: "draft-briscoe-iccrg-prague-congestion-control; RFC 9331 section 4",
        parameters: prague::PARAMETERS,
        differs: prague::DIFFERS,
        new: |c| Cc::Prague(Box::new(Prague::new(c))),
    },
    Algorithm {
        name: "radio-aware",
        id: CcName::RadioAware,
        summary: "the window that the radio network's hints give, a base algorithm without them",
        source: "contribution to 3GPP RAN3 for TR 36.933 (Release 14), reconstructed; WO 2017/193274",
        parameters: radio_aware::PARAMETERS,
        differs: radio_aware::DIFFERS,
        new: |c| Cc::RadioAware(Box::new(RadioAware::new(c))),
    },
    Algorithm {
        name: "scalable",
        id: CcName::Scalable,
        summary: "a fixed number of ACKs per segment of growth",
        source: "T. Kelly, Scalable TCP, ACM SIGCOMM CCR 33(2), 2003; Linux 6.1 tcp_scalable.c",
        parameters: scalable::PARAMETERS,
        differs: scalable::DIFFERS,
        new: |c| Cc::Scalable(Scalable::new(c)),
    },
    Algorithm {
        name: "veno",
        id: CcName::Veno,
        summary: "Reno that tells random losses by Vegas' estimate",
        source: "C. P. Fu, S. C. Liew, TCP Veno, IEEE JSAC 21(2), 2003; Linux 6.1 tcp_veno.c",
        parameters: veno::PARAMETERS,
        differs: veno::DIFFERS,
        new: |c| Cc::Veno(Veno::new(c)),
    },
    Algorithm {
        name: "westwood",
        id: CcName::Westwood,
        summary: "cuts to the estimated rate times the smallest round trip",
        source: "S. Mascolo and others, TCP Westwood, MobiCom 2001; INET 2.x; Linux 6.1 tcp_westwood.c",
        parameters: westwood::PARAMETERS,
        differs: westwood::DIFFERS,
        new: |c| Cc::Westwood(Box::new(Westwood::new(c))),
    },
    Algorithm {
        name: "westwood-plus",
        id: CcName::WestwoodPlus,
        summary: "Westwood with one sample per round trip",
        source: "L. A. Grieco, S. Mascolo, ACM SIGCOMM CCR 34(2), 2004; Linux 6.1 tcp_westwood.c",
        parameters: westwood::PLUS_PARAMETERS,
        differs: westwood::DIFFERS,
        new: |c| Cc::Westwood(Box::new(Westwood::plus(c))),
    },
    Algorithm {
        name: "yeah",
        id: CcName::Yeah,
        summary: "Scalable's growth while few segments queue, Reno's beside others",
        source: "A. Baiocchi, A. Castellani, F. Vacirca, YeAH-TCP, PFLDnet 2007; Linux 6.1 tcp_yeah.c",
        parameters: yeah::PARAMETERS,
        differs: yeah::DIFFERS,
        new: |c| Cc::Yeah(Box::new(Yeah::new(c))),
    },
];

/// An algorithm at work. Large ones are boxed, so that Reno's endpoint stays small.
#[derive(Clone, Debug)]
pub enum Cc {
    /// See [`Abc`].
    Abc(Box<Abc>),
    /// See [`Bbr`].
    Bbr(Box<Bbr>),
    /// See [`Bbr3`].
    Bbr3(Box<Bbr3>),
    /// See [`Bic`].
    Bic(Bic),
    /// See [`Cdg`].
    Cdg(Box<Cdg>),
    /// See [`Cubic`].
    Cubic(Box<Cubic>),
    /// See [`Dctcp`].
    Dctcp(Dctcp),
    /// See [`Guided`].
    Guided(Box<Guided>),
    /// See [`HighSpeed`].
    HighSpeed(HighSpeed),
    /// See [`Htcp`].
    Htcp(Box<Htcp>),
    /// See [`Hybla`].
    Hybla(Hybla),
    /// See [`Illinois`].
    Illinois(Box<Illinois>),
    /// See [`Ledbat`].
    Ledbat(Box<Ledbat>),
    /// See [`Lp`].
    Lp(Box<Lp>),
    /// See [`Nv`].
    Nv(Box<Nv>),
    /// See [`Prague`].
    Prague(Box<Prague>),
    /// See [`RadioAware`].
    RadioAware(Box<RadioAware>),
    /// See [`Reno`].
    Reno(Reno),
    /// See [`Scalable`].
    Scalable(Scalable),
    /// See [`Unlimited`].
    Unlimited(Unlimited),
    /// See [`Vegas`].
    Vegas(Box<Vegas>),
    /// See [`VegasLinux`].
    VegasLinux(Box<VegasLinux>),
    /// See [`Veno`].
    Veno(Veno),
    /// See [`Westwood`].
    Westwood(Box<Westwood>),
    /// See [`Yeah`].
    Yeah(Box<Yeah>),
    /// One of the caller's own.
    Custom(Box<dyn CustomControl>),
}

impl Cc {
    /// The built-in algorithm that `config` names; one of the caller's own comes from [`Controls::build`].
    pub fn new(config: &Config) -> Cc {
        config.cc.algorithm().map_or_else(|| Cc::Reno(Reno::new(config)), |a| (a.new)(config))
    }
    /// The algorithm may set a sending rate.
    #[inline]
    pub(crate) const fn may_pace(&self) -> bool {
        matches!(self, Cc::Bbr(_) | Cc::Bbr3(_) | Cc::Custom(_))
    }
    /// One of the caller's own, at work.
    #[inline]
    pub fn custom(&mut self) -> Option<&mut (dyn CustomControl + 'static)> {
        match self {
            Cc::Custom(cc) => Some(&mut **cc),
            _ => None,
        }
    }
}

macro_rules! each {
    ($self:ident, $cc:ident => $call:expr) => {
        match $self {
            Cc::Abc($cc) => $call,
            Cc::Bbr($cc) => $call,
            Cc::Bbr3($cc) => $call,
            Cc::Bic($cc) => $call,
            Cc::Cdg($cc) => $call,
            Cc::Cubic($cc) => $call,
            Cc::Dctcp($cc) => $call,
            Cc::Guided($cc) => $call,
            Cc::HighSpeed($cc) => $call,
            Cc::Htcp($cc) => $call,
            Cc::Hybla($cc) => $call,
            Cc::Illinois($cc) => $call,
            Cc::Ledbat($cc) => $call,
            Cc::Lp($cc) => $call,
            Cc::Nv($cc) => $call,
            Cc::Prague($cc) => $call,
            Cc::RadioAware($cc) => $call,
            Cc::Reno($cc) => $call,
            Cc::Scalable($cc) => $call,
            Cc::Unlimited($cc) => $call,
            Cc::Vegas($cc) => $call,
            Cc::VegasLinux($cc) => $call,
            Cc::Veno($cc) => $call,
            Cc::Westwood($cc) => $call,
            Cc::Yeah($cc) => $call,
            Cc::Custom($cc) => $call,
        }
    };
}

impl Cc {
    // Out of line, so that what asks for them stays small enough to be built into its callers.
    #[inline(never)]
    fn cwnd_of_any(&self) -> f64 {
        each!(self, cc => cc.cwnd())
    }
    #[inline(never)]
    fn on_ack_of_any(&mut self, ack: &AckSample) {
        each!(self, cc => cc.on_ack(ack))
    }
}

impl CongestionControl for Cc {
    #[inline]
    fn cwnd(&self) -> f64 {
        // Asked several times per segment: the default algorithm without a jump table.
        if let Cc::Reno(cc) = self { cc.cwnd() } else { self.cwnd_of_any() }
    }
    fn ssthresh(&self) -> f64 {
        each!(self, cc => cc.ssthresh())
    }
    fn on_established(&mut self, e: &Established) {
        each!(self, cc => cc.on_established(e))
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckSample) {
        if let Cc::Reno(cc) = self {
            cc.on_ack(ack);
        } else {
            // A copy is what leaves this function: of the sample itself only what Reno reads is then ever made.
            let sample = *ack;
            self.on_ack_of_any(&sample);
        }
    }
    fn on_dup_ack(&mut self, dup: &DupAck) -> DupAckAction {
        each!(self, cc => cc.on_dup_ack(dup))
    }
    fn on_congestion(&mut self, c: &Congestion) {
        each!(self, cc => cc.on_congestion(c))
    }
    fn on_timeout(&mut self, c: &Congestion) {
        each!(self, cc => cc.on_timeout(c))
    }
    fn set_cwnd(&mut self, segments: f64) {
        each!(self, cc => cc.set_cwnd(segments))
    }
    fn on_hint(&mut self, hint: &Hint) {
        match self {
            Cc::Guided(cc) => cc.on_hint(hint),
            Cc::RadioAware(cc) => cc.on_hint(hint),
            Cc::Custom(cc) => cc.on_hint(hint),
            _ => {}
        }
    }
    fn on_idle_restart(&mut self, now: Instant, segments: f64) {
        each!(self, cc => cc.on_idle_restart(now, segments))
    }
    fn on_recovered(&mut self, now: Instant) {
        each!(self, cc => cc.on_recovered(now))
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        each!(self, cc => cc.on_undo(cwnd, ssthresh))
    }
    fn on_transmit_start(&mut self, now: Instant, idle: Duration) {
        if let Cc::Cubic(cc) = self {
            cc.on_transmit_start(now, idle);
        }
    }
    fn rules_recovery(&self) -> bool {
        match self {
            Cc::Custom(cc) => cc.rules_recovery(),
            Cc::Abc(cc) => cc.rules_recovery(),
            Cc::Guided(cc) => cc.rules_recovery(),
            Cc::RadioAware(cc) => cc.rules_recovery(),
            Cc::Unlimited(cc) => cc.rules_recovery(),
            cc => matches!(cc, Cc::Bbr(_) | Cc::Bbr3(_)),
        }
    }
    #[inline]
    fn oldest_is_overdue(&mut self, now: Instant, sent: Instant) -> bool {
        match self {
            Cc::Vegas(cc) => cc.oldest_is_overdue(now, sent),
            Cc::Custom(cc) => cc.oldest_is_overdue(now, sent),
            _ => false,
        }
    }
    #[inline]
    fn wants_reduction(&mut self) -> bool {
        match self {
            Cc::Cdg(cc) => cc.wants_reduction(),
            Cc::Custom(cc) => cc.wants_reduction(),
            _ => false,
        }
    }
    #[inline]
    fn own_timeout(&self) -> Option<Duration> {
        match self {
            Cc::Vegas(cc) => cc.own_timeout(),
            Cc::Custom(cc) => cc.own_timeout(),
            _ => None,
        }
    }
    #[inline]
    fn pacing_rate(&self) -> Option<Bitrate> {
        match self {
            Cc::Bbr(cc) => cc.pacing_rate(),
            Cc::Bbr3(cc) => cc.pacing_rate(),
            Cc::Custom(cc) => cc.pacing_rate(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_carries_a_small_algorithm_and_a_pointer_to_a_large_one() {
        assert!(size_of::<Cc>() <= 104, "{}", size_of::<Cc>());
    }

    #[test]
    fn names_of_the_registry_and_of_the_scenario_are_the_same() {
        for a in ALGORITHMS {
            assert_eq!(a.name.parse::<CcName>(), Ok(a.id));
            assert_eq!(crate::registry::bare_word(&a.id), a.name);
        }
        assert!("newvegas".parse::<CcName>().unwrap_err().contains("reno, vegas"));
    }
}
