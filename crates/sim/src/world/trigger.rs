//! Changes that wait for a variable of a sender (`[[when]]`), and faults that last round trips of
//! one.
//!
//! Here is only what decides when. What is done is worked out by `Changes` and applied by the
//! world, as an `[[at]]` change is.

use lasthop_units::{Duration, FlowId, IndexVec, Instant};

use super::control::{Moment, Rounds, Seen};
use super::flow::{Flow, flows_of};
use crate::probe::Probes;
use crate::spec::{FaultSpec, ROUND, Spec, Wanted, When};
use crate::transport::{Observation, Observed, Observer};

/// What a run waits for.
pub(super) struct Triggers {
    /// By number of the table.
    watches: Vec<Watch>,
    /// Of each flow that is watched.
    rounds: Vec<(FlowId, Rounds)>,
    /// Faults that last round trips.
    faults: Vec<FaultRounds>,
    /// Round trips that are waited for.
    waits: Vec<Wait>,
}

/// A fault that lasts so many round trips of a flow.
struct FaultRounds {
    name: Box<str>,
    flow: FlowId,
    rounds: u64,
}

/// What one table waits for.
struct Watch {
    /// In the table `events`.
    words: Box<str>,
    variable: Box<str>,
    wanted: Wanted,
    /// The table that comes before it.
    after: Option<usize>,
    /// So many of the moments are still to come.
    missing: u32,
    delay_rounds: u32,
    delay: Duration,
    /// Each flow that is watched, with the last value of its variable.
    flows: Vec<(FlowId, Last)>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Watching,
    /// The moment has come, of this flow; the delay has not passed.
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
    /// A state, and how many changes of it there were.
    Trail(Box<str>, u64),
}

/// So many round trips of a flow until something happens.
struct Wait {
    flow: FlowId,
    rounds: Rounds,
    wanted: u64,
    then: Then,
}

/// What has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// What the table of this number waits for; its delay goes on.
    When(usize),
    /// The end of this fault's last round trip.
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

    /// A fault starts or stops: its round trips are counted from now on, or no more.
    pub fn run_fault(&mut self, name: &str, run: bool, flows: &IndexVec<FlowId, Flow>) {
        if run {
            self.begin_fault(name, |flow| Rounds::begin(flows[flow].seen()));
        } else {
            self.end_fault(name);
        }
    }

    /// A fault begins: its round trips are counted, `rounds` of that flow.
    fn begin_fault(&mut self, name: &str, rounds: impl Fn(FlowId) -> Rounds) {
        if let Some(number) = self.end_fault(name) {
            let FaultRounds { flow, rounds: wanted, .. } = self.faults[number];
            self.waits.push(Wait { flow, rounds: rounds(flow), wanted, then: Then::EndFault(number) });
        }
    }
    /// A fault ends: its round trips are counted no more. Its number, if it is one of round trips.
    fn end_fault(&mut self, name: &str) -> Option<usize> {
        let number = self.faults.iter().position(|fault| *fault.name == *name)?;
        self.waits.retain(|wait| wait.then != Then::EndFault(number));
        Some(number)
    }
    /// The name of the fault of this number.
    pub fn fault(&self, number: usize) -> &str {
        &self.faults[number].name
    }

    /// What `[[when]]` table number `number` waited for has come, and its delay has passed: a row
    /// of the table `events`. False: it was done before.
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

    /// Looks at the sender of `flow`. What has come, its round trips included, and for how long it
    /// waits.
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
                if !watch.sees(flow, o, armed[number]) {
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
            show(&Observation { name, unit, about, value: Observed::Number(Some(round as f64)) });
        }
        seen.transport.observe(seen.end, &mut Observer::new(&mut show));
        come
    }
}

impl Watch {
    /// What has to come before it has.
    fn is_armed(&self, all: &[Watch]) -> bool {
        self.after.is_none_or(|before| all[before].stage == Stage::Done)
    }

    /// The variable of `flow` has this value. True: that is the moment.
    fn sees(&mut self, flow: FlowId, o: &Observation<'_>, armed: bool) -> bool {
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
    /// The change from one value to another is one of those that are meant.
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
