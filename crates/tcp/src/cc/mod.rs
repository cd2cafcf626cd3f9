//! Congestion control: how much data may be in flight, and the sending rate.
//! [`recovery`](crate::recovery) decides which data is sent.
//!
//! Each algorithm is a file with an implementation of [`CongestionControl`] and a [`Row`], which
//! describes it and its [`Needs`]; one list, `built_in_controls!`, names them all. To add one:
//! write its file, and add its module and its entry of the list here. The enum of names, the
//! dispatch, the table [`ALGORITHMS`] and the printed descriptions come from the list. Most have a
//! [`Window`] and compute only its changes. An algorithm from outside this crate comes as a
//! [`Definition`].

/// Passes the list of all built-in controls to the macro `$then`, after `$with`. An entry: the text
/// in the schema of scenarios, the variant of [`CcName`], the name in scenarios, the [`Row`], the
/// variants of [`Cc`] that are made for it and for no entry above, and how one is made of a
/// [`Config`](crate::Config).
///
/// [`name`](crate::name) is below this module and reads the list too; so it is a macro in the
/// order of the text, not an item that modules import.
macro_rules! built_in_controls {
    ($then:ident $($with:tt)*) => {
        $then! {
            ($($with)*)
            /// Accelerate and brake by marks of the last hop (Goyal and others 2020).
            Abc "abc" abc::ROW => Abc(Box<abc::Abc>) = |c| Cc::Abc(Box::new(abc::Abc::new(c)));
            /// BBR version 1 (Cardwell and others 2016), as Linux has it.
            Bbr "bbr" bbr::v1::ROW => Bbr(Box<bbr::v1::Bbr>) = |c| Cc::Bbr(Box::new(bbr::v1::Bbr::new(c)));
            /// BBR version 3 (draft-ietf-ccwg-bbr).
            Bbr3 "bbr3" bbr::v3::ROW => Bbr3(Box<bbr::v3::Bbr3>)
                = |c| Cc::Bbr3(Box::new(bbr::v3::Bbr3::new(c)));
            /// Binary search for the window of the last loss (Xu and others 2004).
            Bic "bic" bic::ROW => Bic(bic::Bic) = |c| Cc::Bic(bic::Bic::new(c));
            /// Delay gradient (Hayes and Armitage 2011).
            Cdg "cdg" cdg::ROW => Cdg(Box<cdg::Cdg>) = |c| Cc::Cdg(Box::new(cdg::Cdg::new(c)));
            /// A cubic function of the time since the last loss (RFC 9438).
            Cubic "cubic" cubic::ROW => Cubic(Box<cubic::Cubic>)
                = |c| Cc::Cubic(Box::new(cubic::Cubic::new(c)));
            /// Cut by the share of marked octets (RFC 8257).
            Dctcp "dctcp" dctcp::ROW => Dctcp(dctcp::Dctcp) = |c| Cc::Dctcp(dctcp::Dctcp::new(c));
            /// A base algorithm under a ceiling from the radio network's hints
            /// (draft-flinck-mobile-throughput-guidance).
            Guided "guided" guided::ROW => Guided(Box<guided::Guided<Cc>>)
                = |c| Cc::Guided(Box::new(guided::Guided::new(c, Cc::base(c))));
            /// HighSpeed TCP (RFC 3649).
            HighSpeed "highspeed" highspeed::ROW => HighSpeed(highspeed::HighSpeed)
                = |c| Cc::HighSpeed(highspeed::HighSpeed::new(c));
            /// Growth by the time since the last loss (Leith and Shorten 2004).
            Htcp "htcp" htcp::ROW => Htcp(Box<htcp::Htcp>) = |c| Cc::Htcp(Box::new(htcp::Htcp::new(c)));
            /// Growth independent of the round trip (Caini and Firrincieli 2004).
            Hybla "hybla" hybla::ROW => Hybla(hybla::Hybla) = |c| Cc::Hybla(hybla::Hybla::new(c));
            /// Growth and cut by the queueing delay (Liu and others 2008).
            Illinois "illinois" illinois::ROW => Illinois(Box<illinois::Illinois>)
                = |c| Cc::Illinois(Box::new(illinois::Illinois::new(c)));
            /// A scavenger with a delay target (RFC 6817).
            Ledbat "ledbat" ledbat::ROW => Ledbat(Box<ledbat::Ledbat>)
                = |c| Cc::Ledbat(Box::new(ledbat::Ledbat::new(c)));
            /// A scavenger by early congestion inference (Kuzmanovic and Knightly 2003).
            Lp "lp" lp::ROW => Lp(Box<lp::Lp>) = |c| Cc::Lp(Box::new(lp::Lp::new(c)));
            /// Vegas for data centres (Brakmo 2010).
            Nv "nv" nv::ROW => Nv(Box<nv::Nv>) = |c| Cc::Nv(Box::new(nv::Nv::new(c)));
            /// No congestion control: the peer's window is the limit.
            None "none" unlimited::ROW => Unlimited(unlimited::Unlimited)
                = |c| Cc::Unlimited(unlimited::Unlimited::new(c));
            /// Cut by the share of marked octets, for L4S
            /// (draft-briscoe-iccrg-prague-congestion-control).
            Prague "prague" prague::ROW => Prague(Box<prague::Prague>)
                = |c| Cc::Prague(Box::new(prague::Prague::new(c)));
            /// The window that the radio network's hints give (TR 36.933).
            RadioAware "radio-aware" radio_aware::ROW => RadioAware(Box<radio_aware::RadioAware<Cc>>)
                = |c| Cc::RadioAware(Box::new(radio_aware::RadioAware::new(c, Cc::base(c))));
            /// Additive increase, multiplicative decrease (RFC 5681).
            #[default]
            Reno "reno" reno::ROW => Reno(reno::Reno) = |c| Cc::Reno(reno::Reno::new(c));
            /// A fixed number of ACKs per segment of growth (Kelly 2003).
            Scalable "scalable" scalable::ROW => Scalable(scalable::Scalable)
                = |c| Cc::Scalable(scalable::Scalable::new(c));
            /// Delay-based (Brakmo and Peterson 1995), as ns-2 or as Linux implements it.
            Vegas "vegas" vegas::ROW
                => Vegas(Box<vegas::Vegas>), VegasLinux(Box<vegas_linux::VegasLinux>)
                = |c| match c.vegas.reading {
                    VegasReading::Ns2 => Cc::Vegas(Box::new(vegas::Vegas::new(c))),
                    VegasReading::Linux | VegasReading::Ns3 => {
                        Cc::VegasLinux(Box::new(vegas_linux::VegasLinux::new(c)))
                    }
                };
            /// Reno that distinguishes random losses by Vegas' estimate (Fu and Liew 2003).
            Veno "veno" veno::ROW => Veno(veno::Veno) = |c| Cc::Veno(veno::Veno::new(c));
            /// Cut to the estimated rate (Mascolo and others 2001).
            Westwood "westwood" westwood::ROW => Westwood(Box<westwood::Westwood>)
                = |c| Cc::Westwood(Box::new(westwood::Westwood::new(c)));
            /// Westwood with one sample per round trip (Grieco and Mascolo 2004).
            WestwoodPlus "westwood-plus" westwood::PLUS_ROW
                = |c| Cc::Westwood(Box::new(westwood::Westwood::plus(c)));
            /// Growth as Scalable, or as Reno while the queue is long (Baiocchi and others 2007).
            Yeah "yeah" yeah::ROW => Yeah(Box<yeah::Yeah>) = |c| Cc::Yeah(Box::new(yeah::Yeah::new(c)));
        }
    };
}

mod abc;
mod algorithms;
mod any;
mod bbr;
mod bic;
mod cdg;
mod control;
mod cubic;
mod custom;
mod dctcp;
mod evidence;
mod guided;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod illinois;
mod ledbat;
mod lp;
mod marks;
mod mutated;
mod nv;
mod prague;
mod radio_aware;
mod random;
mod readings;
mod reno;
mod row;
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
pub use algorithms::{ALGORITHMS, Algorithm};
pub use any::Cc;
pub use bbr::{Bbr, Bbr3};
pub use bic::Bic;
pub use cdg::Cdg;
pub use control::CongestionControl;
pub use cubic::{Cubic, cubic_k, cubic_window};
pub use custom::{ControlContext, ControlKind, Controls, CustomControl, Definition, Setup};
pub use dctcp::Dctcp;
pub use guided::Guided;
pub use highspeed::HighSpeed;
pub use htcp::{Htcp, htcp_growth};
pub use hybla::Hybla;
pub use hystart::{HyStart, HyStartPlusPlus, Phase, SlowStartExit};
pub use illinois::Illinois;
pub use ledbat::Ledbat;
pub use lp::Lp;
pub use nv::Nv;
pub use prague::Prague;
pub use radio_aware::RadioAware;
pub use reno::Reno;
pub use row::{EcnEcho, Needs, Parameter, Row};
pub use scalable::Scalable;
pub use unlimited::Unlimited;
pub use vegas::{Vegas, vegas_extra_segments};
pub use vegas_linux::VegasLinux;
pub use veno::Veno;
pub use westwood::Westwood;
pub use window::{Round, Window};
pub use yeah::Yeah;

pub use lasthop_engine::custom::{CustomParameter, DefinitionError, Fault};
pub use lasthop_engine::observe::{Observation, Observer, Shown, Trail, Variable, variables};

pub use crate::hint::{Hint, Notice};
pub use crate::name::{CcName, CustomName};
use crate::sample::CaState;
pub use crate::sample::{
    AckSample, Congestion, DupAck, DupAckAction, Established, LossSample, RateSample, Signal, TransmitStart,
};

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
            assert_eq!(crate::word::bare_word(&a.id), a.name);
        }
        assert!("newvegas".parse::<CcName>().unwrap_err().contains("reno, vegas"));
    }
}
