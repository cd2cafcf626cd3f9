//! Congestion control: how much may be in flight, and how fast. Never what is sent: that is
//! [`recovery`](crate::recovery)'s.
//!
//! One file per algorithm behind [`CongestionControl`]; one table, [`ALGORITHMS`], names them all.
//! To add one: write its file, add a row to the table (`algorithms.rs`), a name to [`CcName`] and
//! an arm to [`Cc`] (`any.rs`). Most keep a [`Window`] and say only by how much it moves. An
//! algorithm from outside this crate comes as a [`Definition`].

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
pub use algorithms::{ALGORITHMS, Algorithm, Parameter};
pub use any::Cc;
pub use bbr::{Bbr, Bbr3};
pub use bic::Bic;
pub use cdg::Cdg;
pub use control::CongestionControl;
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

pub use crate::hint::{Hint, Notice};
pub use crate::name::{CcName, CustomName};
use crate::sample::CaState;
pub use crate::sample::{
    AckSample, Congestion, DupAck, DupAckAction, Established, LossSample, RateSample, Signal,
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
