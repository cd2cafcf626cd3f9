//! Ends one direction of a bearer and starts it again: a mode switch between sidelink and
//! infrastructure.

use super::bearer::LteBearer;
use super::config::HandoverKind;
use super::setup::LteBearerOutput;
use lasthop_bearer::{DropCause, End};

impl LteBearer {
    /// Drops the packets that `end` has pushed and the peer's RLC cannot reassemble. RLC at `end`
    /// drops its SDUs, the peer's reassembly is flushed, numbers start again with 0. The other
    /// direction goes on. PDUs of `end` that are in transmission must not be delivered any more.
    /// Returns false for an acknowledged bearer, whose directions depend on each other: status PDUs
    /// of one are sent in the other.
    pub fn sever(&mut self, end: End, out: &mut LteBearerOutput) -> bool {
        if self.acknowledged {
            return false;
        }
        let peer = end.peer();
        let side = &mut self.sides[end.index()];
        side.rlc.reestablish_tx(&mut self.rlc_out);
        side.tx.begin_epoch(HandoverKind::None);
        // `begin_epoch` closes the account of these SDUs.
        self.rlc_out.dropped.clear();
        self.sides[peer.index()].rlc.flush(&mut self.rlc_out);
        self.flush_up(peer, HandoverKind::None, out);
        self.sides[peer.index()].rx.re_establish(HandoverKind::None, &mut self.rx_out);
        self.finish_up(peer, out);
        let side = &mut self.sides[end.index()];
        let epoch = side.tx.epoch();
        side.open_sdus.begin_epoch(epoch, |sdu| out.dropped.push((end, sdu, DropCause::ModeSwitch)));
        true
    }
}
