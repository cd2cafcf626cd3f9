//! Packets that are pushed, timers of PDCP and RLC, and the reactions of MAC and RRC to layer 2.

use lasthop_net::{Content, Item};
use lasthop_units::{BearerId, FlowId, Instant, Tti};

use super::bearers::Notice;
use super::layer2::Layer2;
use super::{NetworkOutput, RadioNetwork};
use crate::phy::TTI;
use lasthop_bearer::{Direction, End, Sdu, earlier};

impl RadioNetwork {
    /// Pushes `packet` (above 0 bytes; its serial number is not used) at `end` of a bearer, to be
    /// delivered at the other end. Returns false if nothing follows from it at present: there is no
    /// output, and neither [`next_tti`](Self::next_tti) nor [`next_timer`](Self::next_timer) gives
    /// an earlier time.
    #[inline(always)] // in its callers here
    pub fn push(
        &mut self,
        now: Instant,
        bearer: BearerId,
        end: End,
        packet: Sdu,
        out: &mut NetworkOutput,
    ) -> bool {
        self.calendar.advance_to(now);
        if end == End::Network && self.core.is_some() && !self.bearers[bearer].direct {
            self.layer2(now, out).enter_gateway(bearer, packet);
            return true;
        }
        self.bearers.push(now, bearer, end, packet);
        // Usually nothing is to be settled, and the UE is in the active list already.
        if self.sidelink.is_none() && self.bearers.is_settled(bearer) {
            let ue = self.bearers[bearer].ue;
            let (context, link) = (&mut self.contexts[ue], &self.links[ue]);
            if context.active[Direction::Downlink.index()] && !link.away && link.rrc.is_connected() {
                context.activity = self.calendar.next();
                return end == End::Ue && self.uplink_data(now, ue, bearer);
            }
        }
        self.settle(now, bearer, end == End::Ue, out);
        true
    }

    /// As [`push`](Self::push), for a packet of the flow `flow`, by which an IP buffer
    /// distinguishes packets.
    pub fn push_of(
        &mut self,
        now: Instant,
        bearer: BearerId,
        end: End,
        packet: Sdu,
        flow: FlowId,
        out: &mut NetworkOutput,
    ) -> bool {
        let Some(ip) = self.bearers.ip_mut(bearer).filter(|_| end == End::Network) else {
            return self.push(now, bearer, end, packet, out);
        };
        self.calendar.advance_to(now);
        let (id, size, ecn) = (packet.id, packet.size(), packet.ecn());
        let item = Item { id, size, flow, ecn, content: Content::default(), enqueued: now };
        ip.enqueue(now, item);
        self.bearers.settle_ip(bearer, out);
        let ue = self.bearers[bearer].ue;
        self.contexts[ue].activity = self.calendar.next();
        match self.links[ue].rrc.is_connected() {
            true => self.attachment(ue).wake(Direction::Downlink),
            false => {
                let tti = Tti::containing(now, TTI);
                self.rrc_step(now, tti, ue, |rrc| rrc.data([true, false]), out);
            }
        }
        true
    }

    /// The next time at which a timer of PDCP or RLC may expire.
    pub fn next_timer(&self) -> Option<Instant> {
        let backhaul = self.core.as_ref().and_then(|core| core.next());
        let early = self.calendar.next_early();
        earlier(earlier(self.bearers.next_timer(), backhaul), early)
    }

    /// Processes the timers of PDCP and RLC that have expired.
    pub fn on_timer(&mut self, now: Instant, out: &mut NetworkOutput) {
        self.calendar.advance_to(now);
        while self.layer2(now, out).take_arrival() {
            self.serve(now, out);
        }
        while let Some(due) = self.calendar.take_early(now) {
            self.finish_reception();
            self.dispatch(now, Tti::containing(now, TTI), due, out);
        }
        while let Some((bearer, expired)) = self.bearers.expire(now) {
            if expired {
                self.settle(now, bearer, true, out);
            } else {
                // Nothing has changed: MAC has no new data, and the UE was not active.
                let notice = self.layer2(now, out).pass_on(bearer);
                debug_assert!(!notice.failed, "nothing has happened");
            }
        }
    }

    /// Layer 2 of all bearers.
    #[inline]
    pub(super) fn layer2<'a>(&'a mut self, now: Instant, out: &'a mut NetworkOutput) -> Layer2<'a> {
        let RadioNetwork { bearers, core, sidelink, calendar, .. } = self;
        let (core, sidelink) = (core.as_deref_mut(), sidelink.as_deref_mut());
        Layer2 { now, bearers, core, sidelink, calendar, out }
    }

    /// Passes on the output of the layers of `bearer`, upon which MAC and RRC act. `of_ue`: the
    /// UE's end may have changed.
    #[inline(always)]
    pub(super) fn settle(&mut self, now: Instant, bearer: BearerId, of_ue: bool, out: &mut NetworkOutput) {
        debug_assert!(!self.bearers.has_notice(), "notices of earlier steps come first");
        let notice = Notice { of_ue, ..self.layer2(now, out).pass_on(bearer) };
        self.on_notice(now, notice, out);
        self.serve(now, out);
    }

    /// Lets MAC and RRC act upon the notices of layer 2.
    #[inline]
    pub(super) fn serve(&mut self, now: Instant, out: &mut NetworkOutput) {
        while let Some(notice) = self.bearers.next_notice() {
            self.on_notice(now, notice, out);
        }
    }

    /// Lets MAC check the data of a bearer; notifies RRC of a failed link, or of data for a UE
    /// without a connection.
    #[inline]
    fn on_notice(&mut self, now: Instant, notice: Notice, out: &mut NetworkOutput) {
        let Notice { bearer, of_ue, failed } = notice;
        let drb = &self.bearers[bearer];
        if drb.direct {
            return self.sidelink_data(bearer);
        }
        let ue = drb.ue;
        if failed {
            self.rrc_step(now, Tti::containing(now, TTI), ue, |rrc| rrc.link_failure(), out);
        }
        let (context, link) = (&mut self.contexts[ue], &self.links[ue]);
        context.activity = self.calendar.next();
        if link.away {
            return;
        }
        if !link.rrc.is_connected() {
            let from_ue = self.bearers[bearer].layers.needs_opportunity(End::Ue);
            let wants = [self.bearers.network_has_data(bearer), from_ue];
            return self.rrc_step(now, Tti::containing(now, TTI), ue, |rrc| rrc.data(wants), out);
        }
        let active = context.active[Direction::Downlink.index()];
        if !active && self.bearers.network_has_data(bearer) {
            self.attachment(ue).wake(Direction::Downlink);
        }
        if of_ue {
            self.uplink_data(now, ue, bearer);
        }
    }
}
