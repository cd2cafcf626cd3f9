//! Changes during the run: what `[[at]]` and the stepping caller do to a world.

use lasthop_units::Instant;

use super::flow::flows_of;
use super::socket::{change_app, pause_flow};
use super::trigger::count_rounds_of_fault;
use super::{World, apply_worked_out};
use crate::access::Adapter;
use crate::error::Error;
use crate::spec::{AccessChange, Action, At, LinkChange};

impl World {
    pub(super) fn on_change(&mut self, now: Instant, n: u32) {
        let n = n as usize;
        match &mut self.triggers {
            Some(triggers) => {
                let worked_out = triggers.changes.at(n);
                apply_worked_out(self, now, worked_out);
            }
            None => {
                let actions = std::mem::take(&mut self.changes[n]);
                self.apply_at(now, actions);
            }
        }
    }

    /// Applies changes now.
    pub fn apply(&mut self, actions: Vec<Action>) {
        self.apply_at(self.now(), actions);
    }

    pub(super) fn apply_at(&mut self, now: Instant, actions: Vec<Action>) {
        for action in actions {
            if let Some(((source, kind), detail)) = action.event() {
                self.probes.event(now, &source, kind, None, detail);
            }
            match action {
                Action::StartFlow(group) => {
                    flows_of(&self.flows, &group).into_iter().for_each(|f| self.start_flow(now, f));
                }
                Action::StopFlow(group) => {
                    flows_of(&self.flows, &group).into_iter().for_each(|f| self.stop_flow(now, f));
                }
                Action::PauseFlow(group) => {
                    flows_of(&self.flows, &group).into_iter().for_each(|f| pause_flow(self, now, f, true));
                }
                Action::ResumeFlow(group) => {
                    flows_of(&self.flows, &group).into_iter().for_each(|f| pause_flow(self, now, f, false));
                }
                Action::ChangeFlow(ref group, ref app) => {
                    flows_of(&self.flows, group).into_iter().for_each(|f| change_app(self, now, f, app));
                }
                Action::StartNode(ref name) | Action::StopNode(ref name) => {
                    let run = matches!(action, Action::StartNode(_));
                    let nodes = &self.nodes;
                    let agents = self.snoops.iter_mut().filter(|s| *nodes[s.node].name == **name);
                    agents.for_each(|s| s.run(run));
                }
                Action::Access(ref change) => self.change_access(now, change),
            }
        }
    }

    fn change_access(&mut self, now: Instant, change: &AccessChange) {
        if let AccessChange::Link(LinkChange::Fault(name, run)) = change {
            count_rounds_of_fault(self, name, *run);
        }
        for id in self.accesses.ids() {
            if self.accesses[id].change(now, change, &mut self.output) {
                self.settle(now, id);
            }
        }
    }
}

/// What a caller's change does, where what is in force is kept by the world.
pub(crate) fn work_out(world: &mut World, at: &At) -> Option<Result<Vec<Action>, Error>> {
    world.triggers.as_mut().map(|triggers| triggers.changes.change(at))
}
