//! Any algorithm behind one type, without a pointer to a table of functions.

use lasthop_units::{Bitrate, Duration, Instant};

use super::*;
use crate::config::Config;

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
    /// The built-in algorithm that `config` names; one of the caller's own comes from
    /// [`Controls::build`].
    pub fn new(config: &Config) -> Cc {
        config.cc.algorithm().map_or_else(|| Cc::Reno(Reno::new(config)), |a| (a.new)(config))
    }
    /// The algorithm may set a sending rate.
    #[inline]
    pub(crate) fn may_pace(&self) -> bool {
        match self {
            Cc::Guided(cc) => cc.base().may_pace(),
            Cc::RadioAware(cc) => cc.base().may_pace(),
            cc => matches!(cc, Cc::Bbr(_) | Cc::Bbr3(_) | Cc::Custom(_)),
        }
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
            // A copy is what leaves this function: of the sample itself only what Reno reads is
            // then ever made.
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
        match self {
            Cc::Cubic(cc) => cc.on_transmit_start(now, idle),
            Cc::Bbr(cc) => cc.on_transmit_start(now, idle),
            Cc::Guided(cc) => cc.on_transmit_start(now, idle),
            Cc::RadioAware(cc) => cc.on_transmit_start(now, idle),
            _ => {}
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
            Cc::Guided(cc) => cc.oldest_is_overdue(now, sent),
            Cc::RadioAware(cc) => cc.oldest_is_overdue(now, sent),
            Cc::Custom(cc) => cc.oldest_is_overdue(now, sent),
            _ => false,
        }
    }
    #[inline]
    fn wants_reduction(&mut self) -> bool {
        match self {
            Cc::Cdg(cc) => cc.wants_reduction(),
            Cc::Guided(cc) => cc.wants_reduction(),
            Cc::RadioAware(cc) => cc.wants_reduction(),
            Cc::Custom(cc) => cc.wants_reduction(),
            _ => false,
        }
    }
    #[inline]
    fn own_timeout(&self) -> Option<Duration> {
        match self {
            Cc::Vegas(cc) => cc.own_timeout(),
            Cc::Guided(cc) => cc.own_timeout(),
            Cc::RadioAware(cc) => cc.own_timeout(),
            Cc::Custom(cc) => cc.own_timeout(),
            _ => None,
        }
    }
    #[inline]
    fn pacing_rate(&self) -> Option<Bitrate> {
        match self {
            Cc::Bbr(cc) => cc.pacing_rate(),
            Cc::Bbr3(cc) => cc.pacing_rate(),
            Cc::Guided(cc) => cc.pacing_rate(),
            Cc::RadioAware(cc) => cc.pacing_rate(),
            Cc::Custom(cc) => cc.pacing_rate(),
            _ => None,
        }
    }
}
