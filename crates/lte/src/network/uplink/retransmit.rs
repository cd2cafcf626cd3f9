//! Adaptive retransmissions (TS 36.321 v15.1.0 clause 5.4.2): a grant moves a retransmission, so
//! that the blocks that are left to other UEs are one run. SC-FDMA gives a UE one run, and a
//! retransmission in the middle of the band leaves two short ones.
//!
//! A grant that moves a block is sent with ACK on PHICH: a UE that has not received the grant then
//! keeps its block and does not transmit (clause 5.4.2.2), instead of transmitting on blocks of
//! others. The eNB receives nothing and grants the next transmission, 8 TTIs later.

use lasthop_units::{Tti, UeId};

use super::super::calendar::Due;
use super::super::trace::Step;
use super::Granting;
use crate::mac::harq::{HARQ_PERIOD, State, process_of};
use crate::network::calendar::Notes;
use crate::network::reach::Reach;
use crate::network::state::plan::{Content, Granted};
use crate::phy::RbSet;

impl<R: Reach> Granting<'_, R> {
    /// Moves the retransmissions of `target` to the lower edge of the band, if they are scattered.
    pub(super) fn gather_retransmissions(&mut self, target: Tti) {
        let c = &mut self.cell.uplink;
        let (band, used) = (c.band, c.plan.slot(target).used);
        let free = band.without(used);
        if c.plan.granted(target).is_empty() || free.longest_run() == free {
            return;
        }
        let entries = c.plan.granted(target).len();
        let mut fixed = used;
        for i in (0..entries).filter(|i| self.may_move(target, *i)) {
            fixed = fixed.without(self.cell.uplink.plan.granted(target)[i].rbs);
        }
        // From the lowest one on, each to the first place where it fits, which is never above its
        // own.
        let mut from = 0;
        while let Some((i, at)) = self.lowest_movable(target, from) {
            let g = self.cell.uplink.plan.granted(target)[i];
            let Some(rbs) = band.without(fixed).run(g.rbs.len()) else { break };
            fixed |= rbs;
            from = at + 1;
            if rbs != g.rbs {
                self.move_retransmission(target, i, rbs);
            }
        }
        self.cell.uplink.plan.slot(target).used = fixed;
    }

    /// True if entry `i` of `target` is a retransmission without a grant of its own so far. Msg3 is
    /// never moved.
    fn may_move(&self, target: Tti, i: usize) -> bool {
        let g = self.cell.uplink.plan.granted(target)[i];
        let cx = &self.contexts[g.ue].uplink;
        let p = &cx.granted[process_of(target)];
        let msg3 = p.msg3 || self.uu.is_in_random_access(g.ue);
        let missed = cx.received[process_of(target)].missed;
        g.content == Content::Again && p.state == State::Failed && !missed && !msg3
    }

    /// The movable entry whose first block is the lowest from `from` on.
    fn lowest_movable(&self, target: Tti, from: u32) -> Option<(usize, u32)> {
        let granted = self.cell.uplink.plan.granted(target);
        let first = |i: usize| Some((i, granted[i].rbs.first()?));
        let movable = (0..granted.len()).filter(|i| self.may_move(target, *i)).filter_map(first);
        movable.filter(|(_, at)| *at >= from).min_by_key(|(_, at)| *at)
    }

    fn move_retransmission(&mut self, target: Tti, i: usize, rbs: RbSet) {
        let slot = self.cell.uplink.plan.slot(target);
        slot.granted[i].rbs = rbs;
        let ue = slot.granted[i].ue;
        self.contexts[ue].uplink.granted[process_of(target)].rbs = rbs;
        self.links[ue].uplink.stats.moved += 1;
        self.trace.step(self.tti, Step::Grant, ue, target, 0, rbs);
        self.announce_move(target, ue);
    }

    /// Sends the grant of a moved retransmission in `target`; a UE that misses it does not
    /// transmit.
    fn announce_move(&mut self, target: Tti, ue: UeId) {
        if !self.cell.uplink.config.control_errors || !self.misses_grant(ue) {
            return;
        }
        self.cell.uplink.plan.slot(target).missed.push(ue);
        self.links[ue].uplink.stats.missed += 1;
        self.wait_for_next_move(target, ue);
    }

    /// The last transmission of `process` of `ue` failed: schedules a retransmission on the same
    /// resource blocks, unless a sidelink has them.
    pub(super) fn repeat(&mut self, ue: UeId, process: usize) {
        let cx = &mut self.contexts[ue].uplink;
        let p = &mut cx.granted[process];
        p.state = State::Failed;
        let granted = Granted { ue, rbs: p.rbs, mcs: p.mcs, bytes: p.bytes, content: Content::Again };
        let again = cx.received[process].sent.plus(HARQ_PERIOD);
        self.uu.keep_block(ue, process);
        if !granted.rbs.and(self.reserved_for_sidelinks(again)).is_empty() {
            // A persistent sidelink has these blocks. ACK on PHICH suspends the block for a round
            // trip (TS 36.321 clause 5.4.2.1).
            return self.wait_for_next_move(again, ue);
        }
        self.grant_again(again, granted);
    }

    /// Schedules `granted` as a retransmission in `again`.
    pub(super) fn grant_again(&mut self, again: Tti, granted: Granted) {
        let slot = self.cell.uplink.plan.slot(again);
        debug_assert!(
            slot.used.and(granted.rbs).is_empty(),
            "{again:?}: blocks of a retransmission given away"
        );
        slot.used |= granted.rbs;
        slot.granted.push(granted);
        self.calendar.note(again, Due::Transmit);
    }

    pub(super) fn wait_for_next_move(&mut self, target: Tti, ue: UeId) {
        let process = process_of(target);
        self.contexts[ue].uplink.received[process].missed = true;
        let received = target.plus(self.cell.config.timing.decode_of_uplink());
        self.calendar.note(received, Due::MoveMissed { ue, process: process as u8, target });
    }

    /// Moves retransmissions of `target` off `rbs`, the blocks of a semi-persistent grant that was
    /// activated after their first transmission. One without room waits for a round trip, as if the
    /// UE had not received its grant.
    pub(super) fn clear_for_occasion(&mut self, target: Tti, rbs: RbSet) {
        let others = self.persistent_blocks(target);
        let mut i = 0;
        while i < self.cell.uplink.plan.granted(target).len() {
            let c = &mut self.cell.uplink;
            let slot = c.plan.slot(target);
            let g = slot.granted[i];
            if g.content != Content::Again || g.rbs.and(rbs).is_empty() {
                i += 1;
                continue;
            }
            slot.used = slot.used.without(g.rbs);
            let received = !slot.missed.contains(&g.ue);
            let room = c.band.without(slot.used).without(rbs | others).run(g.rbs.len());
            if let Some(place) = room {
                slot.used |= place;
                i += 1;
                if received {
                    self.move_retransmission(target, i - 1, place);
                } else {
                    slot.granted[i - 1].rbs = place;
                }
            } else {
                slot.granted.remove(i);
                if received {
                    self.wait_for_next_move(target, g.ue);
                }
            }
        }
    }

    /// Grants the next transmission after a moved one was not received, on its blocks or wherever
    /// there is room. True if the block has had its last transmission.
    // Clause 5.4.2.2 [unverified]: If the HARQ entity requests a retransmission, the HARQ process
    // shall: increment CURRENT_TX_NB by 1, sent or not; if HARQ_FEEDBACK = NACK: generate a
    // transmission.
    pub(in crate::network) fn move_unused(&mut self, ue: UeId, process: usize, target: Tti) -> bool {
        let most = self.cell.uplink.config.harq.transmissions;
        let cx = &mut self.contexts[ue].uplink;
        let (p, received) = (&mut cx.granted[process], &cx.received[process]);
        if p.state != State::Failed || !received.missed || received.sent >= target {
            return false;
        }
        p.transmissions += 1;
        self.uu.skip_transmission(ue, process);
        if p.transmissions >= most {
            p.state = State::Idle;
            return true;
        }
        let (rbs, mcs, bytes) = (p.rbs, p.mcs, p.bytes);
        let again = target.plus(HARQ_PERIOD);
        let others = self.persistent_blocks(again) | self.reserved_for_sidelinks(again);
        let c = &mut self.cell.uplink;
        let free = c.band.without(c.plan.slot(again).used).without(others);
        let room = if rbs.without(free).is_empty() { Some(rbs) } else { free.run(rbs.len()) };
        let Some(rbs) = room else {
            self.wait_for_next_move(again, ue);
            return false;
        };
        self.contexts[ue].uplink.granted[process].rbs = rbs;
        self.grant_again(again, Granted { ue, rbs, mcs, bytes, content: Content::Again });
        self.announce_move(again, ue);
        false
    }
}

#[cfg(test)]
mod tests {
    use lasthop_engine::{Draw, Purpose};
    use lasthop_units::{CellId, Db, Id, Instant};

    use super::*;
    use crate::mac::uplink::UplinkConfig;
    use crate::network::CellConfig;
    use crate::network::trace::TraceRecord;
    use crate::network::uplink::tests::World;
    use lasthop_bearer::End;
    use lasthop_lte_l2::rlc::Mode;

    fn cell() -> CellConfig {
        let uplink =
            UplinkConfig { pucch_blocks: 0, adaptive_retransmissions: true, ..UplinkConfig::default() };
        CellConfig { resource_blocks: 25, uplink, ..CellConfig::default() }
    }

    /// Msg3 has blocks 0 to 2; retransmissions of two and of five blocks are at 4 and 10. They move
    /// to 3 and 5, and blocks 10 to 24 are free in one run, where 3, 6 to 9 and 15 to 24 were.
    #[test]
    fn scattered_retransmissions_move_together() {
        let mut world = World::new(cell(), 3, Mode::Um);
        let (ues, cell) = ([0, 1, 2].map(UeId::from_index), CellId::from_index(0));
        let (now, target) = (Tti(100), Tti(104));
        let network = &mut world.network;
        let entries = [
            (ues[0], RbSet::range(0, 3), Content::Msg3),
            (ues[2], RbSet::range(10, 5), Content::Again),
            (ues[1], RbSet::range(4, 2), Content::Again),
        ];
        for (ue, rbs, content) in entries {
            if content == Content::Again {
                let p = &mut network.contexts[ue].uplink.granted[process_of(target)];
                (p.state, p.transmissions, p.rbs) = (State::Failed, 1, rbs);
            }
            let slot = network.cells[cell].uplink.plan.slot(target);
            slot.used |= rbs;
            slot.granted.push(Granted { ue, rbs, mcs: 5, bytes: 27, content });
        }
        // The control channels of a link of 30 dB never fail.
        network.granting(now, cell).gather_retransmissions(target);
        let slot = network.cells[cell].uplink.plan.slot(target);
        let places: Vec<_> = slot.granted.iter().map(|g| g.rbs).collect();
        assert_eq!(places, [RbSet::range(0, 3), RbSet::range(5, 5), RbSet::range(3, 2)]);
        assert_eq!(slot.used, RbSet::range(0, 10));
        assert_eq!(ues.map(|ue| network.links[ue].uplink.stats.moved), [0, 1, 1]);
        // A second call changes nothing.
        network.granting(now, cell).gather_retransmissions(target);
        assert_eq!(ues.map(|ue| network.links[ue].uplink.stats.moved), [0, 1, 1]);
    }

    /// Four UEs at -5 dB, where 10.9 % of the grants on the PDCCH are missed (TS 36.133's out of
    /// sync). A moved retransmission is either received and sent in its TTI, or not received and
    /// not sent; every retransmission is a multiple of 8 TTIs after its first transmission; and no
    /// block has more transmissions than maxHARQ-Tx.
    #[test]
    fn a_ue_that_missed_the_grant_of_a_move_is_silent_for_a_round_trip() {
        let mut config = cell();
        config.uplink.outer_loop.enabled = false;
        config.uplink.min_blocks = 3;
        let mut world = World::pinned(config, 4, Mode::Um, Db(-5.0));
        world.network.trace().set(true);
        let mut trace: Vec<TraceRecord> = Vec::new();
        for i in 0..4000u64 {
            let ue = (Draw::new(1, Purpose::Mobility, 0).uniform(i) * 4.0) as usize;
            world.push(Instant::from_millis(i * 2), ue, End::Ue, 30 + 150 * (i as u32 % 3));
            trace.extend(world.network.trace().drain());
        }
        let moved: Vec<&TraceRecord> =
            trace.iter().filter(|r| r.step == Step::Grant && r.bytes == 0).collect();
        let sent =
            |r: &TraceRecord| trace.iter().any(|s| s.step == Step::Again && s.ue == r.ue && s.tti == r.about);
        let received = moved.iter().filter(|r| sent(r)).count() as f64;
        let n = moved.len() as f64;
        assert!(n > 100.0, "{n}");
        assert!((received / n - 0.891).abs() < 4.0 * (0.891 * 0.109 / n).sqrt(), "{received} of {n}");
        let mut first: [[Option<Tti>; 8]; 4] = [[None; 8]; 4];
        for r in trace.iter().filter(|r| matches!(r.step, Step::Data | Step::Again)) {
            let process = &mut first[r.ue.index()][process_of(r.tti)];
            match (r.step, *process) {
                (Step::Data, _) => *process = Some(r.tti),
                (_, Some(begin)) => assert!(r.tti.0 - begin.0 <= 3 * HARQ_PERIOD, "{r:?} of {begin:?}"),
                _ => panic!("{r:?} was never sent"),
            }
        }
    }
}
