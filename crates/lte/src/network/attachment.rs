//! A UE and the cell that serves it: the state of each that belongs to the other.

use lasthop_units::{BearerId, CellId, IndexVec, Tti, UeId};

use super::calendar::{Agenda, Due};
use super::state::{Cell, Link, Turns, Ue, UeContext};
use crate::mac::adaptation::Quality;
use crate::mac::downlink::Average;
use crate::mac::scheduler::qci::{Qos, priority_of};
use lasthop_bearer::Direction;

/// The state of a UE at both ends of its link, and the cells.
pub(super) struct Attachment<'a> {
    pub id: UeId,
    pub ue: &'a mut Ue,
    pub context: &'a mut UeContext,
    pub link: &'a mut Link,
    pub cells: &'a mut IndexVec<CellId, Cell>,
    pub calendar: &'a mut Agenda,
}

impl Attachment<'_> {
    fn cell(&self) -> &Cell {
        &self.cells[self.link.serving]
    }

    /// Configures both ends as RRC does: the bearers `drbs`, of `qos`, in the order of their
    /// logical channels, and semi-persistent grants.
    pub fn configure<'a>(&mut self, drbs: &[BearerId], qos: impl Iterator<Item = &'a Qos>) {
        self.link.drbs.extend(drbs);
        let mut priorities = Vec::with_capacity(drbs.len());
        for (i, (drb, qos)) in drbs.iter().zip(qos).enumerate() {
            self.ue.uplink.add(qos);
            self.context.uplink.add(i, qos);
            priorities.push((*drb, priority_of(qos.qci)));
        }
        self.context.downlink.turns = Turns::of(&priorities).map(Box::new);
        let grants = [self.link.downlink.persistent.is_some(), self.link.uplink.persistent.is_some()];
        let cell = &mut self.cells[self.link.serving];
        for direction in Direction::BOTH.into_iter().filter(|d| grants[d.index()]) {
            cell.persistent(direction).push(self.id);
        }
    }

    /// Adds the UE, which has something to send in `direction`, to its cell's active list.
    #[inline]
    pub fn wake(&mut self, direction: Direction) {
        if !self.link.away {
            self.cells[self.link.serving].wake(self.id, self.context, direction);
        }
    }

    /// Removes the UE from the active lists of its cell.
    pub fn leave_lists(&mut self) {
        let cell = &mut self.cells[self.link.serving];
        for direction in Direction::BOTH {
            let i = direction.index();
            if std::mem::take(&mut self.context.active[i]) {
                cell.active[i].retain(|other| *other != self.id);
            }
        }
    }

    /// Resets MAC (TS 36.321 clause 5.9): soft buffers are flushed, blocks in transmission are
    /// lost.
    pub fn reset(&mut self) {
        self.context.downlink.reset();
        self.ue.downlink.reset();
        self.reset_uplink();
    }

    /// Resets MAC of the uplink.
    pub fn reset_uplink(&mut self) {
        let tti = self.calendar.first_open();
        let (link, cx, u) = (&mut self.link.uplink, &mut self.context.uplink, &mut self.ue.uplink);
        u.reset_harq();
        cx.granted = Default::default();
        u.sr.cancel();
        u.bsr.reset();
        u.phr.reset();
        u.mux.reset(tti);
        u.access.stop();
        cx.view.reset();
        u.had.fill(false);
        u.granted_until = None;
        if let Some(p) = &mut link.persistent {
            p.release();
        }
        self.cells[self.link.serving].uplink.plan.remove(self.id);
    }

    /// Moves the UE from its cell to `cell`, while no cell schedules it.
    pub fn detach(&mut self, cell: CellId) {
        self.link.away = true;
        self.camp(cell);
    }

    /// Moves the UE from its cell to `cell`.
    pub fn camp(&mut self, cell: CellId) {
        self.reset();
        self.leave_lists();
        self.move_persistent(cell);
        self.link.serving = cell;
        let config = &self.cells[cell].config;
        let (link, cx) = (&mut self.link.downlink, &mut self.context.downlink);
        cx.quality = Quality::new(config.downlink.olla());
        cx.average = Average::default();
        if config.downlink.mimo.two_code_words() {
            cx.harq[1].get_or_insert_default();
            self.ue.downlink.received[1].get_or_insert_default();
        }
        cx.served = None;
        (cx.zone_until, link.boost) = (Tti(0), lasthop_radio::linear(link.p_a) as f32);
        let cx = &mut self.context.uplink;
        cx.quality.reset(config.uplink.outer_loop.olla());
        cx.average = Average::default();
        self.ue.uplink.power.restart();
        // The message that moves the UE has the cell's mac-MainConfig and
        // schedulingRequestConfig (TS 36.331 v15.1.0 clause 5.3.5.4 [unverified]).
        self.ue.uplink.configure(&config.uplink, self.id);
        cx.headroom = None;
        cx.commanded = lasthop_radio::lte::PowerControl::default();
        cx.served = None;
    }

    fn move_persistent(&mut self, cell: CellId) {
        let persistent = [
            self.link.downlink.persistent.is_some().then_some(Direction::Downlink),
            self.link.uplink.persistent.is_some().then_some(Direction::Uplink),
        ];
        for direction in persistent.into_iter().flatten() {
            self.cells[self.link.serving].persistent(direction).retain(|other| *other != self.id);
            let list = self.cells[cell].persistent(direction);
            let place = list.partition_point(|other| *other < self.id);
            list.insert(place, self.id);
        }
    }

    /// Begins to schedule the UE in its cell. Its bearers and their data are handled elsewhere.
    pub fn serve(&mut self, tti: Tti) {
        self.link.away = false;
        self.ue.uplink.access.stop();
        self.context.activity = tti;
        for direction in Direction::BOTH {
            if self.link.full_buffer[direction.index()] {
                self.wake(direction);
            }
        }
        self.context.uplink.view.request();
        self.context.uplink.view.await_grant();
        self.wake(Direction::Uplink);
    }

    /// Ends the connection of the UE: it is not between cells any more, and MAC is reset.
    pub fn release(&mut self) {
        self.link.away = false;
        self.reset();
    }

    /// Starts random access in the UE's cell from `tti` on; `preamble`: one that is assigned to the
    /// UE.
    pub fn access(&mut self, tti: Tti, preamble: Option<u8>) {
        let config = self.cell().uplink.config.random_access;
        self.ue.uplink.access.stop();
        self.ue.uplink.access.start(&config, tti, preamble);
    }

    /// Schedules the end of contention resolution, whose message the cell sends in `tti`.
    pub fn resolve_contention(&mut self, tti: Tti) {
        let decoded = tti.plus(self.cell().config.timing.decode);
        self.calendar.note(decoded, Due::ContentionResolved { ue: self.id });
    }

    /// Schedules the eNB's check of whether the UE has been inactive for the inactivity timer.
    pub fn watch_activity(&mut self, since: Tti) {
        if let Some(timer) = self.cell().config.rrc.inactivity.value() {
            let at = since.plus(timer.as_millis());
            self.calendar.note_from(at, Due::Inactivity { ue: self.id });
        }
    }
}
