//! Changes that wait for a variable of a sender (`[[when]]`), and faults whose duration is given in
//! round trips of a sender.
//!
//! This module decides only the time. The change itself is computed by `Changes` and applied by the
//! world, as an `[[at]]` change is.

use lasthop_units::{Duration, FlowId, IndexVec, Instant};

use super::control::{Moment, Rounds, Seen};
use super::flow::{Flow, flows_of};
use crate::probe::Probes;
use crate::spec::{FaultSpec, ROUND, Spec, Wanted, When};
use crate::transport::{Observation, Observed, Observer};

/// The conditions that a run waits for.
pub(super) struct Triggers {
    /// The watches, by number of the `[[when]]` table.
    watches: Vec<Watch>,
    /// The round trips of each watched flow.
    rounds: Vec<(FlowId, Rounds)>,
    /// Faults with a duration in round trips.
    faults: Vec<FaultRounds>,
    /// Round trips that are awaited.
    waits: Vec<Wait>,
}

/// A fault that lasts a number of round trips of a flow.
struct FaultRounds {
    name: Box<str>,
    flow: FlowId,
    rounds: u64,
}

/// The condition of one `[[when]]` table.
struct Watch {
    /// The text for the table `events`.
    words: Box<str>,
    variable: Box<str>,
    wanted: Wanted,
    /// The table whose change must be made first.
    after: Option<usize>,
    /// Number of matching moments still to come.
    missing: u32,
    delay_rounds: u32,
    delay: Duration,
    /// Each watched flow, with the last value of its variable.
    flows: Vec<(FlowId, Last)>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Watching,
    /// The condition was met, by this flow; the delay has not passed.
    Waiting(FlowId),
    /// The change is made.
    Done,
}

/// The last value of a variable.
#[derive(Clone, Debug, Default, PartialEq)]
enum Last {
    #[default]
    Unknown,
    Number(f64),
    Text(Box<str>),
    /// A state, and the number of its changes so far.
    Trail(Box<str>, u64),
}

/// A wait for a number of round trips of a flow.
struct Wait {
    flow: FlowId,
    rounds: Rounds,
    wanted: u64,
    then: Then,
}

/// An event that has become due.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// The condition of the table of this number is met; its delay follows.
    When(usize),
    /// The end of the last round trip of this fault.
    EndFault(usize),
}

impl Triggers {
    pub fn new(spec: &Spec, flows: &IndexVec<FlowId, Flow>) -> Triggers {
        let number_of = |name: &String| spec.when.iter().position(|when| when.name.as_ref() == Some(name));
        let watch = |when: &When| Watch {
            words: when.name.clone().unwrap_or_else(|| when.words()).into(),
            variable: when.var.as_str().into(),
            wanted: when.wanted().unwrap_or_else(|e| unreachable!("checked before: {e:?}")),
            after: when.after.as_ref().and_then(number_of),
            missing: when.nth,
            delay_rounds: when.delay_rounds,
            delay: when.delay,
            flows: when.flow(spec).map_or(Vec::new(), |group| {
                flows_of(flows, group).into_iter().map(|flow| (flow, Last::Unknown)).collect()
            }),
            stage: Stage::Watching,
        };
        let watches: Vec<Watch> = spec.when.iter().map(watch).collect();
        let rounds_of = |(name, fault): (&String, &FaultSpec)| {
            let (group, rounds) = fault.rounds()?;
            let flow = *flows_of(flows, group).first()?;
            Some(FaultRounds { name: name.as_str().into(), flow, rounds: rounds.into() })
        };
        let faults: Vec<FaultRounds> = spec.fault.iter().filter_map(rounds_of).collect();
        let mut rounds: Vec<(FlowId, Rounds)> = Vec::new();
        let watched = watches.iter().flat_map(|w| &w.flows).map(|(flow, _)| *flow);
        for flow in watched.chain(faults.iter().map(|fault| fault.flow)) {
            if !rounds.iter().any(|(known, _)| *known == flow) {
                rounds.push((flow, Rounds::default()));
            }
        }
        let mut triggers = Triggers { watches, rounds, faults, waits: Vec::new() };
        for name in spec.fault.iter().filter(|(_, fault)| fault.autostart).map(|(name, _)| name) {
            triggers.begin_fault(name, |_| Rounds::default());
        }
        triggers
    }

    /// Starts or stops counting the round trips of a fault that starts or stops.
    pub fn run_fault(&mut self, name: &str, run: bool, flows: &IndexVec<FlowId, Flow>) {
        if run {
            self.begin_fault(name, |flow| Rounds::begin(flows[flow].seen()));
        } else {
            self.end_fault(name);
        }
    }

    /// Begins to count the round trips of a fault, with the counters `rounds` gives for a flow.
    fn begin_fault(&mut self, name: &str, rounds: impl Fn(FlowId) -> Rounds) {
        if let Some(number) = self.end_fault(name) {
            let FaultRounds { flow, rounds: wanted, .. } = self.faults[number];
            self.waits.push(Wait { flow, rounds: rounds(flow), wanted, then: Then::EndFault(number) });
        }
    }
    /// Stops counting the round trips of a fault. Returns its number, if it is a fault of round
    /// trips.
    fn end_fault(&mut self, name: &str) -> Option<usize> {
        let number = self.faults.iter().position(|fault| *fault.name == *name)?;
        self.waits.retain(|wait| wait.then != Then::EndFault(number));
        Some(number)
    }
    /// Returns the name of the fault of this number.
    pub fn fault(&self, number: usize) -> &str {
        &self.faults[number].name
    }

    /// Notes that the condition of `[[when]]` table number `number` is met and its delay has
    /// passed, in a row of the table `events`. Returns false if its change was made before.
    pub fn is_due(
        &mut self,
        now: Instant,
        number: usize,
        flows: &IndexVec<FlowId, Flow>,
        probes: &mut Probes,
    ) -> bool {
        let watch = &mut self.watches[number];
        let Stage::Waiting(flow) = std::mem::replace(&mut watch.stage, Stage::Done) else { return false };
        let source = format!("flow/{}", flows[flow].name);
        probes.event(now, &source, "when", Some(number as f64), &watch.words);
        true
    }

    /// Inspects the sender of `flow`. Returns the events that have become due, their round trips
    /// included, with the delay of each.
    #[cold]
    pub fn look(&mut self, flow: FlowId, seen: Seen<'_>, moment: Moment) -> Vec<(Then, Duration)> {
        let come = self.find(flow, seen, moment);
        let delay = |then: &Then| match then {
            Then::When(number) => self.watches[*number].delay,
            Then::EndFault(_) => Duration::ZERO,
        };
        come.into_iter().map(|then| (then, delay(&then))).collect()
    }

    fn find(&mut self, flow: FlowId, seen: Seen<'_>, moment: Moment) -> Vec<Then> {
        let Triggers { watches, rounds, waits, .. } = self;
        let mut come = Vec::new();
        let Some((_, rounds)) = rounds.iter_mut().find(|(known, _)| *known == flow) else { return come };
        let round = rounds.look(seen, moment);
        waits.retain_mut(|wait| {
            let over = wait.flow == flow && wait.rounds.look(seen, moment) >= Some(wait.wanted);
            if over {
                come.push(wait.then);
            }
            !over
        });
        let armed: Vec<bool> = watches.iter().map(|w| w.is_armed(watches)).collect();
        let mut show = |o: &Observation<'_>| {
            for (number, watch) in watches.iter_mut().enumerate() {
                if watch.stage != Stage::Watching || *watch.variable != *o.name {
                    continue;
                }
                if !watch.is_met(flow, o, armed[number]) {
                    continue;
                }
                watch.stage = Stage::Waiting(flow);
                if watch.delay_rounds > 0 {
                    let (rounds, wanted) = (Rounds::begin(seen), watch.delay_rounds.into());
                    waits.push(Wait { flow, rounds, wanted, then: Then::When(number) });
                } else {
                    come.push(Then::When(number));
                }
            }
        };
        if let Some(round) = round {
            let [name, unit, about] = ROUND;
            let value = Observed::Number(Some(round as f64));
            show(&Observation { name, unit, about, states: &[], value });
        }
        seen.observe(&mut Observer::new(&mut show));
        come
    }
}

impl Watch {
    /// True if the change that must be made first is made.
    fn is_armed(&self, all: &[Watch]) -> bool {
        self.after.is_none_or(|before| all[before].stage == Stage::Done)
    }

    /// Processes the value of the variable of `flow`. Returns true if this is the awaited moment.
    fn is_met(&mut self, flow: FlowId, o: &Observation<'_>, armed: bool) -> bool {
        let Watch { flows, wanted, missing, .. } = self;
        let Some((_, last)) = flows.iter_mut().find(|(own, _)| *own == flow) else { return false };
        let mut met = |before: &Last, after: &Last| {
            let met = armed && wanted.is_met(before, after);
            *missing -= u32::from(met && *missing > 0);
            met && *missing == 0
        };
        let next = match o.value {
            Observed::Number(None) => Last::Unknown,
            Observed::Number(Some(x)) | Observed::NotedNumber(x) => Last::Number(x),
            Observed::Text(text) | Observed::NotedText(text) => Last::Text(text.into()),
            Observed::Trail { changes, latest } => {
                let known = if let Last::Trail(_, known) = last { *known } else { 0 };
                let fresh = ((changes - known) as usize).min(latest.len());
                let mut come = false;
                for text in &latest[latest.len() - fresh..] {
                    let next = Last::Trail((*text).into(), changes);
                    come |= met(last, &next);
                    *last = next;
                }
                return come;
            }
        };
        if *last == next {
            return false;
        }
        let come = met(last, &next);
        *last = next;
        come
    }
}

impl Last {
    fn text(&self) -> Option<&str> {
        match self {
            Last::Text(text) | Last::Trail(text, _) => Some(text),
            Last::Unknown | Last::Number(_) => None,
        }
    }
    fn number(&self) -> Option<f64> {
        if let Last::Number(x) = self { Some(*x) } else { None }
    }
}

impl Wanted {
    /// True if the change from one value to the other matches.
    fn is_met(&self, before: &Last, after: &Last) -> bool {
        let crosses = |beyond: &dyn Fn(f64) -> bool| {
            after.number().is_some_and(beyond) && !before.number().is_some_and(beyond)
        };
        match self {
            Wanted::Text(to, from) => {
                after.text() == Some(to) && from.as_ref().is_none_or(|from| before.text() == Some(from))
            }
            Wanted::Number(to, from) => {
                after.number() == Some(*to) && from.is_none_or(|from| before.number() == Some(from))
            }
            Wanted::Above(bound) => crosses(&|x| x > *bound),
            Wanted::Below(bound) => crosses(&|x| x < *bound),
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_units::Id;

    use super::super::testing::world;
    use super::*;

    const FLOWS: &str = "[scenario]\nname = 'triggers'\nduration = '1 s'\n\
        [link.x]\nbetween = ['a', 'b']\n[flow.f]\nfrom = 'a'\nto = 'b'\n[flow.g]\nfrom = 'a'\nto = 'b'\n";

    fn flow(n: usize) -> FlowId {
        FlowId::from_index(n)
    }

    /// Returns a watch of the first flow.
    fn watch(wanted: Wanted, nth: u32) -> Watch {
        Watch {
            words: "words".into(),
            variable: "v".into(),
            wanted,
            after: None,
            missing: nth,
            delay_rounds: 0,
            delay: Duration::ZERO,
            flows: vec![(flow(0), Last::Unknown)],
            stage: Stage::Watching,
        }
    }

    /// Returns the indices, from 0, of the values at which the condition is met.
    fn moments(mut watch: Watch, values: &[Observed<'_>]) -> Vec<usize> {
        let at = |value| Observation { name: "v", unit: "", about: "", states: &[], value };
        (0..values.len()).filter(|i| watch.is_met(flow(0), &at(values[*i]), true)).collect()
    }

    fn numbers(watch: Watch, values: &[f64]) -> Vec<usize> {
        let all: Vec<Observed<'_>> = values.iter().map(|x| Observed::Number(Some(*x))).collect();
        moments(watch, &all)
    }

    /// A bound is crossed from the other side or from no value, not by staying beyond it. After the
    /// n-th crossing each further one matches; the table has then made its change.
    #[test]
    fn a_bound_is_met_when_it_is_crossed() {
        let values = [12.0, 15.0, 10.0, 11.0, 11.5, 3.0, 20.0];
        assert_eq!(numbers(watch(Wanted::Above(10.0), 1), &values), [0, 3, 6]);
        assert_eq!(numbers(watch(Wanted::Above(10.0), 2), &values), [3, 6]);
        assert_eq!(numbers(watch(Wanted::Below(11.0), 1), &values), [2, 5]);
        let gone = [Observed::Number(Some(12.0)), Observed::Number(None), Observed::Number(Some(12.0))];
        assert_eq!(moments(watch(Wanted::Above(10.0), 1), &gone), [0, 2], "no value meanwhile");
    }

    #[test]
    fn a_value_may_have_to_come_after_another() {
        let values = [1.0, 2.0, 1.0, 3.0, 1.0, 1.0];
        assert_eq!(numbers(watch(Wanted::Number(1.0, None), 1), &values), [0, 2, 4]);
        assert_eq!(numbers(watch(Wanted::Number(1.0, Some(3.0)), 1), &values), [4]);
        let texts = ["up", "down", "up"].map(Observed::Text);
        let wanted = Wanted::Text("up".to_owned(), Some("down".to_owned()));
        assert_eq!(moments(watch(wanted, 1), &texts), [2]);
    }

    /// Each change of a state since the last inspection counts, also states that lasted no time:
    /// the second inspection finds three new changes, of which "up" after "down" is the second
    /// match.
    #[test]
    fn each_change_of_a_state_since_the_last_inspection_counts() {
        let looks = [
            Observed::Trail { changes: 2, latest: &["down", "up"] },
            Observed::Trail { changes: 5, latest: &["down", "up", "flat", "down", "up"] },
            Observed::Trail { changes: 5, latest: &["down", "up", "flat", "down", "up"] },
        ];
        let up = |from: Option<&str>| Wanted::Text("up".to_owned(), from.map(str::to_owned));
        assert_eq!(moments(watch(up(None), 2), &looks), [1]);
        assert_eq!(moments(watch(up(Some("down")), 1), &looks), [0, 1]);
        assert!(moments(watch(up(Some("flat")), 1), &looks).is_empty());
    }

    /// Values before the table that must come first has made its change do not count, but the last
    /// value is recorded: the bound must be crossed anew.
    #[test]
    fn what_comes_while_a_table_is_not_armed_does_not_count() {
        let mut watch = watch(Wanted::Above(10.0), 1);
        let mut is_met = |x, armed| {
            let value = Observed::Number(Some(x));
            watch.is_met(flow(0), &Observation { name: "v", unit: "", about: "", states: &[], value }, armed)
        };
        assert!(!is_met(12.0, false));
        assert!(!is_met(13.0, true));
        assert!(!is_met(9.0, true));
        assert!(is_met(11.0, true));
    }

    /// A sender that has not begun has a window of one segment: below 5 at the first inspection.
    /// The second table waits until the change of the first is made, and then for a crossing.
    #[test]
    fn a_table_comes_once_and_for_its_own_flow() {
        let text = format!(
            "{FLOWS}[[when]]\nname = 'low'\nflow = 'f'\nvar = 'cwnd'\nbelow = 5\ndelay = '3 ms'\nstop = 'flow.g'\n\
             [[when]]\nflow = 'f'\nafter = 'low'\nvar = 'cwnd'\nbelow = 5\nstop = 'flow.g'\n"
        );
        let mut world = world(&text);
        let (triggers, flows) = (world.triggers.as_deref_mut().unwrap(), &world.flows);
        let mut look = |n| triggers.look(flow(n), flows[flow(n)].seen(), Moment::Other);
        assert!(look(1).is_empty(), "nothing watches it");
        assert!(look(0) == [(Then::When(0), Duration::from_millis(3))]);
        assert!(look(0).is_empty());
        assert!(triggers.is_due(Instant(9), 0, flows, &mut world.probes));
        assert!(!triggers.is_due(Instant(9), 0, flows, &mut world.probes), "its change is made once");
        assert!(!triggers.is_due(Instant(9), 1, flows, &mut world.probes), "nothing has come yet");
        assert!(triggers.look(flow(0), flows[flow(0)].seen(), Moment::Other).is_empty());
    }

    /// A wait for a fault's round trips exists once, from its last start, and ends with the fault;
    /// other faults have none.
    #[test]
    fn round_trips_of_a_fault_are_counted_from_its_last_start() {
        let text = format!(
            "{FLOWS}[fault.long]\nlink = 'x.forward'\naction = 'drop'\nflow = 'f'\nrounds = 3\n\
             [fault.other]\nlink = 'x.forward'\naction = 'drop'\ncount = 3\nautostart = false\n\
             [[at]]\nt = '1 ms'\nstart = 'fault.other'\n"
        );
        let mut world = world(&text);
        let (triggers, flows) = (world.triggers.as_deref_mut().unwrap(), &world.flows);
        let waits = |triggers: &Triggers| triggers.waits.iter().map(|w| w.wanted).collect::<Vec<_>>();
        assert_eq!(waits(triggers), [3], "it starts with the run");
        for (name, run, expected) in
            [("long", true, &[3][..]), ("other", true, &[3]), ("long", false, &[]), ("long", true, &[3])]
        {
            triggers.run_fault(name, run, flows);
            assert_eq!(waits(triggers), expected, "{name} {run}");
        }
        assert_eq!(triggers.fault(0), "long");
    }
}
