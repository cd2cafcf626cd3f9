//! What handover and re-establishment do in the network: the answers of cells, a UE that leaves one
//! cell for another, and one that is served again or forgotten.

use lasthop_units::{CellId, Instant, Tti, UeId};

use super::{Due, NetworkOutput, RadioNetwork};
use crate::mac::adaptation::Quality;
use crate::mac::downlink::Average;
use crate::mac::random_access::RandomAccessConfig;
use crate::phy::TTI;
use crate::rrc::RrcTiming;
use crate::rrc::mobility::Answer;
use lasthop_bearer::{Direction, DropCause, End};

/// Preambles of a cell in all (TS 36.211 clause 5.7.2).
const PREAMBLES: u8 = 64;

impl RadioNetwork {
    /// Admission control: the cell takes `ue` beside those that it has.
    pub(super) fn admits(&self, cell: CellId, ue: UeId) -> bool {
        let Some(m) = &self.mobility else { return true };
        if self.cells[cell].is_down() {
            return false;
        }
        let Some(most) = m.config.users.value() else { return true };
        let other = |u: &UeId| *u != ue && self.links[*u].serving == cell && self.ues[*u].rrc.is_connected();
        self.ues.ids().filter(other).count() < most as usize
    }

    /// What the cell of `ue` finds for its re-establishment: nobody answers for an eNB that is
    /// switched off.
    pub(super) fn context_from(&self, ue: UeId, source: CellId) -> Answer {
        let cell = self.links[ue].serving;
        let dead = self.cells[source].is_down() && self.core.as_ref().is_some_and(|c| c.is_home(ue, source));
        Answer { admitted: self.admits(cell, ue), reachable: !dead }
    }

    /// The UE hears the command of its eNB.
    pub(super) fn hears_command(&mut self, tti: Tti, ue: UeId) -> bool {
        let cell = self.links[ue].serving;
        self.cells[cell].config.rrc.timing == RrcTiming::Ideal || !self.misses_control(tti, cell, ue)
    }

    /// Cell selection (TS 36.304 clause 5.2.7): the strongest suitable cell, and when its system
    /// information is read.
    pub(super) fn suitable_cell(&mut self, tti: Tti, ue: UeId) -> Option<(CellId, Tti)> {
        let cell = self.strongest_cell(tti, ue)?;
        let rrc = self.cells[cell].config.rrc;
        Some((cell, if rrc.timing == RrcTiming::Ideal { tti } else { rrc.informed(tti) }))
    }

    /// The UE leaves its cell for `cell`, and nobody schedules it.
    pub(super) fn detach(&mut self, ue: UeId, cell: CellId) {
        self.links[ue].away = true;
        self.camp(ue, cell);
    }

    /// The UE has left its cell for `cell`.
    pub(super) fn camp(&mut self, ue: UeId, cell: CellId) {
        self.reset_downlink(ue);
        self.reset_uplink(ue);
        self.forget_in_cell(ue);
        let source = self.links[ue].serving;
        let persistent = [
            self.links[ue].downlink.persistent.is_some().then_some(Direction::Downlink),
            self.links[ue].uplink.persistent.is_some().then_some(Direction::Uplink),
        ];
        for direction in persistent.into_iter().flatten() {
            self.cells[source].persistent(direction).retain(|other| *other != ue);
            let list = self.cells[cell].persistent(direction);
            let place = list.partition_point(|other| *other < ue);
            list.insert(place, ue);
        }
        let config = &self.cells[cell].config;
        let two = config.downlink.mimo.two_code_words();
        let link = &mut self.links[ue];
        let cx = &mut self.contexts[ue];
        let u = &mut self.ues[ue];
        link.serving = cell;
        cx.downlink.quality = Quality::new(config.downlink.olla());
        cx.downlink.average = Average::default();
        if two && link.downlink.harq[1].is_none() {
            link.downlink.harq[1] = Some(Box::default());
        }
        cx.downlink.served = None;
        (cx.downlink.zone_until, link.downlink.boost) =
            (Tti(0), lasthop_radio::linear(link.downlink.p_a) as f32);
        cx.uplink.quality.reset(config.uplink.outer_loop.olla());
        cx.uplink.average = Average::default();
        u.uplink.power = lasthop_radio::lte::PowerControl::default();
        cx.uplink.headroom = None;
        cx.uplink.served = None;
    }

    /// The UE is in no list of its cell any more.
    pub(super) fn forget_in_cell(&mut self, ue: UeId) {
        let serving = self.links[ue].serving;
        for direction in Direction::BOTH {
            let i = direction.index();
            if std::mem::take(&mut self.contexts[ue].active[i]) {
                self.cells[serving].active[i].retain(|other| *other != ue);
            }
        }
    }

    /// Random access in the UE's cell; `dedicated`: with a preamble that no other UE has.
    pub(super) fn access_cell(&mut self, tti: Tti, ue: UeId, dedicated: bool) {
        let cell = self.links[ue].serving;
        let config: RandomAccessConfig = self.cells[cell].uplink.config.random_access;
        let preamble = if dedicated { self.dedicated_preamble(cell, &config) } else { None };
        self.ues[ue].uplink.access.stop();
        self.ues[ue].uplink.access.start(&config, tti, preamble);
        self.arm_uplink(ue);
    }

    fn dedicated_preamble(&mut self, cell: CellId, config: &RandomAccessConfig) -> Option<u8> {
        let m = self.mobility.as_mut()?;
        let reserved = u32::from(PREAMBLES.saturating_sub(config.preambles));
        (reserved > 0).then(|| {
            let n = m.preambles[cell];
            m.preambles[cell] = (n + 1) % reserved;
            config.preambles + n as u8
        })
    }

    /// The UE's cell schedules it from now on; the path is switched if its data takes a detour.
    pub(super) fn serve_again(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        self.links[ue].away = false;
        self.ues[ue].uplink.access.stop();
        self.contexts[ue].activity = tti;
        for i in 0..self.links[ue].drbs.len() {
            let bearer = self.links[ue].drbs[i];
            self.settle(now, bearer, out);
        }
        for direction in Direction::BOTH {
            if self.links[ue].full_buffer[direction.index()] {
                self.wake(ue, direction);
            }
        }
        self.contexts[ue].uplink.view.request();
        self.wake(ue, Direction::Uplink);
        let open = self.first_open();
        if let Some(at) = self.core.as_mut().and_then(|core| core.request_switch(ue, tti, open)) {
            self.calendar.note(at, Due::PathSwitch { ue });
        }
    }

    /// The connection of the UE is gone, with what the network held for it.
    pub(super) fn forget(&mut self, now: Instant, ue: UeId, out: &mut NetworkOutput) {
        self.links[ue].away = false;
        self.ues[ue].uplink.access.stop();
        self.reset_downlink(ue);
        self.reset_uplink(ue);
        self.ues[ue].rrc.release();
        self.abandon(now, ue, out);
        self.settle_at(now, ue, self.links[ue].serving, out);
    }

    /// Drops all that the bearers of `ue` hold at the network's end: its context is gone.
    pub(super) fn abandon(&mut self, now: Instant, ue: UeId, out: &mut NetworkOutput) {
        for i in 0..self.links[ue].drbs.len() {
            let bearer = self.links[ue].drbs[i];
            self.bearers.abandon(now, bearer, DropCause::RadioLinkFailure);
            self.settle(now, bearer, out);
        }
    }

    /// MAC looks at what an end of `bearer` has.
    pub(super) fn rouse(&mut self, bearer: lasthop_units::BearerId) {
        let ue = self.bearers[bearer].ue;
        if self.is_served(ue) {
            if self.bearers[bearer].layers.wants(End::Network) {
                self.wake(ue, Direction::Downlink);
            }
            self.uplink_data(self.first_open().start(TTI), ue, bearer);
        }
    }
}
