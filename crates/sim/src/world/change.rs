//! Changes during the run: what `[[at]]` and the stepping caller do to a world.

use lasthop_units::{FlowId, Instant};

use super::World;
use crate::spec::Action;

impl World {
    pub(super) fn on_change(&mut self, now: Instant, n: u32) {
        let actions = std::mem::take(&mut self.changes[n as usize]);
        self.apply_at(now, actions);
    }

    /// Applies changes now.
    pub fn apply(&mut self, actions: Vec<Action>) {
        self.apply_at(self.now(), actions);
    }

    fn apply_at(&mut self, now: Instant, actions: Vec<Action>) {
        for action in actions {
            if let Some((source, kind)) = action.event() {
                self.probes.event(now, &source, kind, None, "");
            }
            match action {
                Action::Link(..)
                | Action::Bearer(..)
                | Action::Cell(..)
                | Action::Sidelink(..)
                | Action::Ap(..)
                | Action::Station(..) => self.change_access(now, &action),
                Action::StartFlow(group) => {
                    self.flows_of(&group).into_iter().for_each(|f| self.start_flow(now, f));
                }
                Action::StopFlow(group) => {
                    self.flows_of(&group).into_iter().for_each(|f| self.stop_flow(now, f));
                }
                Action::StartNode(name) => self.run_snoop(now, &name, true),
                Action::StopNode(name) => self.run_snoop(now, &name, false),
            }
        }
    }

    fn flows_of(&self, group: &str) -> Vec<FlowId> {
        self.flows
            .enumerate()
            .filter(|(_, f)| &*f.group == group && f.leg.as_deref().is_none_or(|leg| leg.previous.is_none()))
            .map(|(id, _)| id)
            .collect()
    }

    fn change_access(&mut self, now: Instant, action: &Action) {
        for id in self.accesses.ids() {
            if self.accesses[id].change(now, action, &mut self.output) {
                self.settle(now, id);
            }
        }
    }
}
