//! Active queue management as a pair of questions: what about a packet that arrives, what about one
//! that leaves?
//!
//! An [`Aqm`] holds no packet. Whoever does (a [`Queue`](crate::Queue), a flow queue of FQ-CoDel,
//! the transmission buffer of an RLC entity) asks [`Aqm::arrives`] before it takes a packet in and
//! [`Aqm::leaves`] when it has taken one out, in order of time, and does what the [`Verdict`] says.
//! After a verdict of drop it takes the next one out and asks again. An AQM owns no timer: what it
//! does periodically it catches up with when it is asked.

mod abc;
mod codel;
mod config;
pub(super) mod coupled;
mod pie;
mod red;
mod step;

pub use abc::Abc;
pub use codel::{CoDel, control_law};
pub use config::{
    AbcParams, AqmConfig, CodelConfig, CodelParams, Pi2Params, PieConfig, PieParams, RedConfig, RedParams,
    StepConfig, StepParams,
};
pub(crate) use config::{check_gain, check_positive, check_that, check_update};
pub use coupled::Pi2;
pub use pie::{Pie, scaled};
pub use red::Red;
pub(crate) use step::DEFAULT_PACKETS as STEP_PACKETS;
pub use step::Step;

use lasthop_units::{Bitrate, Ecn, Instant};

/// What an AQM sees of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Its size [bytes].
    pub size: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// How much waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What is to be done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It goes on with congestion experienced; only for packets that are ECN-capable.
    Mark,
    /// It is dropped.
    Drop,
}

impl Verdict {
    /// Congestion is to be told: by a mark where that is allowed and understood, else by a drop.
    #[inline]
    pub(crate) const fn signal(marks: bool, packet: Sight) -> Verdict {
        if marks && packet.ecn.is_capable() { Verdict::Mark } else { Verdict::Drop }
    }
}

/// An active queue management for one queue, first in first out.
#[derive(Clone, Debug)]
pub enum Aqm {
    /// Random early detection.
    Red(Red),
    /// A mark from a threshold on.
    Step(Step),
    /// Controlled delay.
    CoDel(CoDel),
    /// Proportional integral controller enhanced.
    Pie(Pie),
    /// Coupled marking of Classic and L4S packets.
    Pi2(Pi2),
    /// Accel-Brake Control.
    Abc(Abc),
}

impl Aqm {
    /// `packet` has arrived behind `ahead`.
    #[inline]
    pub fn arrives(&mut self, now: Instant, packet: Sight, ahead: Backlog) -> Verdict {
        match self {
            Aqm::Red(a) => a.arrives(now, packet, ahead),
            Aqm::Step(a) => a.arrives(packet, ahead),
            Aqm::CoDel(_) | Aqm::Abc(_) => Verdict::Pass,
            Aqm::Pie(a) => a.arrives(now, packet, ahead),
            Aqm::Pi2(a) => {
                a.arrives(now, ahead);
                Verdict::Pass
            }
        }
    }

    /// `packet`, here since `since`, has been taken out; `behind` stays.
    #[inline]
    pub fn leaves(&mut self, now: Instant, packet: Sight, since: Instant, behind: Backlog) -> Verdict {
        match self {
            Aqm::Red(a) => {
                a.leaves(now, behind);
                Verdict::Pass
            }
            Aqm::Step(a) => a.leaves(now, packet, since),
            Aqm::CoDel(a) => a.leaves(now, packet, since, behind),
            Aqm::Pie(a) => {
                a.leaves(now, since, behind);
                Verdict::Pass
            }
            Aqm::Pi2(a) => a.leaves(now, packet, since),
            Aqm::Abc(a) => a.leaves(now, packet, since),
        }
    }

    /// What the link would carry for this queue at `now`, for those that want to know.
    #[inline]
    pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        if let Aqm::Abc(a) = self {
            a.set_rate(now, rate);
        }
    }
}
