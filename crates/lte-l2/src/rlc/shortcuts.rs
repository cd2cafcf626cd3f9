//! Simplifications of other simulators, as switches, so that a user can measure their effect.
//!
//! Each is documented by the simulator itself; none conforms to the standard, all are off by
//! default.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The simulator whose shortcuts are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compat {
    /// No other simulator: TS 36.322.
    #[default]
    None,
    /// ns-3 (LteRlcAm, LteRlcUm): no re-segmentation, one PDU per opportunity (so a status report
    /// takes a whole grant), expiry of t-PollRetransmit resends all that is not acknowledged,
    /// no failure, no discard, no re-establishment, at least 7 bytes for data.
    Ns3,
    /// Simu5G (AmTxQueue): every SDU in fragments of 30 bytes, one per PDU, none joined or cut
    /// again, 16 PDUs in flight.
    Simu5g,
}

impl Compat {
    /// The switches of this simulator.
    pub const fn shortcuts(self) -> Shortcuts {
        let off = Shortcuts::OFF;
        match self {
            Compat::None => off,
            Compat::Ns3 => Shortcuts {
                no_resegmentation: true,
                one_pdu_per_grant: true,
                poll_timer_resends_all: true,
                never_fails: true,
                no_discard: true,
                no_reestablishment: true,
                data_grant_min: 7,
                any_poll: true,
                ..off
            },
            Compat::Simu5g => Shortcuts {
                no_resegmentation: true,
                no_concatenation: true,
                fixed_fragment: Some(30),
                window: Some(16),
                ..off
            },
        }
    }
}

/// The switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shortcuts {
    /// A retransmission that does not fit the grant waits for a larger one.
    pub no_resegmentation: bool,
    /// An opportunity carries one PDU: a status report, a retransmission or new data.
    pub one_pdu_per_grant: bool,
    /// A PDU holds one SDU or one segment.
    pub no_concatenation: bool,
    /// SDUs are cut at multiples of this size, independent of the grant [B].
    pub fixed_fragment: Option<u32>,
    /// When t-PollRetransmit expires, all unacknowledged PDUs are sent again.
    pub poll_timer_resends_all: bool,
    /// maxRetxThreshold has no effect.
    pub never_fails: bool,
    /// SDUs are never discarded on request of PDCP.
    pub no_discard: bool,
    /// Re-establishment leaves the entity as it is.
    pub no_reestablishment: bool,
    /// Smallest grant in which data is sent [B].
    pub data_grant_min: u32,
    /// A smaller transmission window than AM_Window_Size [PDUs].
    pub window: Option<u64>,
    /// MAC gets the state of the buffers only when the entity reports them: when an SDU arrives,
    /// when a poll requests a status report, when t-PollRetransmit expires, and 20 ms (UM: 10 ms)
    /// after the last of these. MAC subtracts the bytes that it grants. A report of AM contains the
    /// PDUs that wait for their acknowledgement, MAC adds no subheaders, and status reports without
    /// room for more than 4 B name no missing PDU.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub event_reports: bool,
    /// `am.poll_pdu` and `am.poll_byte` may have values that no RRC message carries.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub any_poll: bool,
}

impl Shortcuts {
    /// No shortcut.
    pub const OFF: Shortcuts = Shortcuts {
        no_resegmentation: false,
        one_pdu_per_grant: false,
        no_concatenation: false,
        fixed_fragment: None,
        poll_timer_resends_all: false,
        never_fails: false,
        no_discard: false,
        no_reestablishment: false,
        data_grant_min: 0,
        window: None,
        event_reports: false,
        any_poll: false,
    };

    /// The union of two sets of switches.
    pub const fn or(self, o: Shortcuts) -> Shortcuts {
        Shortcuts {
            no_resegmentation: self.no_resegmentation || o.no_resegmentation,
            one_pdu_per_grant: self.one_pdu_per_grant || o.one_pdu_per_grant,
            no_concatenation: self.no_concatenation || o.no_concatenation,
            fixed_fragment: if self.fixed_fragment.is_some() {
                self.fixed_fragment
            } else {
                o.fixed_fragment
            },
            poll_timer_resends_all: self.poll_timer_resends_all || o.poll_timer_resends_all,
            never_fails: self.never_fails || o.never_fails,
            no_discard: self.no_discard || o.no_discard,
            no_reestablishment: self.no_reestablishment || o.no_reestablishment,
            data_grant_min: if self.data_grant_min > 0 { self.data_grant_min } else { o.data_grant_min },
            window: if self.window.is_some() { self.window } else { o.window },
            event_reports: self.event_reports || o.event_reports,
            any_poll: self.any_poll || o.any_poll,
        }
    }
}
