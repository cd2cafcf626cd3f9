//! Keys that a scenario sets and that have no effect because of another key.

use crate::AckRule;
use crate::cc::{ALGORITHMS, Algorithm};
use crate::config::{Config, RecoveryFlavour};
use crate::options::{Options, SETTINGS};

/// A key without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// The key under `[flow.<name>.tcp]`.
    pub key: &'static str,
    /// Why nothing reads it.
    pub why: &'static str,
    /// What would give it a use.
    pub help: String,
}

/// The groups of options whose keys only those controls read that list them as parameters.
const OF_CONTROLS: [&str; 5] = ["vegas", "cubic", "westwood", "hint", "hybla"];

impl Options {
    /// The keys that these options set and that an endpoint with their configuration `c` never
    /// reads.
    pub fn unused(&self, c: &Config) -> Vec<Unused> {
        let (general, of_controls) = (self.unused_in_general(c), self.unused_by_controls(c));
        general.into_iter().chain(of_controls).collect()
    }

    fn unused_in_general(&self, c: &Config) -> Vec<Unused> {
        let rack = c.recovery == RecoveryFlavour::Rack;
        let written = |key| self.writes(key);
        let rows: [(&str, bool, bool, &str, &str); 10] = [
            (
                "ack_every",
                written("ack_every"),
                c.host.acks != AckRule::Linux,
                "the ACK rule `linux` decides by itself how many segments an ACK covers",
                "`ack_rule = \"octets\"` counts full-sized segments",
            ),
            (
                "accecn_option",
                written("accecn_option"),
                c.ecn.mode.accepts_accurate(),
                "the option goes with accurate ECN alone",
                "`ecn = \"accurate\"`",
            ),
            (
                "gso",
                self.buffers.gso == Some(true),
                rack,
                "segments leave one by one without `recovery = \"rack\"`",
                "`recovery = \"rack\"`",
            ),
            (
                "send_buffer_start",
                written("send_buffer_start"),
                c.buffers.send_tuning,
                "the send buffer does not grow",
                "`send_tuning = true`",
            ),
            (
                "send_buffer_max",
                written("send_buffer_max"),
                c.buffers.send_tuning,
                "the send buffer does not grow",
                "`send_tuning = true`",
            ),
            (
                "receive_buffer_start",
                written("receive_buffer_start"),
                c.buffers.receive_tuning,
                "the receive buffer is fixed",
                "`receive_tuning = true`",
            ),
            ("abe_beta", written("abe_beta"), c.cubic.abe, "a mark costs as much as a loss", "`abe = true`"),
            (
                "loss_probe",
                self.loss.loss_probe == Some(true),
                rack,
                "the recovery has no loss probes",
                "`recovery = \"rack\"`",
            ),
            (
                "dsack",
                self.acks.dsack == Some(true),
                c.negotiated.sack,
                "it is a form of SACK",
                "`sack = true`",
            ),
            (
                "sack_on_timeout",
                written("sack_on_timeout"),
                c.negotiated.sack,
                "no SACK is agreed on",
                "`sack = true`",
            ),
        ];
        let unused = rows.into_iter().filter(|(_, written, used, ..)| *written && !used);
        unused.map(|(key, _, _, why, help)| Unused { key, why, help: help.to_owned() }).collect()
    }

    /// Keys of which neither the control nor the one behind it, where hints rule, makes use.
    fn unused_by_controls(&self, c: &Config) -> Vec<Unused> {
        let at_work = |uses: &dyn Fn(&Algorithm) -> bool| {
            [c.cc, c.control_at_work()].iter().any(|cc| cc.algorithm().is_some_and(uses))
        };
        let mut unused = Vec::new();
        let mut note = |key, uses: &dyn Fn(&Algorithm) -> bool| {
            if !at_work(uses) {
                let why = "another congestion control is at work";
                unused.push(Unused { key, why, help: controls_that(uses) });
            }
        };
        if self.ecn.abe == Some(true) {
            note("abe", &|a| a.needs.abe);
        }
        for s in SETTINGS.iter().filter(|s| OF_CONTROLS.contains(&s.group) && self.writes(s.key)) {
            note(s.key, &|a| a.parameters.iter().any(|p| p.name == s.key));
        }
        unused
    }
}

/// "`cc = "a"` or `"b"`", by the order of the documentation.
fn controls_that(uses: &dyn Fn(&Algorithm) -> bool) -> String {
    let mut names = ALGORITHMS.iter().filter(|a| uses(a)).map(|a| a.name);
    let first = names.next().unwrap_or_default();
    names.fold(format!("`cc = \"{first}\"`"), |listed, name| format!("{listed} or `\"{name}\"`"))
}
