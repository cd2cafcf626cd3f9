//! The layers of bearers, and the receivers of their output.

use lasthop_units::{BearerId, Instant, Tti};

use super::NetworkOutput;
use super::bearers::{Bearers, Notice};
use super::calendar::Agenda;
use super::core_network::Core;
use super::state::sidelink::Sidelink;
use crate::mac::harq::Parts;
use crate::phy::TTI;
use lasthop_bearer::End;
use lasthop_lte_l2::rlc::{Grant, Pdu};

/// Layer 2 at a moment: the bearers, and the receivers of their packets.
pub(super) struct Layer2<'a> {
    pub now: Instant,
    pub bearers: &'a mut Bearers,
    /// Receives the packets from the eNBs, where there is a core network.
    pub core: Option<&'a mut Core>,
    pub sidelink: Option<&'a mut Sidelink>,
    pub calendar: &'a mut Agenda,
    pub out: &'a mut NetworkOutput,
}

impl Layer2<'_> {
    /// Passes on the output of the layers of `bearer`, with a notice that they have changed.
    #[inline]
    pub fn settle(&mut self, bearer: BearerId) {
        let notice = self.pass_on(bearer);
        self.bearers.notify(notice);
    }

    /// As [`settle`](Self::settle), where the UE's end has not changed, or its MAC has checked it.
    #[inline]
    pub fn settle_for_enb(&mut self, bearer: BearerId) {
        let notice = Notice { of_ue: false, ..self.pass_on(bearer) };
        self.bearers.notify(notice);
    }

    /// Gives `bearer` an opportunity of `grant` of the UE's MAC; PDUs are appended to `parts`.
    /// Returns the bytes used. Drops and marks are passed on before the next bearer is used, since
    /// the layers' output does not name the bearer.
    #[inline]
    pub fn pull_of_ue(&mut self, bearer: BearerId, grant: Grant, parts: &mut Parts) -> u32 {
        let used = self.bearers.pull(self.now, bearer, End::Ue, grant, parts);
        if self.bearers.has_output() {
            self.settle_for_enb(bearer);
        }
        used
    }

    /// Passes on the output of the layers of `bearer`. Returns the notice to MAC and RRC.
    #[inline]
    pub fn pass_on(&mut self, bearer: BearerId) -> Notice {
        let before = [self.out.delivered.len(), self.out.dropped.len()];
        let failed = self.bearers.settle(self.now, bearer, self.core.as_deref_mut(), self.out);
        if let Some(s) = &mut self.sidelink {
            let tti = Tti::containing(self.now, TTI);
            s.settle(tti, bearer, before, self.bearers, self.calendar, self.out);
        }
        Notice { failed, ..Notice::of(bearer) }
    }

    /// Passes the PDUs of a block that `from` has sent to the other end, or notifies `from` that
    /// HARQ has given up.
    #[inline]
    pub fn hand_up(&mut self, from: End, parts: &mut Parts, decoded: bool) {
        // Usually there is one.
        if parts.len() == 1
            && let Some((bearer, pdu)) = parts.pop()
        {
            return self.hand_up_one(from, bearer, pdu, decoded);
        }
        for (bearer, pdu) in parts.drain(..) {
            self.hand_up_one(from, bearer, pdu, decoded);
        }
    }

    /// Passes a PDU to the other end, or notifies `from` that HARQ has given up.
    fn hand_up_one(&mut self, from: End, bearer: BearerId, pdu: Pdu, decoded: bool) {
        match decoded {
            true => self.bearers.receive(self.now, bearer, from.peer(), &pdu),
            false => self.bearers.lost(self.now, bearer, from, &pdu),
        }
        self.bearers.recycle(bearer, from, pdu);
        match from {
            End::Ue if decoded => self.settle_for_enb(bearer),
            _ => self.settle(bearer),
        }
    }
}
