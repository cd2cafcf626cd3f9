//! Handover, step by step (TS 36.300 clause 10.1.2.1, TS 36.331 clauses 5.3.5.4 to 5.3.5.6).
//!
//! Report, preparation over X2 (which the target may refuse), command, execution: the UE leaves,
//! synchronises and sends a dedicated preamble; the target serves it from
//! RRCConnectionReconfigurationComplete on and has the path switched. A step that fails is an
//! event, and the UE goes on with what the standard says.

use lasthop_units::{CellId, Duration, Instant, Tti, UeId};

use super::mobility::Phase;
use super::{Due, MobilityEvent, NetworkEvent, NetworkOutput, RadioNetwork};
use crate::mac::adaptation::Quality;
use crate::mac::downlink::Average;
use crate::mac::random_access::RandomAccessConfig;
use crate::phy::TTI;
use crate::rrc::RrcTiming;
use lasthop_bearer::{Direction, DropCause, End};

/// From one attempt to bring a command to the UE to the next [TTI]: HARQ's round trip.
const REPEAT: u64 = 8;
/// A source that forwards looks again so much later whether another handover may begin [TTI].
const BUSY: u64 = 5;
/// Preambles of a cell in all (TS 36.211 clause 5.7.2).
const PREAMBLES: u8 = 64;

/// `t` in whole TTIs, rounded up.
pub(super) const fn ttis(t: Duration) -> u64 {
    t.0.div_ceil(TTI.0)
}

impl RadioNetwork {
    /// Orders a handover of a connected UE to `target`, as its eNB would after a report. Nothing
    /// while another one goes on.
    pub fn order_handover(&mut self, now: Instant, ue: UeId, target: CellId) {
        self.reach(now);
        let at = self.first_open();
        if self.is_served(ue)
            && self.links[ue].serving != target
            && let Some(m) = &mut self.mobility
            && m.ues[ue].phase == Phase::Steady
        {
            m.ues[ue].phase = Phase::Reporting { target, at };
            self.calendar.note(at, Due::Mobility { ue });
        }
    }

    /// The UE is in `phase`, and something is due at `at`.
    pub(super) fn set_phase(&mut self, ue: UeId, phase: Phase, at: Tti) {
        let from = self.first_open();
        if let Some(m) = &mut self.mobility {
            m.ues[ue].phase = phase;
            self.calendar.note(at.max(from), Due::Mobility { ue });
        }
    }

    pub(super) fn say(&self, ue: UeId, event: MobilityEvent, cell: CellId, out: &mut NetworkOutput) {
        out.events.push((ue, NetworkEvent::Mobility { event, cell, seconds: None }));
    }

    /// A step of a UE's mobility is due, or was until something else came first.
    pub(super) fn mobility_step(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        let Some(m) = &self.mobility else { return };
        match m.ues[ue].phase {
            Phase::Steady => self.consider(tti, ue),
            Phase::Reporting { target, at } if at <= tti => self.prepare(tti, ue, target, false, out),
            Phase::Preparing { target, at, early } if at <= tti => self.prepared(tti, ue, target, early, out),
            Phase::Commanding { target, at } if at <= tti => self.command(tti, ue, target),
            Phase::Applying { target, at, t304 } if at <= tti => {
                self.leave(now, ue, target, out);
                let at = tti.plus(ttis(self.interruption()));
                self.set_phase(ue, Phase::Synchronising { at, t304 }, at);
            }
            Phase::Synchronising { at, t304 } if at <= tti => self.access_target(tti, ue, t304),
            Phase::Accessing { t304 } if t304 <= tti => self.handover_failed(now, tti, ue, out),
            Phase::Landing { at } if at <= tti => self.handover_complete(now, tti, ue, out),
            _ => self.reestablishment_step(now, tti, ue, out),
        }
    }

    fn interruption(&self) -> Duration {
        self.mobility.as_ref().map_or(Duration::ZERO, |m| m.config.interruption)
    }

    fn timing(&self, ue: UeId) -> (RrcTiming, u64, u64) {
        let config = &self.cells[self.links[ue].serving].config;
        (config.rrc.timing, config.timing.decode, config.timing.grant)
    }

    /// A served UE looks at its measurements: a report, or an early preparation.
    fn consider(&mut self, tti: Tti, ue: UeId) {
        if !self.is_served(ue) {
            return;
        }
        let (timing, decode, grant) = self.timing(ue);
        let changing = self.is_changing(ue);
        let Some(m) = &mut self.mobility else { return };
        let mobile = &mut m.ues[ue];
        if let Some(target) = mobile.measurements.report(&m.config.trigger, tti) {
            if mobile.prepared == Some(target) && !changing {
                // Conditional handover: the UE has its command already.
                let t304 = tti.plus(ttis(m.config.t304));
                self.set_phase(ue, Phase::Applying { target, at: tti, t304 }, tti);
                return;
            }
            // A scheduling request, its grant, and the report on PUSCH.
            let takes = if timing == RrcTiming::Ideal { 0 } else { decode + grant + decode };
            let at = tti.plus(takes);
            self.set_phase(ue, Phase::Reporting { target, at }, at);
        } else if let Some(margin) = m.config.conditional {
            let serving = self.links[ue].serving;
            let own = mobile.measurements.of(serving).map_or(f64::NEG_INFINITY, |m| m.rsrp);
            let near = mobile.measurements.strongest(|cell, rsrp| cell != serving && rsrp - own > margin.0);
            if let Some(target) = near.filter(|t| mobile.prepared != Some(*t) && !changing) {
                let takes = if timing == RrcTiming::Ideal { 0 } else { decode + grant + decode };
                let at = tti.plus(takes + 2 * self.x2_delay(ue, target));
                self.set_phase(ue, Phase::Preparing { target, at, early: true }, at);
            }
        }
    }

    /// True while the last change of cell goes on behind the radio: data is forwarded, or the path
    /// not switched. The next one waits, and so does a target's preparation, since the UE would
    /// take it when it likes.
    fn is_changing(&self, ue: UeId) -> bool {
        self.mobility.as_ref().is_some_and(|m| {
            let route = &m.backhaul.routes[ue];
            route.forwarding || route.home != route.anchor
        })
    }

    /// TTIs that a message takes from the home of `ue` to `cell`.
    pub(super) fn x2_delay(&self, ue: UeId, cell: CellId) -> u64 {
        let Some(m) = &self.mobility else { return 0 };
        let same = m.backhaul.routes[ue].home == m.enbs[cell];
        if same { 0 } else { ttis(m.config.x2.delay) }
    }

    /// The source has a report: HANDOVER REQUEST goes to the target, its answer comes back.
    fn prepare(&mut self, tti: Tti, ue: UeId, target: CellId, early: bool, out: &mut NetworkOutput) {
        if self.is_changing(ue) {
            let at = tti.plus(BUSY);
            return self.set_phase(ue, Phase::Reporting { target, at }, at);
        }
        self.say(ue, MobilityEvent::PreparationStarted, target, out);
        let at = tti.plus(2 * self.x2_delay(ue, target));
        self.set_phase(ue, Phase::Preparing { target, at, early }, at);
    }

    /// HANDOVER REQUEST ACKNOWLEDGE or HANDOVER PREPARATION FAILURE is at the source.
    fn prepared(&mut self, tti: Tti, ue: UeId, target: CellId, early: bool, out: &mut NetworkOutput) {
        let admitted = self.admits(target);
        let Some(m) = &mut self.mobility else { return };
        if !admitted {
            m.counters.refused += 1;
            m.ues[ue].phase = Phase::Steady;
            m.ues[ue].measurements.restart();
            return self.say(ue, MobilityEvent::PreparationRefused, target, out);
        }
        m.counters.prepared += 1;
        m.ues[ue].prepared = Some(target);
        if early {
            m.ues[ue].phase = Phase::Steady;
            self.say(ue, MobilityEvent::Prepared, target, out);
            return self.await_trigger(tti, ue);
        }
        self.set_phase(ue, Phase::Commanding { target, at: tti }, tti);
        self.command(tti, ue, target);
    }

    /// Admission control: the cell takes one more UE.
    pub(super) fn admits(&self, cell: CellId) -> bool {
        let Some(m) = &self.mobility else { return true };
        if self.cells[cell].is_down() {
            return false;
        }
        let Some(most) = m.config.users.value() else { return true };
        let there = self
            .ues
            .ids()
            .filter(|u| self.links[*u].serving == cell && self.ues[*u].rrc.is_connected())
            .count();
        there < most as usize
    }

    /// RRCConnectionReconfiguration with mobilityControlInfo goes out; a UE that cannot hear it
    /// gets it again until its link is lost.
    fn command(&mut self, tti: Tti, ue: UeId, target: CellId) {
        let (timing, decode, _) = self.timing(ue);
        let source = self.links[ue].serving;
        if timing == RrcTiming::Real && self.misses_control(tti, source, ue) {
            let at = tti.plus(REPEAT);
            return self.set_phase(ue, Phase::Commanding { target, at }, at);
        }
        let Some(m) = &self.mobility else { return };
        let heard = tti.plus(if timing == RrcTiming::Ideal { 0 } else { decode });
        let t304 = heard.plus(ttis(m.config.t304));
        let processing = if timing == RrcTiming::Ideal { 0 } else { ttis(m.config.processing) };
        let at = heard.plus(processing);
        self.set_phase(ue, Phase::Applying { target, at, t304 }, at);
    }

    /// The UE detaches: MAC and the bearers' lower layers end here, and the source begins to
    /// forward.
    fn leave(&mut self, now: Instant, ue: UeId, target: CellId, out: &mut NetworkOutput) {
        let source = self.links[ue].serving;
        self.say(ue, MobilityEvent::Started, target, out);
        self.camp(now, ue, target);
        if let Some(m) = &mut self.mobility {
            m.ues[ue].left = (now, source);
            m.ues[ue].prepared = None;
        }
        self.move_data(now, ue, target, out);
    }

    /// The UE has left its cell for `cell`; nobody schedules it.
    pub(super) fn camp(&mut self, now: Instant, ue: UeId, cell: CellId) {
        self.reset_downlink(ue);
        self.reset_uplink(ue);
        self.forget_in_cell(ue);
        let source = self.links[ue].serving;
        if let Some(m) = &mut self.mobility {
            let mobile = &mut m.ues[ue];
            if !std::mem::replace(&mut mobile.away, true) {
                mobile.left = (now, source);
            }
            mobile.link.restart();
            mobile.measurements.restart();
        }
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

    /// Random access at the target, with a preamble that no other UE has.
    fn access_target(&mut self, tti: Tti, ue: UeId, t304: Tti) {
        let cell = self.links[ue].serving;
        let config: RandomAccessConfig = self.cells[cell].uplink.config.random_access;
        let Some(m) = &mut self.mobility else { return };
        let reserved = u32::from(PREAMBLES.saturating_sub(config.preambles));
        let dedicated = (reserved > 0).then(|| {
            let n = m.preambles[cell];
            m.preambles[cell] = (n + 1) % reserved;
            config.preambles + n as u8
        });
        self.ues[ue].uplink.access.stop();
        self.ues[ue].uplink.access.start(&config, tti, dedicated);
        self.set_phase(ue, Phase::Accessing { t304 }, t304);
        self.arm_uplink(ue);
    }

    /// RRCConnectionReconfigurationComplete is at the target, which serves the UE from now on.
    pub(super) fn handover_complete(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        let cell = self.links[ue].serving;
        let Some(m) = &mut self.mobility else { return };
        let (left, source) = m.ues[ue].left;
        m.counters.completed += 1;
        let back = m.ues[ue].last.replace((source, tti));
        let again = |(from, at): (CellId, Tti)| from == cell && at.plus(ttis(m.config.ping_pong)) >= tti;
        let ping_pong = back.is_some_and(again);
        m.counters.ping_pong += u64::from(ping_pong);
        let seconds = Some(now.since(left));
        out.events.push((ue, NetworkEvent::Mobility { event: MobilityEvent::Complete, cell, seconds }));
        if ping_pong {
            self.say(ue, MobilityEvent::PingPong, cell, out);
        }
        self.serve_again(now, tti, ue, out);
    }

    /// The UE's cell schedules it from now on; the path is switched if its data takes a detour.
    pub(super) fn serve_again(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        let Some(m) = &mut self.mobility else { return };
        let mobile = &mut m.ues[ue];
        (mobile.phase, mobile.away, mobile.prepared) = (Phase::Steady, false, None);
        mobile.link.restart();
        mobile.measurements.restart();
        let detour = m.backhaul.routes[ue].home != m.backhaul.routes[ue].anchor;
        let switched = tti.plus(ttis(m.config.s1.delay));
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
        if detour {
            // PATH SWITCH REQUEST (TS 36.413 clause 8.4.4).
            let at = switched.max(self.first_open());
            if let Some(m) = &mut self.mobility {
                m.backhaul.routes[ue].switch = Some(at);
            }
            self.calendar.note(at, Due::PathSwitch { ue });
        }
    }

    /// T304 has expired, or no preamble was answered (TS 36.331 clause 5.3.5.6): the UE goes back
    /// to what it had and re-establishes its connection. The source has its data still.
    pub(super) fn handover_failed(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        let target = self.links[ue].serving;
        if let Some(m) = &mut self.mobility {
            m.counters.failed += 1;
            // The target was prepared and knows the UE.
            m.ues[ue].prepared = Some(target);
        }
        self.say(ue, MobilityEvent::Failed, target, out);
        self.recall(now, ue, out);
        self.begin_reestablishment(now, tti, ue);
    }

    /// Msg3 of a UE on its way between cells.
    pub(super) fn arrived(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        match self.mobility.as_ref().map(|m| m.ues[ue].phase) {
            Some(Phase::Accessing { .. }) => self.handover_complete(now, tti, ue, out),
            Some(Phase::Asking { t301 }) => self.reestablishment_asked(tti, ue, t301),
            _ => {}
        }
    }

    /// preambleTransMax was reached by a UE on its way between cells.
    pub(super) fn access_in_vain(&mut self, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        let now = tti.start(TTI);
        match self.mobility.as_ref().map(|m| m.ues[ue].phase) {
            Some(Phase::Accessing { .. }) => self.handover_failed(now, tti, ue, out),
            Some(Phase::Asking { .. }) => self.go_idle(now, ue, out),
            _ => {}
        }
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
