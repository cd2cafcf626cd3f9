//! Keys that a scenario sets and that have no effect because of another key.

use crate::AckRule;
use crate::cc::CcName;
use crate::config::{Config, RecoveryFlavour};
use crate::options::Options;

/// A key without effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unused {
    /// The key under `[flow.<name>.tcp]`.
    pub key: &'static str,
    /// Why nothing reads it.
    pub why: &'static str,
    /// What would give it a use.
    pub help: &'static str,
}

impl Options {
    /// The keys that these options set and that an endpoint with their configuration `c` never
    /// reads.
    pub fn unused(&self, c: &Config) -> Vec<Unused> {
        let control = |name: CcName| c.cc == name || c.control_at_work() == name;
        let vegas = control(CcName::Vegas);
        let cubic = control(CcName::Cubic);
        let aware = c.cc == CcName::RadioAware;
        let rack = c.recovery == RecoveryFlavour::Rack;
        let coupled = "another congestion control is at work";
        let fixed = "the receive buffer is fixed";
        let no_tuning = "the send buffer does not grow";
        let rows: [(&str, bool, bool, &str, &str); 32] = [
            (
                "ack_every",
                self.ack_every.is_some(),
                c.host.acks != AckRule::Linux,
                "the ACK rule `linux` decides by itself how many segments an ACK covers",
                "`ack_rule = \"octets\"` counts full-sized segments",
            ),
            (
                "accecn_option",
                self.accecn_option.is_some(),
                c.ecn.accepts_accurate(),
                "the option goes with accurate ECN alone",
                "`ecn = \"accurate\"`",
            ),
            (
                "gso",
                self.gso == Some(true),
                rack,
                "segments leave one by one without `recovery = \"rack\"`",
                "`recovery = \"rack\"`",
            ),
            (
                "send_buffer_start",
                self.send_buffer_start.is_some(),
                c.send_tuning,
                no_tuning,
                "`send_tuning = true`",
            ),
            (
                "send_buffer_max",
                self.send_buffer_max.is_some(),
                c.send_tuning,
                no_tuning,
                "`send_tuning = true`",
            ),
            (
                "receive_buffer_start",
                self.receive_buffer_start.is_some(),
                c.receive_tuning,
                fixed,
                "`receive_tuning = true`",
            ),
            (
                "abe_beta",
                self.abe_beta.is_some(),
                c.cubic.abe,
                "a mark costs as much as a loss",
                "`abe = true`",
            ),
            (
                "abe",
                self.abe == Some(true),
                cubic || control(CcName::Reno),
                coupled,
                "`cc = \"cubic\"` or `\"reno\"`",
            ),
            ("vegas_alpha", self.vegas_alpha.is_some(), vegas, coupled, "`cc = \"vegas\"`"),
            ("vegas_beta", self.vegas_beta.is_some(), vegas, coupled, "`cc = \"vegas\"`"),
            ("vegas_gamma", self.vegas_gamma.is_some(), vegas, coupled, "`cc = \"vegas\"`"),
            ("vegas_rto", self.vegas_rto.is_some(), vegas, coupled, "`cc = \"vegas\"`"),
            ("vegas_base_start", self.vegas_base_start.is_some(), vegas, coupled, "`cc = \"vegas\"`"),
            ("vegas_sample_order", self.vegas_sample_order.is_some(), vegas, coupled, "`cc = \"vegas\"`"),
            ("vegas_reading", self.vegas_reading.is_some(), vegas, coupled, "`cc = \"vegas\"`"),
            ("cubic_reading", self.cubic_reading.is_some(), cubic, coupled, "`cc = \"cubic\"`"),
            ("cubic_beta", self.cubic_beta.is_some(), cubic, coupled, "`cc = \"cubic\"`"),
            ("cubic_c", self.cubic_c.is_some(), cubic, coupled, "`cc = \"cubic\"`"),
            (
                "cubic_fast_convergence",
                self.cubic_fast_convergence.is_some(),
                cubic,
                coupled,
                "`cc = \"cubic\"`",
            ),
            ("cubic_friendliness", self.cubic_friendliness.is_some(), cubic, coupled, "`cc = \"cubic\"`"),
            (
                "westwood_reading",
                self.westwood_reading.is_some(),
                westwood(c),
                coupled,
                "`cc = \"westwood\"`",
            ),
            ("zero_interval", self.zero_interval.is_some(), westwood(c), coupled, "`cc = \"westwood\"`"),
            ("hybla_rtt0", self.hybla_rtt0.is_some(), control(CcName::Hybla), coupled, "`cc = \"hybla\"`"),
            ("hint_base", self.hint_base.is_some(), aware || c.cc == CcName::Guided, coupled, HINTS),
            ("hint_rtt", self.hint_rtt.is_some(), aware, coupled, HINTS),
            ("hint_queue_term", self.hint_queue_term.is_some(), aware, coupled, HINTS),
            ("hint_queue_threshold", self.hint_queue_threshold.is_some(), aware, coupled, HINTS),
            ("hint_gain", self.hint_gain.is_some(), aware, coupled, HINTS),
            ("hint_timeout", self.hint_timeout.is_some(), aware, coupled, HINTS),
            (
                "loss_probe",
                self.loss_probe == Some(true),
                rack,
                "the recovery has no loss probes",
                "`recovery = \"rack\"`",
            ),
            ("dsack", self.dsack == Some(true), c.sack, "it is a form of SACK", "`sack = true`"),
            (
                "sack_on_timeout",
                self.sack_on_timeout.is_some(),
                c.sack,
                "no SACK is agreed on",
                "`sack = true`",
            ),
        ];
        let unused = rows.into_iter().filter(|(_, written, used, ..)| *written && !used);
        unused.map(|(key, _, _, why, help)| Unused { key, why, help }).collect()
    }
}

const HINTS: &str = "`cc = \"radio-aware\"`";

fn westwood(c: &Config) -> bool {
    matches!(c.control_at_work(), CcName::Westwood | CcName::WestwoodPlus)
}
