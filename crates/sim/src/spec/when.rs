//! Changes that wait for a variable of a sender.

use std::collections::BTreeMap;

use lasthop_net::app::media_variables;
use lasthop_net::media::RateControlName;
use lasthop_tcp::cc::Variable;
use lasthop_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::at::{At, Scalar};
use super::{FlowSpec, Spec};
use crate::config::{Diagnostics, Document, near_or_all};
use crate::extensions::Extensions;

/// The variable of the table `cc` that the world counts: name, unit, description.
pub const ROUND: [&str; 3] = [
    "round",
    "rounds",
    "round trips of the data: one ends with the first ACK of what was sent after its beginning (not where `output.cc` is \"interval\")",
];

/// Something that changes once a variable of a sender meets a condition: at the same ACK,
/// before the sender sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// A name for `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The condition is ignored until the `[[when]]` of this name has made its change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The table `[flow.<name>]` whose sender is watched; of several flows, the first one that
    /// meets the condition counts. May be left out where there is only one flow table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// A variable of the table `cc`: `"bbr.state"`, `"cwnd"`. `lasthop describe cc NAME` lists
    /// them.
    pub var: String,
    /// The value that it changes to: text, a number, or true and false for 1 and 0. Its first value
    /// is a change, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub becomes: Option<Scalar>,
    /// With `becomes`: the value that it had before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Scalar>,
    /// Instead of `becomes`: the variable rises above this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// Instead of `becomes`: the variable falls below this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// The change is made at the n-th time that the condition is met, counted from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    #[schemars(extend("x-default" = 1))]
    pub nth: u32,
    /// Delay in round trips of that flow.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub delay_rounds: u32,
    /// Delay after the round trips of `delay_rounds`.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub delay: Duration,
    /// Runtime keys and their new values, as in `[[at]]`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Scalar>,
    /// Something to start, as in `[[at]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Something to stop, as in `[[at]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// A flow to pause, as in `[[at]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<String>,
    /// A flow that continues, as in `[[at]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

fn first() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_first(n: &u32) -> bool {
    *n == 1
}

/// The condition of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// It becomes this text, after that one if there is one.
    Text(String, Option<String>),
    /// It becomes this number, after that one if there is one.
    Number(f64, Option<f64>),
    /// It becomes a number above this.
    Above(f64),
    /// It becomes a number below this.
    Below(f64),
}

impl When {
    /// The change, as an `[[at]]` table.
    pub fn change(&self) -> At {
        At {
            t: Duration::ZERO,
            set: self.set.clone(),
            start: self.start.clone(),
            stop: self.stop.clone(),
            pause: self.pause.clone(),
            resume: self.resume.clone(),
        }
    }

    /// The table of flows that is watched.
    pub fn flow<'a>(&'a self, spec: &'a Spec) -> Option<&'a str> {
        self.flow.as_deref().or_else(|| match spec.flow.len() {
            1 => spec.flow.keys().next().map(String::as_str),
            _ => None,
        })
    }

    /// The condition of the variable.
    ///
    /// # Errors
    /// The key that contradicts the others or has no effect, the mistake and the remedy.
    pub fn wanted(&self) -> Result<Wanted, (&'static str, &'static str, &'static str)> {
        let from = self.from.as_ref();
        let one = "give exactly one of `becomes`, `above` and `below`";
        match (&self.becomes, self.above, self.below) {
            (Some(becomes), None, None) => match (becomes, number(becomes), from.map(|f| (f, number(f)))) {
                (_, Some(x), None) => Ok(Wanted::Number(x, None)),
                (_, Some(x), Some((_, Some(y)))) => Ok(Wanted::Number(x, Some(y))),
                (Scalar::Text(to), _, None) => Ok(Wanted::Text(to.clone(), None)),
                (Scalar::Text(to), _, Some((Scalar::Text(from), _))) => {
                    Ok(Wanted::Text(to.clone(), Some(from.clone())))
                }
                (Scalar::List(_) | Scalar::Table(_), ..) => {
                    Err(("becomes", "a variable has one value", "give a text or a number"))
                }
                _ => Err((
                    "from",
                    "this is no value of that variable",
                    "give a text or a number as in `becomes`",
                )),
            },
            (None, ..) if from.is_some() => {
                Err(("from", "this has an effect only with `becomes`", "remove it, or give `becomes`"))
            }
            (None, Some(x), None) => Ok(Wanted::Above(x)),
            (None, None, Some(x)) => Ok(Wanted::Below(x)),
            (None, None, None) => Err(("", "the condition has no value for the variable", one)),
            _ => Err(("becomes", "these contradict each other", one)),
        }
    }

    /// The condition in words.
    pub fn words(&self) -> String {
        let from = self.from.as_ref().map_or(String::new(), |f| format!(" after {}", f.to_toml()));
        match (&self.becomes, self.above, self.below) {
            (Some(value), ..) => format!("{} becomes {}{from}", self.var, value.to_toml()),
            (_, Some(x), _) => format!("{} above {x}", self.var),
            (_, _, Some(x)) => format!("{} below {x}", self.var),
            _ => self.var.clone(),
        }
    }
}

fn number(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::Bool(b) => Some(f64::from(u8::from(*b))),
        Scalar::Integer(i) => Some(*i as f64),
        Scalar::Float(x) => Some(*x),
        Scalar::Text(_) | Scalar::List(_) | Scalar::Table(_) => None,
    }
}

/// Checks the conditions of a scenario.
pub(super) fn check(spec: &Spec, doc: &Document, extensions: &Extensions, found: &mut Diagnostics) {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, when) in spec.when.iter().enumerate() {
        let path = format!("when.{i}");
        if let Some(name) = &when.name
            && names.insert(name, i).is_some()
        {
            let message = format!("two conditions are called `{name}`");
            found.push(doc.error_at(&format!("{path}.name"), message).help("give each a name of its own"));
        }
        if let Err((key, message, help)) = when.wanted() {
            let at = if key.is_empty() { path.clone() } else { format!("{path}.{key}") };
            found.push(doc.error_at(&at, message).help(help));
        }
        if when.nth == 0 {
            let d = doc.error_at(&format!("{path}.nth"), "moments are counted from 1 on");
            found.push(d.help("1 means the first"));
        }
        check_variable(when, &path, spec, doc, extensions, found);
    }
    for (i, when) in spec.when.iter().enumerate() {
        let Some(after) = &when.after else { continue };
        let path = format!("when.{i}.after");
        if !names.contains_key(after.as_str()) {
            let all: Vec<&str> = names.keys().copied().collect();
            let help = if all.is_empty() {
                "give the `[[when]]` that comes before a `name`".to_owned()
            } else {
                near_or_all(after, "names", &all)
            };
            found.push(doc.error_at(&path, format!("no `[[when]]` is called `{after}`")).help(help));
        } else if waits_for_itself(spec, &names, i) {
            let d = doc.error_at(&path, "this waits for itself: it never occurs");
            found.push(d.help("one of them needs to be without `after`"));
        }
    }
}

/// True if the chain of `after` from table `i` returns to it.
fn waits_for_itself(spec: &Spec, names: &BTreeMap<&str, usize>, i: usize) -> bool {
    let mut at = i;
    for _ in 0..spec.when.len() {
        let next = spec.when[at].after.as_ref().and_then(|name| names.get(name.as_str()));
        match next {
            None => return false,
            Some(n) if *n == i => return true,
            Some(n) => at = *n,
        }
    }
    false
}

/// Checks that the flow has a sender with variables, and one of this name.
fn check_variable(
    when: &When,
    path: &str,
    spec: &Spec,
    doc: &Document,
    extensions: &Extensions,
    found: &mut Diagnostics,
) {
    let has_variables = |f: &FlowSpec| f.over_tcp().is_some() || f.app.rate_control().is_some();
    let Some(flow) = when.flow(spec) else {
        let d = doc.error_at(path, "which flow's variable is meant? There are several flows");
        let names: Vec<&String> =
            spec.flow.iter().filter(|(_, f)| has_variables(f)).map(|(n, _)| n).collect();
        found.push(d.help(format!("give `flow`; {}", near_or_all("", "flows with variables", &names))));
        return;
    };
    let named = spec.flow.get(flow);
    if let Some(control) = named.and_then(|f| f.app.rate_control()) {
        if matches!(control.name, RateControlName::Custom(_)) {
            // The variables of a caller's own control are known only when it runs.
            return;
        }
        let variables = media_variables(control.name, extensions.rate_controls());
        return check_value(when, control.name.name(), &variables, path, doc, found);
    }
    let Some(options) = named.and_then(FlowSpec::over_tcp) else {
        let names: Vec<&String> =
            spec.flow.iter().filter(|(_, f)| has_variables(f)).map(|(n, _)| n).collect();
        let key = if when.flow.is_some() { format!("{path}.flow") } else { path.to_owned() };
        let d = doc.error_at(&key, format!("no flow `{flow}` over TCP or of media: it has no variables"));
        found.push(d.help(near_or_all(flow, "flows with variables", &names)));
        return;
    };
    let Ok(config) = options.resolve_with(extensions.controls()) else { return };
    let registry = lasthop_tcp::registry();
    let Some(control) = registry.algorithms.iter().find(|a| a.name == config.cc.name()) else {
        // The variables of a caller's own control are known only when it runs.
        return;
    };
    let mut known = control.variables.clone();
    known.extend(lasthop_tcp::sender_variables());
    known.push(Variable::new(ROUND));
    check_value(when, control.name, &known, path, doc, found);
}

/// Checks that the control has a variable of this name, and that it can have the values of the
/// condition.
fn check_value(
    when: &When,
    control: &str,
    known: &[Variable],
    path: &str,
    doc: &Document,
    found: &mut Diagnostics,
) {
    let name = &when.var;
    let Some(variable) = known.iter().find(|v| v.name == *name) else {
        let names: Vec<&str> = known.iter().map(|v| v.name.as_str()).collect();
        let d = doc.error_at(&format!("{path}.var"), format!("`{control}` has no variable `{name}`"));
        found.push(d.help(near_or_all(name, "variables", &names)));
        return;
    };
    let states = &variable.states;
    let values = [("becomes", when.becomes.as_ref()), ("from", when.from.as_ref())];
    for (key, value) in values.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        let (message, help) = match (value, variable.is_state()) {
            (Scalar::Text(state), true) if !states.is_empty() && !states.contains(state) => {
                (format!("`{name}` has no state {}", value.to_toml()), near_or_all(state, "states", states))
            }
            (Scalar::Text(_), false) => {
                let help = "give a number; true and false are 1 and 0".to_owned();
                (format!("`{name}` is a number, which {} is not", value.to_toml()), help)
            }
            (Scalar::Bool(_) | Scalar::Integer(_) | Scalar::Float(_), true) => (
                format!("`{name}` is a state, which {} is not", value.to_toml()),
                near_or_all("", "states", states),
            ),
            // Neither text nor number: `wanted` has refused it.
            _ => continue,
        };
        found.push(doc.error_at(&format!("{path}.{key}"), message).help(help));
    }
    if variable.is_state() {
        for (key, bound) in [("above", when.above), ("below", when.below)] {
            if bound.is_some() {
                let d = doc.error_at(&format!("{path}.{key}"), format!("`{name}` is a state, not a number"));
                found.push(d.help(format!("give `becomes`; {}", near_or_all("", "states", states))));
            }
        }
    }
}
