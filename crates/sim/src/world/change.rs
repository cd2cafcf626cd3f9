//! Changes of a world during the run: by `[[at]]`, `[[when]]` and the stepping caller.

use lasthop_units::{Duration, FlowId, Instant};

use super::World;
use super::control::Moment;
use super::flow::{AppCommand, flows_of};
use super::trigger::Then;
use crate::access::{Access, AccessOutput, Adapter};
use crate::error::Error;
use crate::event::Event;
use crate::spec::{Action, At, LiveChanges, Scenario};

/// The changes of a scenario.
pub(crate) enum Changes {
    /// All of them were computed before the run: actions by the number of their instant.
    Known(Vec<Vec<Action>>),
    /// Each is computed when it occurs, against the values in force then.
    Live(Box<LiveChanges>),
}

impl Changes {
    /// The changes of a scenario.
    pub(super) fn of(scenario: &Scenario) -> Changes {
        match LiveChanges::of(scenario) {
            Some(live) => Changes::Live(Box::new(live)),
            None => Changes::Known(scenario.changes().iter().map(|(_, actions)| actions.clone()).collect()),
        }
    }

    /// The actions of the `[[at]]` tables of instant number `n`.
    fn at(&mut self, n: usize) -> Result<Vec<Action>, Error> {
        match self {
            Changes::Known(changes) => Ok(std::mem::take(&mut changes[n])),
            Changes::Live(live) => live.at(n),
        }
    }

    /// The actions of the `[[when]]` table number `n`.
    fn when(&mut self, n: usize) -> Result<Vec<Action>, Error> {
        match self {
            Changes::Known(_) => unreachable!("a scenario with `[[when]]` tables has live changes"),
            Changes::Live(live) => live.when(n),
        }
    }

    /// The actions of a caller's change; `None`: the values in force are not kept here.
    pub(crate) fn work_out(&mut self, at: &At) -> Option<Result<Vec<Action>, Error>> {
        match self {
            Changes::Known(_) => None,
            Changes::Live(live) => Some(live.change(at)),
        }
    }
}

impl World {
    pub(super) fn on_change(&mut self, now: Instant, n: u32) {
        let actions = self.changes.at(n as usize);
        self.apply_at(now, actions);
    }

    /// Processes a possible change of the sender of a flow's data: writes rows of the table `cc`,
    /// and triggers changes that wait for it.
    #[cold]
    pub(super) fn watch_control(&mut self, now: Instant, flow: FlowId, moment: Moment) {
        self.flows[flow].note_control(&mut self.probes, now, moment);
        let (Some(triggers), f) = (&mut self.triggers, &self.flows[flow]) else { return };
        if f.started.is_none() {
            return;
        }
        for (then, delay) in triggers.look(flow, f.seen(), moment) {
            match then {
                Then::EndFault(number) => {
                    let fault = self.triggers.as_ref().map(|triggers| triggers.fault(number).to_owned());
                    self.apply_at(now, Ok(fault.into_iter().map(Action::StopFault).collect()));
                }
                Then::When(number) if delay == Duration::ZERO => self.on_when(now, number),
                Then::When(number) if now + delay <= self.end => {
                    let event = Event::When(number as u32);
                    self.queue.schedule(now + delay, event.class(), event);
                }
                Then::When(_) => {}
            }
        }
    }

    /// Carries out the change of `[[when]]` table number `number`, whose condition was met and
    /// whose delay has passed.
    pub(super) fn on_when(&mut self, now: Instant, number: usize) {
        let World { triggers: Some(triggers), flows, probes, .. } = self else { return };
        if triggers.is_due(now, number, flows, probes) {
            let actions = self.changes.when(number);
            self.apply_at(now, actions);
        }
    }

    /// Applies changes now.
    pub fn apply(&mut self, actions: Vec<Action>) {
        self.apply_at(self.now(), Ok(actions));
    }

    /// Applies changes that were computed now; if they are invalid with the values in force, the
    /// run ends with the error.
    fn apply_at(&mut self, now: Instant, actions: Result<Vec<Action>, Error>) {
        if let Err(error) = actions {
            self.fault.get_or_insert_with(|| Box::new(error));
            return;
        }
        for action in actions.into_iter().flatten() {
            if let Some(((source, kind), detail)) = action.event() {
                self.probes.event(now, &source, kind, None, detail);
            }
            match &action {
                Action::StartFlow(group) => {
                    flows_of(&self.flows, group).into_iter().for_each(|f| self.start_flow(now, f));
                }
                Action::StopFlow(group) => {
                    flows_of(&self.flows, group)
                        .into_iter()
                        .for_each(|f| self.command_flow(now, f, AppCommand::Stop));
                }
                Action::PauseFlow(group) => {
                    flows_of(&self.flows, group)
                        .into_iter()
                        .for_each(|f| self.command_flow(now, f, AppCommand::Pause));
                }
                Action::ResumeFlow(group) => {
                    flows_of(&self.flows, group)
                        .into_iter()
                        .for_each(|f| self.command_flow(now, f, AppCommand::Resume));
                }
                Action::ChangeFlow(group, app) => {
                    flows_of(&self.flows, group)
                        .into_iter()
                        .for_each(|f| self.command_flow(now, f, AppCommand::Change(app)));
                }
                Action::StartNode(name) | Action::StopNode(name) => {
                    let run = matches!(action, Action::StartNode(_));
                    let nodes = &self.nodes;
                    let agents = self.snoops.iter_mut().filter(|s| *nodes[s.node].name == **name);
                    agents.for_each(|s| s.run(run));
                }
                Action::StartFault(name) | Action::StopFault(name) => {
                    let run = matches!(action, Action::StartFault(_));
                    if let Some(triggers) = &mut self.triggers {
                        triggers.run_fault(name, run, &self.flows);
                    }
                    self.change_accesses(now, |access, out| access.run_fault(now, name, run, out));
                }
                Action::Access(change) => {
                    self.change_accesses(now, |access, out| access.change(now, change, out));
                }
            }
        }
    }

    /// Calls `change` for each access, which returns whether it concerns the access.
    fn change_accesses(&mut self, now: Instant, change: impl Fn(&mut Access, &mut AccessOutput) -> bool) {
        for id in self.accesses.ids() {
            if change(&mut self.accesses[id], &mut self.output) {
                self.settle(now, id);
            }
        }
    }
}
