//! Changes during the run, checked before it starts.
//!
//! A change is read as another scenario: the keys are set in the document, the result is parsed and
//! checked like any file, and the differences from the values in force become actions. So a value
//! is validated by the same code whether it is in force at the start or later. Only the entries
//! that change are read: otherwise each of many changes would read every link.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use lasthop_units::{Duration, Instant};
use serde_json::Value;

use super::at::Scalar;
use super::kinds::{self, ALL, AccessChange, runtime_keys, spread};
use super::load::kind_of_default;
use super::memory::Memory;
use super::ways::Ways;
use super::{Action, At, NodeSpec, Scenario, Spec, access, check, sources};
use crate::config::{self, Diagnostics, Document, Node, Severity, suggest};
use crate::error::Error;

/// The table with a change: `at` or `when`, and its number.
type StandsIn = (&'static str, usize);

/// Makes an action from the name of its object.
type Make = fn(String) -> Action;

/// All changes of one instant. Their order does not depend on the order of the file: keys in
/// alphabetical order (a key before those below it), then starts, stops, pauses and their ends,
/// each by name.
#[derive(Debug, Default)]
pub(super) struct Moment {
    /// Keys with their values and tables; `None`: a caller's change.
    set: BTreeMap<String, (Scalar, Option<StandsIn>)>,
    start: BTreeMap<String, Option<StandsIn>>,
    stop: BTreeMap<String, Option<StandsIn>>,
    pause: BTreeMap<String, Option<StandsIn>>,
    resume: BTreeMap<String, Option<StandsIn>>,
}

impl Moment {
    /// Adds a table. A contradiction to earlier tables is an error: key and message.
    fn add(&mut self, at: &At, place: Option<StandsIn>) -> Result<(), (String, String)> {
        for (key, value) in &at.set {
            let (before, _) = self.set.entry(key.clone()).or_insert_with(|| (value.clone(), place));
            // Compared as text: NaN differs from itself, and has a separate error.
            let (a, b) = (before.to_toml(), value.to_toml());
            if a != b {
                return Err((key.clone(), format!("`{key}` becomes both {a} and {b} at {}", at.t)));
            }
        }
        self.start.extend(at.start.iter().map(|name| (name.clone(), place)));
        self.stop.extend(at.stop.iter().map(|name| (name.clone(), place)));
        self.pause.extend(at.pause.iter().map(|name| (name.clone(), place)));
        self.resume.extend(at.resume.iter().map(|name| (name.clone(), place)));
        for (one, other, what) in [
            (&self.start, &self.stop, "starts and stops"),
            (&self.pause, &self.resume, "is paused and resumed"),
        ] {
            if let Some(both) = one.keys().find(|name| other.contains_key(*name)) {
                return Err((String::new(), format!("`{both}` {what} at {}", at.t)));
            }
        }
        Ok(())
    }

    /// The table with a key.
    fn place(&self, key: &str) -> Option<StandsIn> {
        self.set.get(key).and_then(|(_, place)| *place)
    }
}

impl Scenario {
    /// The actions of all `[[at]]` tables, in order of time. The tables of one instant are one
    /// change, so their order in the file does not matter. Those of `[[when]]` tables depend on the
    /// run: they are only checked, as if they followed all others.
    pub(super) fn plan_changes(&self) -> Result<Vec<(Instant, Vec<Action>)>, Error> {
        let (mut moments, mut found) = self.moments_of_at();
        let mut planned = Vec::new();
        if moments.is_empty() && self.spec.when.is_empty() {
            return Ok(planned);
        }
        let mut in_force = InForce::of(self);
        let mut note = |result| match result {
            Err(Error::Input(more)) => {
                found.extend(more);
                Ok(None)
            }
            other => other.map(Some),
        };
        for (t, moment) in &mut moments {
            if let Some(actions) = note(in_force.step(self, moment))? {
                planned.push((Instant(t.0), actions));
            }
        }
        for number in 0..self.spec.when.len() {
            note(self.moment_of_when(number).and_then(|moment| in_force.step(self, &moment)))?;
        }
        if found.is_empty() { Ok(planned) } else { Err(Error::Input(found)) }
    }

    /// The changes of the `[[at]]` tables at each instant, and their contradictions.
    pub(super) fn moments_of_at(&self) -> (BTreeMap<Duration, Moment>, Diagnostics) {
        let mut moments: BTreeMap<Duration, Moment> = BTreeMap::new();
        let mut found = Diagnostics::new();
        for (i, at) in self.spec.at.iter().enumerate() {
            let place = Some(("at", i));
            if let Err((key, message)) = moments.entry(at.t).or_default().add(at, place) {
                found.push(self.complaint(place, &key, message).help("keep one of them"));
            }
        }
        (moments, found)
    }

    /// The changes of a `[[when]]` table.
    pub(super) fn moment_of_when(&self, number: usize) -> Result<Moment, Error> {
        let (mut moment, place) = (Moment::default(), Some(("when", number)));
        match moment.add(&self.spec.when[number].change(), place) {
            Ok(()) => Ok(moment),
            Err((key, message)) => {
                Err(Error::Input(self.complaint(place, &key, message).help("keep one of them").into()))
            }
        }
    }

    /// An error at the table at `place`, or about a call.
    fn complaint(&self, place: Option<StandsIn>, key: &str, message: String) -> config::Diagnostic {
        match place {
            Some((table, i)) if key.is_empty() => self.document.error_at(&format!("{table}.{i}"), message),
            Some((table, i)) => {
                self.document.error_at_key(&format!("{table}.{i}.set.{}", config::dotted([key])), message)
            }
            None => config::Diagnostic::error("set", message),
        }
    }
}

/// The state in force while the changes of a scenario are computed one after the other.
pub struct InForce {
    /// The document, with the values of profiles.
    document: Document,
    spec: Spec,
    memory: Memory,
    /// The state of each kind of access.
    accesses: Vec<access::InForce<AccessChange>>,
    /// Number of table entries that were read.
    entries_read: usize,
}

impl fmt::Debug for InForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InForce").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// The entries of a scenario that a change modifies.
struct Next {
    /// A document of these entries alone.
    document: Document,
    /// Their values alone.
    spec: Spec,
    /// Their tables and names.
    entries: BTreeSet<(String, String)>,
}

impl InForce {
    /// The state at the start of `scenario`.
    pub fn of(scenario: &Scenario) -> InForce {
        let (document, spec) = (scenario.filled(), scenario.spec.clone());
        let memory = Memory::of(&spec, &Ways::of(&spec));
        let accesses = kinds::in_force(&spec);
        InForce { document, spec, memory, accesses, entries_read: 0 }
    }

    /// Computes the actions of the world for a change that a caller makes now.
    ///
    /// # Errors
    /// The key is unknown or fixed during a run, the value is invalid, or the name does not exist.
    /// Nothing changes then.
    pub fn change(&mut self, scenario: &Scenario, at: &At) -> Result<Vec<Action>, Error> {
        let mut moment = Moment::default();
        if let Err((key, message)) = moment.add(at, None) {
            return Err(Error::Input(scenario.complaint(None, &key, message).into()));
        }
        self.step(scenario, &moment)
    }

    /// Sets the values in force in `scenario`.
    pub fn hand_over(self, scenario: &mut Scenario) {
        scenario.spec = self.spec;
    }

    /// Computes the actions of a moment; nothing changes if it is refused.
    pub(super) fn step(&mut self, scenario: &Scenario, moment: &Moment) -> Result<Vec<Action>, Error> {
        let mut actions = self.look_at_keys(scenario, moment)?;
        let mut starts = Vec::new();
        let start: [Make; 2] = [Action::StartNode, Action::StartFault];
        let stop: [Make; 2] = [Action::StopNode, Action::StopFault];
        for (names, make, make_others) in [
            (&moment.start, Action::StartFlow as Make, Some(start)),
            (&moment.stop, Action::StopFlow as Make, Some(stop)),
            (&moment.pause, Action::PauseFlow as Make, None),
            (&moment.resume, Action::ResumeFlow as Make, None),
        ] {
            for (name, place) in names {
                starts.push(self.start_or_stop(scenario, name, *place, make, make_others)?);
            }
        }
        if !moment.set.is_empty() {
            let next = self.read(scenario, moment)?;
            actions.extend(self.go_on_with(next));
        }
        actions.extend(starts);
        Ok(actions)
    }

    /// Reads the document and its values after `moment`, with all checks.
    fn read(&mut self, scenario: &Scenario, moment: &Moment) -> Result<Next, Error> {
        let written =
            || moment.set.iter().filter(|(key, (value, _))| spread(&self.spec, key, value).is_none());
        let entries: BTreeSet<_> = written().filter_map(|(key, _)| entry_of(key)).collect();
        let mut document = self.document.part(&entries);
        for (key, (value, _)) in written() {
            let set = format!("{key}={}", value.to_toml());
            document.spell_out_kinds(&set, kind_of_default);
            if let Err(e) = document.apply_set(&set) {
                return Err(self.at_their_keys(scenario, moment, e));
            }
        }
        let spec: Spec = document.read().map_err(|e| self.at_their_keys(scenario, moment, e))?;
        self.refuse_contradictions(scenario, moment)?;
        let mut found = Diagnostics::new();
        check::check_entries(&spec, &self.spec, &document, &mut found);
        if !found.has_errors() {
            self.memory.set_links(&spec, &spec);
            if let Some(refused) = self.memory.refusal(&document) {
                found.push(refused);
                self.memory.set_links(&spec, &self.spec);
            }
        }
        if found.has_errors() {
            return Err(self.at_their_keys(scenario, moment, found));
        }
        self.entries_read += entries.len();
        Ok(Next { document, spec, entries })
    }

    /// Takes over the entries that were read; differences become actions.
    fn go_on_with(&mut self, next: Next) -> Vec<Action> {
        let Next { document, spec: mut next, entries } = next;
        let spec = &mut self.spec;
        let changes = self.accesses.iter_mut().flat_map(|access| access(spec, &mut next));
        let mut actions: Vec<Action> = changes.map(Action::Access).collect();
        let sources = sources::take_over(spec, &mut next);
        actions.extend(sources.into_iter().map(|(name, app)| Action::ChangeFlow(name, Box::new(app))));
        self.document.adopt(document, &entries);
        actions
    }

    /// Refuses keys that must not change and names that do not exist; returns the actions of keys
    /// that have no entry in the document. Keys of several objects come first: a layout is switched
    /// before one of its cells.
    fn look_at_keys(&self, scenario: &Scenario, moment: &Moment) -> Result<Vec<Action>, Error> {
        let mut without_entry: Vec<Vec<AccessChange>> = Vec::new();
        for (key, (value, place)) in &moment.set {
            if !may_change(key) {
                let d = scenario.complaint(*place, key, format!("`{key}` is fixed during a run"));
                let list = "`lasthop describe runtime` lists what may change";
                let help = remedy(key).map_or_else(|| list.to_owned(), |r| format!("{r} {list}"));
                return Err(Error::Input(d.help(help).into()));
            }
            if let Some(changes) = spread(&self.spec, key, value) {
                let wrong = |message| Error::Input(scenario.complaint(*place, key, message).into());
                without_entry.push(changes.map_err(wrong)?);
                continue;
            }
            if let Some((name, near)) = self.unknown_name(key) {
                let d = scenario.complaint(*place, key, format!("nothing is called `{name}`"));
                return Err(Error::Input(d.help_opt(near.map(|n| format!("did you mean `{n}`?"))).into()));
            }
        }
        without_entry.sort_by_key(|changes| std::cmp::Reverse(changes.len()));
        Ok(without_entry.into_iter().flatten().map(Action::Access).collect())
    }

    /// Refuses values that contradict another key of the scenario.
    fn refuse_contradictions(&self, scenario: &Scenario, moment: &Moment) -> Result<(), Error> {
        for (access, key) in ALL.iter().flat_map(|access| moment.set.keys().map(move |key| (access, key))) {
            if let Some((message, help)) = access.ruled_out(&self.spec, key) {
                let d = scenario.complaint(moment.place(key), key, message);
                return Err(Error::Input(d.help(help).into()));
            }
        }
        Ok(())
    }

    /// The name in `key` that does not exist, with the nearest that does: setting a key must not
    /// create an entry.
    fn unknown_name<'a>(&self, key: &'a str) -> Option<(&'a str, Option<String>)> {
        let mut parts = key.split('.');
        let (table, name) = (parts.next()?, parts.next()?);
        let all = self.document.get(table).and_then(Node::as_table);
        if all.is_some_and(|all| all.get(name).is_some()) {
            return None;
        }
        // A name of one of several nodes: keys apply to all of them.
        let group = self.spec.groups().find(|group| group.table == table && group.has(name));
        let near = group.map(|group| group.name.to_owned());
        Some((name, near.or_else(|| suggest(name, all?.keys()))))
    }

    /// The action for a flow; also for a snoop agent or a fault, if `make_others` is given.
    fn start_or_stop(
        &self,
        scenario: &Scenario,
        name: &str,
        place: Option<StandsIn>,
        make: Make,
        make_others: Option<[Make; 2]>,
    ) -> Result<Action, Error> {
        let snoop = |n: &&str| matches!(self.spec.node.get(*n), Some(NodeSpec::Snoop(_)));
        if let Some([make_node, make_fault]) = make_others {
            if let Some(node) = name.strip_prefix("node.").filter(snoop) {
                return Ok(make_node(node.to_owned()));
            }
            if let Some(fault) = name.strip_prefix("fault.").filter(|f| self.spec.fault.contains_key(*f)) {
                return Ok(make_fault(fault.to_owned()));
            }
        }
        if let Some(flow) = name.strip_prefix("flow.").filter(|f| self.spec.flow.contains_key(*f)) {
            return Ok(make(flow.to_owned()));
        }
        let flows = self.spec.flow.keys().map(|f| format!("flow.{f}"));
        let nodes = self.spec.node.keys().filter(|_| make_others.is_some()).map(|n| format!("node.{n}"));
        let faults = self.spec.fault.keys().filter(|_| make_others.is_some()).map(|f| format!("fault.{f}"));
        let names: Vec<String> = flows.chain(nodes).chain(faults).collect();
        let of_table = names.iter().find(|n| n.split_once('.').is_some_and(|(_, own)| own == name)).cloned();
        let near = of_table.or_else(|| suggest(name, &names)).map(|n| format!("did you mean `{n}`?"));
        let d = scenario.complaint(place, "", format!("nothing is called `{name}`"));
        let otherwise = || {
            Some(match make_others {
                Some(_) => {
                    "flows, faults and snoop agents can be started and stopped: `flow.NAME`, `fault.NAME`, \
                     `node.NAME`"
                        .into()
                }
                None => "flows can be paused and resumed: `flow.NAME`".into(),
            })
        };
        Err(Error::Input(d.help_opt(near.or_else(otherwise)).into()))
    }

    /// Errors of the changed document, at the keys of `at` that caused them: each that has an entry
    /// was set by its own `apply_set`, in order.
    fn at_their_keys(&self, scenario: &Scenario, moment: &Moment, errors: Diagnostics) -> Error {
        let mut out = Diagnostics::new();
        for e in errors.iter().filter(|e| e.severity == Severity::Error) {
            let place = e.set.and_then(|set| set.checked_sub(self.document.sets() + 1));
            let mut written =
                moment.set.iter().filter(|(key, (value, _))| spread(&self.spec, key, value).is_none());
            let key = written.nth(place.unwrap_or(0)).map(|(key, _)| key);
            let key = key.or(moment.set.keys().next()).map_or("", |k| k);
            out.push(scenario.complaint(moment.place(key), key, e.message.clone()).help_opt(e.help.clone()));
        }
        Error::Input(out)
    }
}

/// A key that may change instead of `key`: the whole value of which the key is a part, or a similar
/// one.
fn remedy(key: &str) -> Option<String> {
    let mut whole = key;
    while let Some((above, _)) = whole.rsplit_once('.') {
        if may_change(above) {
            return Some(format!("`{above}` may change as a whole: give all of its values."));
        }
        whole = above;
    }
    suggest(key, all_runtime_keys().map(|k| k.0)).map(|near| format!("did you mean `{near}`?"))
}

/// Table and name of the entry of `key`. Every key that may change during a run belongs to an
/// entry.
fn entry_of(key: &str) -> Option<(String, String)> {
    let mut parts = key.split('.');
    Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
}

/// The keys of accesses and of applications that may change during a run.
fn all_runtime_keys() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    runtime_keys().chain(sources::RUNTIME_KEYS)
}

fn may_change(key: &str) -> bool {
    all_runtime_keys().any(|(pattern, _)| {
        let mut p = pattern.split('.');
        let mut k = key.split('.');
        loop {
            match (p.next(), k.next()) {
                (None, None) => return true,
                (Some("*"), Some(_)) => {}
                (Some(a), Some(b)) if a == b => {}
                _ => return false,
            }
        }
    })
}

/// The runtime keys as JSON, for `describe`.
pub fn describe_runtime_keys() -> Value {
    all_runtime_keys().map(|(key, text)| serde_json::json!({"key": key, "description": text})).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::WlanChange;
    use super::*;

    fn scenario(text: &str) -> Scenario {
        let head = "[scenario]\nname = 'c'\nduration = '1000 s'\n";
        Scenario::parse(&format!("{head}{text}"), "t.toml", Path::new(""), &[]).unwrap()
    }

    fn links(count: usize) -> String {
        let link = |n| format!("[link.l{n}]\nbetween = ['n{n}', 'n{}']\nrate = '1 Mbit/s'\n", n + 1);
        (0..count).map(link).collect()
    }

    /// Otherwise a thousand changes of a thousand links would read a million entries.
    #[test]
    fn a_change_reads_what_changes_and_not_the_rest() {
        let change = |n: usize| {
            let other = (n + 1) % 50;
            format!(
                "[[at]]\nt = '{n} s'\nset = {{ 'link.l{n}.rate' = '{n} kbit/s', 'link.l{n}.delay' = '1 ms', \
                 'link.l{other}.forward.loss' = '1 %' }}\n"
            )
        };
        let s = scenario(&format!("{}{}", links(50), (1..=40).map(change).collect::<String>()));
        let mut in_force = InForce::of(&s);
        for at in &s.spec.at {
            let actions = in_force.change(&s, at).unwrap();
            assert_eq!(actions.len(), 2, "{actions:?}");
        }
        assert_eq!(in_force.entries_read, 80);
        // The result is the same as if all of it had been read.
        assert_eq!(in_force.document.read::<Spec>().unwrap(), in_force.spec);
        let sets = s.spec.at.iter().flat_map(|at| &at.set);
        let sets: Vec<String> = sets.map(|(key, value)| format!("{key}={}", value.to_toml())).collect();
        assert_eq!(s.with_set(&sets).unwrap().spec().link, in_force.spec.link);
    }

    /// Of a hundred access points, stations and sidelinks each change reads one or two, with the
    /// same result as reading the whole scenario.
    #[test]
    fn a_change_of_a_radio_reads_what_changes_and_not_the_rest() {
        let wlan =
            |n: u32| format!("[ap.a{n}]\nchannel = {}\n[station.s{n}]\nap = 'a{n}'\n", 36 + 4 * (n % 4));
        let pair = |n: u32| {
            format!(
                "[ue.u{n}]\nrlc.mode = 'um'\n[ue.v{n}]\nrlc.mode = 'um'\n\
                 [sidelink.p{n}]\nbetween = ['u{n}', 'v{n}']\n"
            )
        };
        let change = |n: u32| {
            format!(
                "[[at]]\nt = '{n} s'\nset = {{ 'ap.a{n}.radio.power' = '3 dBm', 'station.s{n}.packets' = 7 }}\n\
                 [[at]]\nt = '{n}.5 s'\nset = {{ 'sidelink.p{n}.forward' = 'infrastructure' }}\n"
            )
        };
        let (radios, pairs): (String, String) = ((0..100).map(wlan).collect(), (0..100).map(pair).collect());
        let changes: String = (0..100).map(change).collect();
        let s = scenario(&format!("{radios}[cell.c]\n{pairs}{changes}"));
        let mut in_force = InForce::of(&s);
        for at in &s.spec.at {
            let actions = in_force.change(&s, at).unwrap();
            assert_eq!(actions.len(), at.set.len(), "{actions:?}");
        }
        assert_eq!(in_force.entries_read, 300);
        assert_eq!(in_force.document.read::<Spec>().unwrap(), in_force.spec);
        let sets = s.spec.at.iter().flat_map(|at| &at.set);
        let sets: Vec<String> = sets.map(|(key, value)| format!("{key}={}", value.to_toml())).collect();
        let whole = s.with_set(&sets).unwrap();
        assert_eq!(whole.spec(), &in_force.spec);
    }

    /// Stations drawn around an access point stay at their places when it moves, also when one of
    /// their keys changes later.
    #[test]
    fn a_later_change_moves_no_station_after_its_access_point() {
        let s = scenario(
            "[ap.a]\n[station.s]\ncount = 3\nring = { inner = '5 m', outer = '20 m' }\n\
             [[at]]\nt = '1 s'\nset = { 'ap.a.radio.position' = ['90 m', '0 m', '3 m'] }\n\
             [[at]]\nt = '2 s'\nset = { 'station.s.radio.power' = '10 dBm' }\n",
        );
        let placed: Vec<_> = s.spec().wireless().config.stations.iter().map(|s| s.radio.position).collect();
        let [_, (_, later)] = s.changes() else { panic!("{:?}", s.changes()) };
        let places = later.iter().map(|action| match action {
            Action::Access(AccessChange::Wlan(WlanChange::Station(_, _, station))) => station.radio.position,
            other => panic!("{other:?}"),
        });
        assert_eq!(places.collect::<Vec<_>>(), placed);
    }

    /// Values of a profile are in force before and after a change.
    #[test]
    fn a_change_under_a_profile_changes_nothing_else() {
        let s = scenario(&format!(
            "profile = 'ns3-3.44'\n{}[ap.a]\nnode = 'n0'\n[station.s]\n\
             [[at]]\nt = '1 s'\nset = {{ 'link.l0.rate' = '2 Mbit/s' }}\n\
             [[at]]\nt = '2 s'\nset = {{ 'ap.a.radio.power' = '3 dBm' }}\n",
            links(1)
        ));
        let [(_, first), (_, second)] = s.changes() else { panic!("{:?}", s.changes()) };
        assert!(matches!(first[..], [Action::Access(AccessChange::Link(..))]), "{first:?}");
        assert!(matches!(second[..], [Action::Access(AccessChange::Wlan(WlanChange::Ap(..)))]), "{second:?}");
    }

    #[test]
    fn a_change_that_is_refused_leaves_everything_as_it_was() {
        let s = scenario(&links(2));
        let mut in_force = InForce::of(&s);
        let set = |key: &str, value: &str| At {
            set: [(key.to_owned(), Scalar::Text(value.to_owned()))].into(),
            ..At::default()
        };
        for (key, value) in [("link.l0.rate", "fast"), ("link.l9.rate", "1 bit/s"), ("link.l0.mtu", "90 B")] {
            assert!(in_force.change(&s, &set(key, value)).is_err(), "{key}");
        }
        assert_eq!(&in_force.spec, s.spec());
        assert_eq!(in_force.change(&s, &set("link.l0.rate", "1 Mbit/s")).unwrap(), []);
        assert_eq!(in_force.change(&s, &set("link.l0.rate", "2 Mbit/s")).unwrap().len(), 1);
    }
}
