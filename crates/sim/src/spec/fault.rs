//! Faults: effects of a link on chosen packets.

use lasthop_net::{FaultAction, FaultConfig, FaultNumbers, FaultPackets};
use lasthop_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spec;
use super::at::started;
use crate::config::{Diagnostics, Document, dotted, near_or_all};

/// What one direction of a link does to chosen packets. The packets of each flow are numbered
/// separately, from 1 on since the fault began, in the order in which they leave the queue for the
/// wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// The direction of a link: `"NAME.forward"` or `"NAME.reverse"`.
    pub link: String,
    /// What happens to the chosen packets.
    pub action: FaultAction,
    /// With `action = "hold"`: how much later they arrive, up to 60 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-range" = "0 s to 60 s"))]
    pub hold: Option<Duration>,
    /// Only the flows of this table are numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Which packets are numbered.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub packets: FaultPackets,
    /// Chooses each n-th packet. Unset: every packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
    /// With `every`: how many of each `every` packets are chosen, the last ones. Unset: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// Instead of `every`: the numbers of the chosen packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<u64>,
    /// The fault ends after this many chosen packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The fault ends after this many round trips of `flow` (of the first flow, if the table makes
    /// several). The first round trip ends with the ACK of data that was sent after the fault
    /// began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// The fault ends after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// False: the fault does not begin until an `[[at]]`, a `[[when]]` or the caller starts it.
    #[serde(default = "super::yes")]
    pub autostart: bool,
}

impl FaultSpec {
    /// The configuration for the link, for all flows.
    pub fn config(&self, name: &str) -> FaultConfig {
        let numbers = if self.numbers.is_empty() {
            FaultNumbers::Every { every: self.every.unwrap_or(1), run: self.run.unwrap_or(1) }
        } else {
            let mut list = self.numbers.clone();
            list.sort_unstable();
            FaultNumbers::List(list)
        };
        FaultConfig {
            name: name.to_owned(),
            action: self.action,
            hold: self.hold.unwrap_or_default(),
            flows: None,
            packets: self.packets,
            numbers,
            count: self.count,
            duration: self.duration,
        }
    }

    /// The flow whose round trips limit the fault, and their number.
    pub fn rounds(&self) -> Option<(&str, u32)> {
        Some((self.flow.as_deref()?, self.rounds?))
    }
}

/// Longest time for which a packet may be held.
const MOST_HOLD: Duration = Duration::from_secs(60);

/// Reports an invalid key of a fault: the key, the mistake, and the remedy.
type Wrong<'a> = dyn FnMut(&str, String, String) + 'a;

/// Checks the faults of a scenario.
pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let links: Vec<String> = spec
        .link
        .keys()
        .flat_map(|name| ["forward", "reverse"].map(|side| format!("{name}.{side}")))
        .collect();
    for (name, fault) in &spec.fault {
        let path = format!("fault.{}", dotted([name]));
        let mut wrong = |key: &str, message: String, help: String| {
            found.push(doc.error_at(&format!("{path}.{key}"), message).help(help));
        };
        if !links.contains(&fault.link) {
            let help = near_or_all(&fault.link, "directions", &links);
            wrong("link", format!("no direction of a link is called `{}`", fault.link), help);
        }
        fault.check_hold(&mut wrong);
        fault.check_numbers(&mut wrong);
        fault.check_end(spec, &mut wrong);
        if !fault.autostart && !started(spec).any(|other| other.strip_prefix("fault.") == Some(name)) {
            let warning = doc.warning_at(&format!("{path}.autostart"), "nothing starts this fault");
            found.push(warning.help(format!("an `[[at]]` or a `[[when]]` can: `start = \"fault.{name}\"`")));
        }
    }
}

impl FaultSpec {
    /// Checks the time for which packets are held.
    fn check_hold(&self, wrong: &mut Wrong<'_>) {
        match (self.action, self.hold) {
            (FaultAction::Hold, None) => {
                wrong("action", "for how long?".to_owned(), "give `hold`, such as \"20 ms\"".to_owned());
            }
            (FaultAction::Hold, Some(hold)) if hold.is_zero() || hold > MOST_HOLD => {
                wrong("hold", format!("{hold} is out of range"), format!("above 0 s and up to {MOST_HOLD}"));
            }
            (FaultAction::Hold, _) | (_, None) => {}
            (_, Some(_)) => {
                let help = "remove it, or write `action = \"hold\"`".to_owned();
                wrong("hold", "nothing is held".to_owned(), help);
            }
        }
    }

    /// Checks the choice of packets.
    fn check_numbers(&self, wrong: &mut Wrong<'_>) {
        if !self.numbers.is_empty() && (self.every.is_some() || self.run.is_some()) {
            let key = if self.every.is_some() { "every" } else { "run" };
            wrong(key, "`numbers` selects the packets already".to_owned(), "keep one".to_owned());
        }
        if self.numbers.contains(&0) {
            wrong("numbers", "there is no packet 0".to_owned(), "the first is 1".to_owned());
        }
        let (every, run) = (self.every.unwrap_or(1), self.run.unwrap_or(1));
        if every == 0 {
            wrong("every", "there is no packet 0".to_owned(), "1 means each packet".to_owned());
        } else if run == 0 || run > every {
            let help = format!("1 to {every}, the value of `every`");
            wrong("run", format!("{run} of each {every} packets cannot be selected"), help);
        }
    }

    /// Checks the end of the fault, and the flow that is counted for it.
    fn check_end(&self, spec: &Spec, wrong: &mut Wrong<'_>) {
        let ends = [("count", self.count), ("rounds", self.rounds)];
        for (key, _) in ends.iter().filter(|(_, n)| *n == Some(0)) {
            wrong(key, "it would end before it begins".to_owned(), "at least 1".to_owned());
        }
        if self.duration == Some(Duration::ZERO) {
            wrong("duration", "it would end before it begins".to_owned(), "above 0 s".to_owned());
        }
        let flow = self.flow.as_ref().map(|flow| (flow, spec.flow.get(flow)));
        match flow {
            Some((flow, None)) => {
                let names: Vec<&String> = spec.flow.keys().collect();
                wrong("flow", format!("no flow `{flow}`"), near_or_all(flow, "flows", &names));
            }
            Some((flow, Some(f))) if self.rounds.is_some() && f.over_tcp().is_none() => {
                let help = "give `duration` or `count`".to_owned();
                wrong("rounds", format!("`flow.{flow}` has no round trips: it has no ACKs"), help);
            }
            None if self.rounds.is_some() => {
                let help = "give `flow`, or `duration` or `count`".to_owned();
                wrong("rounds", "whose round trips?".to_owned(), help);
            }
            _ => {}
        }
    }
}
