//! Deliveries and drops of bearers on sidelinks: the packets of a pair in the order in which they
//! were sent, and the copies of a packet for a group.

use lasthop_units::{BearerId, Tti, UeId};

use super::NetworkOutput;
use super::bearers::Bearers;
use super::calendar::{Agenda, Due};
use super::state::sidelink::{Receiver, Sidelink};
use lasthop_bearer::{DropCause, End, Sdu};

impl Sidelink {
    /// Processes the output of `bearer`, in `out` from `delivered` and `dropped` on: drops the
    /// copies of dropped packets, and delivers packets of pairs with lossless switches in the order
    /// in which they were sent.
    pub fn settle(
        &mut self,
        tti: Tti,
        bearer: BearerId,
        [delivered, dropped]: [usize; 2],
        bearers: &mut Bearers,
        calendar: &mut Agenda,
        out: &mut NetworkOutput,
    ) {
        if !self.of_group.is_empty() {
            self.drop_copies(bearer, dropped, bearers, out);
        }
        if !self.lossless {
            return;
        }
        self.remove_dropped(&out.dropped[dropped..]);
        let arrived: Vec<_> = out.delivered.drain(delivered..).collect();
        for item in arrived {
            let destination = self.destination_of_packet(bearers[bearer].ue, item);
            let order = destination.and_then(|l| Some((l, self.receivers[l as usize].order.as_mut()?)));
            let Some((destination, order)) = order else {
                out.delivered.push(item);
                continue;
            };
            let before = order.until;
            order.arrived(tti, item, &mut out.delivered);
            if let Some(until) = order.until.filter(|_| before.is_none()) {
                calendar.note_from(until, Due::Reordering { destination });
            }
        }
    }

    /// The destination of a packet that a bearer of `ue` has delivered, if the packet has one.
    fn destination_of_packet(&self, ue: UeId, (bearer, end, sdu): (BearerId, End, Sdu)) -> Option<u32> {
        if let Some(first) = self.destination_of(bearer) {
            return Some(if end == End::Ue { first } else { first + 1 });
        }
        let is_of = |r: &Receiver| r.order.as_ref().is_some_and(|o| o.is_in_flight(sdu.id));
        let mut destinations = self.destinations.iter().zip(&self.receivers);
        let found = destinations.position(|(l, r)| l.rx == ue && is_of(r)).filter(|_| end == End::Ue);
        found.map(|destination| destination as u32)
    }

    /// Ends the reordering at the receiver of `destination`.
    pub fn stop_waiting(
        &mut self,
        tti: Tti,
        destination: u32,
        calendar: &mut Agenda,
        out: &mut NetworkOutput,
    ) {
        let Some(order) = &mut self.receivers[destination as usize].order else { return };
        order.on_tti(tti, &mut out.delivered);
        if let Some(until) = order.until {
            calendar.note(until, Due::Reordering { destination });
        }
    }

    /// Removes dropped packets from the reordering of receivers.
    pub fn remove_dropped(&mut self, dropped: &[(BearerId, End, Sdu, DropCause)]) {
        for (_, _, sdu, _) in dropped {
            self.receivers.iter_mut().filter_map(|r| r.order.as_mut()).for_each(|o| o.lost(sdu.id));
        }
    }

    /// Drops the copies of packets that the sender of a group has dropped, in `out.dropped` from
    /// `from` on.
    fn drop_copies(&self, bearer: BearerId, from: usize, bearers: &mut Bearers, out: &mut NetworkOutput) {
        let Some((destination, 0)) = self.group_of(bearer) else { return };
        let Some(g) = &self.destinations[destination as usize].group else { return };
        for i in from..out.dropped.len() {
            let (_, _, sdu, cause) = out.dropped[i];
            // Packets that only the first receiver has lost are not the sender's drops.
            if !matches!(cause, DropCause::BufferFull | DropCause::Aqm | DropCause::DiscardTimer) {
                continue;
            }
            for m in &g.members[1..] {
                bearers.drop_copy(m.bearer, End::Network, sdu.serial, cause, out);
            }
        }
    }
}
