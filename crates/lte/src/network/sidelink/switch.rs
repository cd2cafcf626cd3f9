//! Mode selection, and the switch of a destination between the sidelink and the path over the eNB.

use lasthop_units::{BearerId, Instant, Tti};

use super::super::bearers::Bearers;
use super::super::calendar::Due;
use super::super::state::sidelink::Sidelink;
use super::super::state::uplink::{UplinkContext, UplinkUe};
use super::super::{NetworkEvent, NetworkOutput, RadioNetwork};
use crate::mac::harq::Processes;
use crate::mac::sidelink::LinkMode;
use crate::mac::uplink::{largest_allocation, tbs_bytes};
use crate::phy::TTI;
use lasthop_bearer::End;

/// Blocks of the transport block for which modes are compared, or all of a narrower band: each mode
/// has the sender's power on as many.
const COMPARED: u32 = 10;

impl RadioNetwork {
    /// Selects the mode of `pair`: the one with more bits per block, direct mode when they are
    /// equal. Both directions switch together.
    pub(in crate::network) fn select_mode(
        &mut self,
        now: Instant,
        tti: Tti,
        pair: u32,
        out: &mut NetworkOutput,
    ) {
        let destination = 2 * pair;
        let Some(s) = &self.sidelink else { return };
        let Some(selection) = s.pair(destination).selection else { return };
        self.calendar.note(tti.plus(selection.period.as_millis()), Due::ModeSelection { pair });
        let l = &s.destinations[destination as usize];
        let (tx, mode) = (l.tx, l.mode);
        let switched = s.pairs[pair as usize].switched;
        if switched.is_some_and(|t| t.plus(selection.dwell.as_millis()) > tti) {
            return;
        }
        let cell = self.links[tx].serving;
        if let Some(mut destinations) = self.sidelink_scheduling(tti, cell) {
            destinations.learn_sidelink(destination);
        }
        self.granting(tti, cell).sound(tx);
        let blocks = largest_allocation(self.cells[cell].uplink.band.len().min(COMPARED));
        let direct = self
            .sidelink_scheduling(tti, cell)
            .and_then(|mut destinations| destinations.sidelink_mcs(destination, blocks));
        let (c, cx) = (&self.cells[cell].uplink, &self.contexts[tx].uplink);
        let up = cx.quality.level().and_then(|level| c.adaptation.mcs(cx.level_on(level, blocks)));
        let bits = |mcs: Option<u8>| mcs.map_or(0.0, |m| f64::from(tbs_bytes(m, blocks)));
        let (direct, up) = (bits(direct), bits(up));
        let better = match mode {
            LinkMode::Direct => up > direct * selection.hysteresis,
            LinkMode::Infrastructure if selection.hysteresis == 1.0 => direct >= up,
            LinkMode::Infrastructure => direct > up * selection.hysteresis,
        };
        if better {
            let other = match mode {
                LinkMode::Direct => LinkMode::Infrastructure,
                LinkMode::Infrastructure => LinkMode::Direct,
            };
            self.set_modes(now, pair, [other; 2], out);
        }
    }

    /// Sets the `modes` of the directions of `pair`: from its first UE to its second, and back.
    pub fn set_modes(&mut self, now: Instant, pair: u32, modes: [LinkMode; 2], out: &mut NetworkOutput) {
        for (destination, mode) in [2 * pair, 2 * pair + 1].into_iter().zip(modes) {
            if self.view().sidelinks().mode(destination).is_some_and(|old| old != mode) {
                self.switch_mode(now, destination, mode, out);
            }
        }
    }

    /// Switches the mode. The sender drops the data that RLC, MAC and HARQ of the old connection
    /// have; packets that the eNB has decoded still reach the peer. With a lossless switch PDCP
    /// keeps the data and sends it over the new connection.
    fn switch_mode(&mut self, now: Instant, destination: u32, mode: LinkMode, out: &mut NetworkOutput) {
        let tti = Tti::containing(now, TTI);
        self.calendar.skip_to(tti);
        let Some(s) = &mut self.sidelink else { return };
        let old = s.infrastructure(destination);
        let l = &mut s.destinations[destination as usize];
        let (tx, rx) = (l.tx, l.rx);
        let (bearer, end) = match l.mode {
            LinkMode::Direct => (l.bearer, l.end),
            LinkMode::Infrastructure => (old, End::Ue),
        };
        l.mode = mode;
        let lossless = s.receivers[destination as usize].order.is_some();
        s.pairs[destination as usize / 2].switched = Some(tti);
        s.flush_harq(destination, bearer, &mut self.ues[tx].uplink.harq, &mut self.bearers);
        s.reset_requests(destination, &mut self.ues[tx].uplink, &mut self.contexts[tx].uplink);
        // The bearer's earlier output is passed on first, so that the drops below are those of the
        // switch.
        self.settle(now, bearer, true, out);
        let gone = self.bearers.sever(bearer, end, lossless);
        self.settle(now, bearer, true, out);
        let (kept, lost) = if lossless { (gone, Vec::new()) } else { (Vec::new(), gone) };
        let bytes = lost.iter().map(|sdu| u64::from(sdu.size())).sum();
        let switched = NetworkEvent::ModeSwitch { to: rx, mode, packets: lost.len() as u64, bytes };
        out.events.push((tx, switched));
        for sdu in kept {
            self.push_direct(now, destination, 0, sdu, out);
        }
        for i in 0..self.links[tx].drbs.len() {
            let drb = self.links[tx].drbs[i];
            self.uplink_data(now, tx, drb);
        }
    }
}

impl Sidelink {
    /// Flushes the transport blocks of the old connection that are in transmission or wait for a
    /// retransmission.
    fn flush_harq(&mut self, destination: u32, bearer: BearerId, up: &mut Processes, bearers: &mut Bearers) {
        let l = &self.destinations[destination as usize];
        if bearer == l.bearer {
            let (end, harq) = (l.end, &mut self.senders[destination as usize].harq);
            harq.iter_mut().for_each(|p| p.free(|(_, pdu)| bearers.recycle(bearer, end, pdu)));
            self.grants.of[destination as usize].busy.fill(false);
            self.grants.plan.remove(destination);
            return;
        }
        for p in up.iter_mut() {
            let mut i = 0;
            while i < p.parts.len() {
                if p.parts[i].0 == bearer {
                    let (_, pdu) = p.parts.remove(i);
                    bearers.recycle(bearer, End::Ue, pdu);
                } else {
                    i += 1;
                }
            }
        }
    }

    /// Resets requests and reports of the sender, at both of their ends.
    fn reset_requests(&mut self, destination: u32, u: &mut UplinkUe, cx: &mut UplinkContext) {
        let (l, sender) =
            (&mut self.destinations[destination as usize], &mut self.senders[destination as usize]);
        (sender.covered, sender.bsr_triggered) = (0, false);
        let grants = &mut self.grants.of[destination as usize];
        grants.granted_until = None;
        grants.view.reset();
        if let Some(p) = &mut l.persistent {
            p.mcs = None;
        }
        u.sidelink_bsr = self.is_triggered(self.destinations[destination as usize].tx);
        u.rac_blocked_until = Tti(0);
        u.sr.cancel();
        u.bsr.reset();
        cx.view.reset();
        u.had.fill(false);
    }
}
