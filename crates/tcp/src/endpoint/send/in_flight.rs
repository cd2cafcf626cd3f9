//! The octets in flight, their losses, and their limit.

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::super::timers::Timer;
use super::prr::Reduction;
use super::undo::Undo;
use crate::cc::{Cc, CongestionControl};
use crate::config::Config;
use crate::flight::Flight;
use crate::recovery::{Rack, Recovery};

/// The records of outstanding segments, with loss recovery and congestion control, which use them.
#[derive(Clone, Debug)]
pub struct InFlight {
    pub cc: Cc,
    pub recovery: Recovery,
    /// RACK's memory; empty in the other flavours.
    pub rack: Box<Rack>,
    pub flight: Flight,
    pub reduction: Reduction,
    pub undo: Undo,
    pub frto: Frto,
    pub tlp: LossProbe,
    /// Octets delivered since the start: acknowledged or SACKed.
    pub delivered: u64,
    /// Without SACK: octets that duplicate ACKs account for, above SND.UNA.
    pub delivered_by_dups: u64,
}

/// The state of a timeout while F-RTO checks it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frto {
    /// RFC 5682 checks a timeout.
    pub looking: bool,
    /// Its step 2b: new data before retransmissions.
    pub prefer_new: bool,
    /// The timeout that the older kernels check.
    pub watch: Option<Watch>,
}

/// A timeout that the F-RTO of older kernels checks (frto_counter, frto_highmark).
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// An ACK has moved SND.UNA already.
    pub moved: bool,
    /// SND.NXT when the timer expired: segments below it are original transmissions.
    pub high: u64,
}

/// The tail loss probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossProbe {
    /// One is outstanding up to this offset; whether it was a retransmission.
    pub outstanding: Option<(u64, bool)>,
    /// It is to leave now.
    pub due: bool,
}

impl InFlight {
    pub fn new(config: &Config, cc: Cc) -> InFlight {
        InFlight {
            cc,
            recovery: Recovery::new(config, false, u32::from(config.window.mss)),
            rack: Box::default(),
            flight: Flight::default(),
            reduction: Reduction::default(),
            undo: Undo::default(),
            frto: Frto::default(),
            tlp: LossProbe::default(),
            delivered: 0,
            delivered_by_dups: 0,
        }
    }

    /// The retransmission timer runs, for a whole timeout.
    pub fn start_rto(&self, c: &mut Connection, now: Instant) {
        c.timers.start(Timer::Retransmission, now, c.rtt.timeout(&c.config, &self.cc));
        c.timers.stop(Timer::Persist);
    }

    /// cwnd in whole segments, within the ceiling.
    #[inline]
    pub fn whole_window(&self, c: &Connection) -> u32 {
        // A conversion cuts off the fraction.
        self.cc.cwnd().min(c.config.window_ceiling()).min(1e9) as u32
    }

    /// cwnd in octets, with `extra` segments of inflation, whole segments only if the profile
    /// requires it.
    #[inline(always)]
    pub fn window_octets(&self, c: &Connection, extra: f64) -> u64 {
        let segments = (self.cc.cwnd() + extra).min(c.config.window_ceiling());
        // By signed numbers, to which a conversion is one instruction; it cuts off the fraction.
        let octets = if c.config.window.whole_segments {
            (segments as i64).saturating_mul(i64::from(c.negotiated.mss))
        } else {
            // A half octet more, because sums of fractions of a segment end a hair below the whole.
            (segments * f64::from(c.negotiated.mss) + 0.5) as i64
        };
        octets.max(0) as u64
    }
}
