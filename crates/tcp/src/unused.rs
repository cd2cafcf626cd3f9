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
    /// How the key would have an effect.
    pub help: String,
}

/// When a key has no effect because of another one.
struct Rule {
    key: &'static str,
    /// True if the options enable the function of the key.
    set: fn(&Options) -> bool,
    /// An endpoint with this configuration reads it.
    used: fn(&Config) -> bool,
    why: &'static str,
    help: &'static str,
}

fn has_rack(c: &Config) -> bool {
    c.recovery == RecoveryFlavour::Rack
}

const RULES: [Rule; 12] = [
    Rule {
        key: "ack_every",
        set: |o| o.writes("ack_every"),
        used: |c| c.host.acks != AckRule::Linux,
        why: "the ACK rule `linux` decides by itself how many segments an ACK covers",
        help: "`ack_rule = \"octets\"` counts full-sized segments",
    },
    Rule {
        key: "accecn_option",
        set: |o| o.writes("accecn_option"),
        used: |c| c.ecn.mode.accepts_accurate(),
        why: "the option is sent with accurate ECN alone",
        help: "`ecn = \"accurate\"`",
    },
    Rule {
        key: "gso",
        set: |o| o.buffers.gso == Some(true),
        used: has_rack,
        why: "segments leave one by one without `recovery = \"rack\"`",
        help: "`recovery = \"rack\"`",
    },
    Rule {
        key: "send_buffer_start",
        set: |o| o.writes("send_buffer_start"),
        used: |c| c.buffers.send_tuning,
        why: "the send buffer does not grow",
        help: "`send_tuning = true`",
    },
    Rule {
        key: "send_buffer_max",
        set: |o| o.writes("send_buffer_max"),
        used: |c| c.buffers.send_tuning,
        why: "the send buffer does not grow",
        help: "`send_tuning = true`",
    },
    Rule {
        key: "receive_buffer_start",
        set: |o| o.writes("receive_buffer_start"),
        used: |c| c.buffers.receive_tuning,
        why: "the receive buffer is fixed",
        help: "`receive_tuning = true`",
    },
    Rule {
        key: "abe_beta",
        set: |o| o.writes("abe_beta"),
        used: |c| c.ecn.abe,
        why: "a mark costs as much as a loss",
        help: "`abe = true`",
    },
    Rule {
        key: "loss_probe",
        set: |o| o.loss.loss_probe == Some(true),
        used: has_rack,
        why: "the recovery has no loss probes",
        help: "`recovery = \"rack\"`",
    },
    Rule {
        key: "split_acks",
        set: |o| o.acks.split_acks.is_some_and(|parts| parts > 1),
        used: |c| c.acks.ack_ahead == 0,
        why: "ACKs of octets that have not arrived stay whole",
        help: "`ack_ahead = 0`",
    },
    Rule {
        key: "dsack",
        set: |o| o.acks.dsack == Some(true),
        used: |c| c.negotiated.sack,
        why: "it is a form of SACK",
        help: "`sack = true`",
    },
    Rule {
        key: "sack_on_timeout",
        set: |o| o.writes("sack_on_timeout"),
        used: |c| c.negotiated.sack,
        why: "no SACK is agreed on",
        help: "`sack = true`",
    },
    Rule {
        key: "burst_read",
        set: |o| o.growth.burst_read == Some(true),
        used: |c| c.growth.reads_bursts(),
        why: "with `manual_read` no application reads",
        help: "`manual_read = false`",
    },
];

impl Options {
    /// The keys that these options set and that an endpoint with their configuration `c` never
    /// reads.
    pub fn unused(&self, c: &Config) -> Vec<Unused> {
        let (general, of_controls) = (self.unused_in_general(c), self.unused_by_controls(c));
        general.into_iter().chain(of_controls).collect()
    }

    fn unused_in_general(&self, c: &Config) -> Vec<Unused> {
        let unused = RULES.iter().filter(|rule| (rule.set)(self) && !(rule.used)(c));
        unused.map(|rule| Unused { key: rule.key, why: rule.why, help: rule.help.to_owned() }).collect()
    }

    /// Keys that are used neither by the control nor by its base control, if it uses hints.
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
        for s in SETTINGS.iter().filter(|s| s.of_controls && self.writes(s.key)) {
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
