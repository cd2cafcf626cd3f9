//! The description of an algorithm, and its requirements on the stack around it.

use serde::Serialize;

use crate::config::EcnMode;
use crate::name::Profile;

/// A parameter of an algorithm, for the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Key under `[flow.x.tcp]`, or a fixed constant's name.
    pub name: &'static str,
    /// Default, as written in a scenario.
    pub default: &'static str,
    /// Unit; empty for a word or a pure number.
    pub unit: &'static str,
    /// The source of the default.
    pub source: &'static str,
}

/// How a receiver that agreed on RFC 3168 echoes marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// ECE from the first mark until CWR arrives (RFC 3168 section 6.1.3).
    UntilCwr,
    /// ECE on each ACK says whether its data was marked (RFC 8257 section 3.2).
    EachMark,
}

/// The requirements of a control on the stack around it. They replace values of a profile, but not
/// values that a scenario sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The delivery rate of each ACK: loss recovery is `rack` where a scenario does not say
    /// otherwise, and another one is refused.
    pub delivery_rate: bool,
    /// The ECN that the endpoint requests, unless the profile has accurate feedback.
    pub ecn: Option<EcnMode>,
    /// Data is sent with ECT(1) (RFC 9331).
    pub l4s: bool,
    /// Marks of an AQM on the path: a flow without them gets a warning with this text about the
    /// control.
    pub marks: Option<&'static str>,
    /// The form in which the receiver echoes marks.
    pub echo: EcnEcho,
    /// Data is spaced out at the window per round trip.
    pub pacing: bool,
    /// The control may set a rate of its own
    /// ([`pacing_rate`](super::CongestionControl::pacing_rate)).
    pub paces: bool,
    /// With `abe` a mark reduces the window less than a loss (RFC 8511).
    pub abe: bool,
    /// Capacity hints; without them `hint_base` is used.
    pub hints: bool,
    /// Congestion windows that a send buffer holds which grows by itself (Linux:
    /// tcp_sndbuf_expand).
    pub send_buffer_windows: u64,
    /// In this profile the SYN carries a segment of filler: ns-2's agent of the control ignores
    /// `syn_` and opens with a data packet.
    pub opens_with_data: Option<Profile>,
}

impl Needs {
    /// The requirements of a window that responds to losses.
    pub const NOTHING: Needs = Needs {
        delivery_rate: false,
        ecn: None,
        l4s: false,
        marks: None,
        echo: EcnEcho::UntilCwr,
        pacing: false,
        paces: false,
        abe: false,
        hints: false,
        send_buffer_windows: 2,
        opens_with_data: None,
    };
    /// The assumed requirements of a caller's own control: it may pace.
    pub(super) const CUSTOM: Needs = Needs { paces: true, ..Needs::NOTHING };
}

/// The description of an algorithm in its file.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// One line for a list.
    pub summary: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// Parameters with provenance.
    pub parameters: &'static [Parameter],
    /// Where ns-3, INET and Linux differ from this and from each other.
    pub differs: &'static str,
    /// Its requirements.
    pub needs: Needs,
}
