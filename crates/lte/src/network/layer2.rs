//! The layers of bearers, and who takes what leaves them.

use lasthop_units::{BearerId, Instant, Tti};

use super::NetworkOutput;
use super::bearers::{Bearers, Notice};
use super::calendar::Agenda;
use super::core_network::Core;
use super::state::sidelink::Sidelink;
use crate::mac::harq::Parts;
use crate::phy::TTI;
use lasthop_bearer::End;
use lasthop_lte_l2::rlc::Grant;

/// Layer 2 at a moment: what MAC hands to it, and where its packets go.
pub(super) struct Layer2<'a> {
    pub now: Instant,
    pub bearers: &'a mut Bearers,
    /// Takes what the eNBs receive, where there is one.
    pub core: Option<&'a mut Core>,
    pub sidelink: Option<&'a mut Sidelink>,
    pub calendar: &'a mut Agenda,
    pub out: &'a mut NetworkOutput,
}

impl Layer2<'_> {
    /// Passes on what the layers of `bearer` said, and notes that they have moved.
    #[inline]
    pub fn settle(&mut self, bearer: BearerId) {
        let notice = self.pass_on(bearer);
        self.bearers.notify(notice);
    }

    /// The same where at the UE's end nothing has moved, or its MAC has looked itself.
    #[inline]
    pub fn settle_for_enb(&mut self, bearer: BearerId) {
        let notice = Notice { of_ue: false, ..self.pass_on(bearer) };
        self.bearers.notify(notice);
    }

    /// MAC of the UE gives `bearer` an opportunity of `grant`; PDUs go to `parts`. The bytes of it
    /// that are used. What the layers have dropped or marked meanwhile is passed on before another
    /// bearer is asked, since it does not name its bearer.
    #[inline]
    pub fn pull_of_ue(&mut self, bearer: BearerId, grant: Grant, parts: &mut Parts) -> u32 {
        let used = self.bearers.pull(self.now, bearer, End::Ue, grant, parts);
        if self.bearers.has_output() {
            self.settle_for_enb(bearer);
        }
        used
    }

    /// Passes on what the layers of `bearer` said. What MAC and RRC are to learn of that.
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

    /// MAC is done with the PDUs of a block that `from` has sent: the other end takes them, or
    /// `from` learns that HARQ has given up.
    #[inline]
    pub fn hand_up(&mut self, from: End, parts: &mut Parts, decoded: bool) {
        for (bearer, pdu) in parts.drain(..) {
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
}
