//! RRC connections in the network: attach, data for an idle UE, release.

use lasthop_units::{CellId, Id, Instant, Tti, UeId};

use super::{Due, NetworkEvent, NetworkOutput, RadioNetwork};
use crate::phy::TTI;
use crate::rrc::mobility::Input;
use crate::rrc::{Command, InitialState};
use lasthop_bearer::{Direction, End};

impl RadioNetwork {
    /// What each UE begins with.
    pub(super) fn begin_connections(&mut self) {
        for ue in self.ues.ids() {
            let config = self.cells[self.links[ue].serving].config.rrc;
            match config.start {
                InitialState::Attach => {
                    self.ues[ue].rrc.establish(&config, Tti(0));
                    self.arm_connection(ue);
                }
                InitialState::Connected => {
                    self.watch_activity(ue, Tti(0));
                    self.begin_looking(Instant::ZERO, Tti(0), ue, &mut NetworkOutput::default());
                }
                InitialState::Idle => {}
            }
        }
    }

    /// There is data for a UE that is not connected.
    pub(super) fn want_connection(&mut self, ue: UeId, direction: Direction) {
        if !self.ues[ue].rrc.is_idle() {
            return;
        }
        let from = self.first_open();
        let config = self.cells[self.links[ue].serving].config.rrc;
        let at = match direction {
            Direction::Uplink => from,
            // Its paging occasion: UEs are spread over the cycle (TS 36.304 clause 7.1).
            Direction::Downlink => {
                let cycle = config.paging_cycle.as_millis();
                let mine = (ue.index() as u64).wrapping_mul(37) % cycle;
                from.plus((cycle + mine - from.0 % cycle) % cycle)
            }
        };
        self.ues[ue].rrc.establish(&config, at);
        self.arm_connection(ue);
    }

    fn arm_connection(&mut self, ue: UeId) {
        if let Some(at) = self.ues[ue].rrc.poll_at() {
            self.calendar.note(at.max(self.first_open()), Due::Rrc { ue });
        }
    }

    /// A step of the UE's connection is due, or was until something else came first.
    pub(super) fn connection_step(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        let cell = self.links[ue].serving;
        let config = self.cells[cell].config.rrc;
        let Some(command) = self.ues[ue].rrc.on_tti(&config, tti) else { return };
        match command {
            Command::Access => {
                let cell = self.reselect(now, tti, ue, out);
                let access = &self.cells[cell].uplink.config.random_access;
                self.ues[ue].uplink.access.start(access, tti.plus(1), None);
                self.arm_uplink(ue);
            }
            Command::Failed => {
                self.ues[ue].uplink.access.stop();
                out.events.push((ue, NetworkEvent::ConnectionFailed(cell)));
            }
            Command::Connected => {
                out.events.push((ue, NetworkEvent::Connected(cell)));
                self.reset_uplink(ue);
                for i in 0..self.links[ue].drbs.len() {
                    let bearer = self.links[ue].drbs[i];
                    self.settle(now, bearer, out);
                }
                self.watch_activity(ue, tti);
                self.begin_looking(now, tti, ue, out);
            }
        }
        self.arm_connection(ue);
    }

    /// A UE that is about to connect does so in the strongest cell, where cells can be changed.
    fn reselect(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) -> CellId {
        let here = self.links[ue].serving;
        let Some(cell) = self.strongest_cell(tti, ue).filter(|cell| *cell != here) else { return here };
        self.camp(ue, cell);
        self.settle_at(now, ue, cell, out);
        cell
    }

    /// RRCConnectionRequest is at the eNB. One without room does not answer: T300 will expire.
    pub(super) fn connection_requested(&mut self, tti: Tti, ue: UeId) {
        if !self.admits(self.links[ue].serving, ue) {
            return;
        }
        let cell = &self.cells[self.links[ue].serving].config;
        let exchange = cell.rrc.exchange(cell.timing.decode, cell.timing.grant);
        self.ues[ue].rrc.on_request_heard(tti, exchange);
        // RRCConnectionSetup carries the contention resolution identity.
        self.calendar.note(tti.plus(cell.timing.decode), Due::ContentionResolved { ue });
        self.arm_connection(ue);
    }

    /// The eNB looks again when the UE could have been inactive for long enough.
    fn watch_activity(&mut self, ue: UeId, since: Tti) {
        let config = &self.cells[self.links[ue].serving].config.rrc;
        if let Some(timer) = config.inactivity.value() {
            let at = since.plus(timer.as_millis()).max(self.first_open());
            self.calendar.note(at, Due::Inactivity { ue });
        }
    }

    /// A UE that had no data for the inactivity timer is released.
    pub(super) fn check_activity(&mut self, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        let cell = self.links[ue].serving;
        let Some(timer) = self.cells[cell].config.rrc.inactivity.value() else { return };
        if !self.ues[ue].rrc.is_connected() {
            return;
        }
        let link = &self.links[ue];
        let cx = &self.contexts[ue];
        if self.is_away(ue) {
            return self.watch_activity(ue, tti);
        }
        let waits = |b: &lasthop_units::BearerId| {
            let layers = &self.bearers[*b].layers;
            [End::Network, End::Ue].iter().any(|end| layers.buffer_status(*end).total() > 0)
        };
        let since = if link.drbs.iter().any(waits) { tti } else { cx.activity };
        if since.plus(timer.as_millis()) > tti {
            self.watch_activity(ue, since);
            return;
        }
        self.reset_downlink(ue);
        self.reset_uplink(ue);
        self.ues[ue].rrc.release();
        self.mobility_input(tti.start(TTI), tti, ue, Input::Released, out);
        out.events.push((ue, NetworkEvent::Released(cell)));
    }
}
