//! Interactive media over RTP: the sending rate, and the receiver's reports.
//!
//! One file per rate control behind [`RateControl`]; one list, `built_in_rate_controls!`, names
//! them all. To add one: write its file, and add its module and its entry of the list here. The
//! encoder, the reports of RFC 8888 and the sender's record of its packets are parts that all
//! controls share; the application `media` ([`app`](crate::app)) joins them to a flow.

/// Passes the list of all built-in rate controls to the macro `$then`. An entry: the text in the
/// schema of scenarios, the variant of [`RateControlName`], the name in scenarios, its registry
/// data, and its type, made by `new` of a [`RateSetup`].
macro_rules! built_in_rate_controls {
    ($then:ident) => {
        $then! {
            /// The highest rate of the encoder, whatever happens.
            #[default]
            None "none" constant::ENTRY => constant::Constant;
            /// Queueing delay, losses and marks in one signal (RFC 8698).
            Nada "nada" nada::ENTRY => nada::Nada;
            /// The gradient of the delay, and losses (draft-ietf-rmcat-gcc-02).
            Gcc "gcc" gcc::ENTRY => gcc::Gcc;
            /// A window by losses, marks and queueing delay: SCReAM, second version.
            Scream "scream" scream::ENTRY => scream::Scream;
        }
    };
}

mod constant;
mod control;
mod custom;
mod encoder;
mod feedback;
mod gcc;
mod history;
mod mutant;
mod nada;
mod name;
mod samples;
mod scream;

pub use control::{BoxedRateControl, Feedback, Outcome, PACING_HEADROOM, RateControl, RateSetup, SentPacket};
pub use custom::{ControlMistake, Definition, RateContext, RateControlKind, RateControls, Setup};
pub use encoder::{Encoder, EncoderConfig, Frame};
pub use feedback::{Metric, Receiver, Report};
pub use history::History;
pub use lasthop_engine::custom::Fault;
pub use mutant::RateMutant;
pub use name::{RATE_CONTROLS, RateControlName};

/// The rate control of a media flow as its scenario has it.
#[derive(Clone, Copy, Debug)]
pub struct MediaControl<'a> {
    /// Its name.
    pub name: RateControlName,
    /// The parameters that are set, of a caller's own control.
    pub parameters: &'a std::collections::BTreeMap<String, f64>,
    /// A deliberate mistake of a built-in control.
    pub mutant: Option<RateMutant>,
}

/// Octets of an RTP header without CSRC list and extension (RFC 3550 section 5.1).
pub const RTP_HEADER: u32 = 12;
