//! The end of a PPDU: the receivers that decode it, and the next step of each.

use lasthop_units::{Instant, StationId};

use super::agenda::Event;
use super::exchange::Answer;
use super::medium::Frame;
use super::reading::Reading;
use super::record::Sent;
use super::{DropCause, End, LostMpdu, Wlan, WlanOutput, WlanStage};
use crate::mac::{Agreement, Category, Chain};

impl Wlan {
    /// Ends a PPDU.
    pub(super) fn transmission_ends(&mut self, now: Instant, m: usize, serial: u64, out: &mut WlanOutput) {
        self.contention().catch_up(m);
        let i = self.media[m].end(serial);
        let medium = &mut self.media[m];
        let (to, nav, frame) = (medium.on_air[i].to, medium.on_air[i].nav, medium.on_air[i].frame);
        let check = (frame == Frame::Rts).then(|| medium.nav_check(i, self.air.compat));
        medium.end_at_receivers(now, i, check, &mut self.unsure);
        // Each receiver has its own draws: their order does not matter.
        let mut received = false;
        while let Some(r) = self.unsure.pop() {
            let mut reading = self.reading(m, i);
            let ok = if to == Some(r) { reading.read(r) } else { reading.overhear(r) };
            let receiver = &mut self.media[m].receivers[r];
            receiver.bad = !ok;
            if to == Some(r) {
                received = ok;
            } else if ok {
                receiver.reserve(now, nav, check);
            }
        }
        self.after(now, m, i, received, out);
    }

    fn reading(&mut self, m: usize, i: usize) -> Reading<'_> {
        Reading {
            medium: &mut self.media[m],
            devices: &mut self.devices,
            links: &self.links,
            aps: &self.aps,
            errors: &self.errors,
            i,
        }
    }

    /// Continues after the end of a PPDU; `received` is true if the addressee decoded any of it.
    fn after(&mut self, now: Instant, m: usize, i: usize, received: bool, out: &mut WlanOutput) {
        let Wlan { devices, links, aps, pool, media, recorders, .. } = self;
        if let Some(frames) = &mut recorders.frames {
            let (ppdu, members) = (&media[m].on_air[i], &media[m].members);
            let sent = Sent { now, ppdu, members, devices, links, aps, pool, received };
            frames.record(&sent, &mut out.noted);
        }
        let medium = &self.media[m];
        let t = &medium.on_air[i];
        let (frame, station, sender) = (t.frame, t.station, medium.members[t.from]);
        let Some(member) = t.to else {
            // Group addressed: no response.
            return self.end_turn(now, sender);
        };
        let to = medium.members[member];
        if matches!(frame, Frame::Cts | Frame::Ack | Frame::BlockAck) {
            if !received {
                return self.unanswered(now, to, out);
            }
            self.devices[to].burst.airtime += t.end.since(t.start);
            return match frame {
                Frame::Cts => self.cleared(now, to),
                _ => self.acknowledged(now, to, out),
            };
        }
        // Clause 10.3.2.7: a CTS only if the NAV says that the medium is idle.
        if !received || frame == Frame::Rts && medium.receivers[member].nav > now {
            let timeout = medium.timing.ack_timeout();
            return self.agenda.schedule(now + timeout, Event::Timeout { device: sender });
        }
        let (ap, ampdu) = (&self.aps[self.devices[sender].ap], self.devices[sender].burst.ampdu);
        let sifs = medium.timing.sifs;
        self.devices[to].answer = Some(Answer::to(t, sender, ampdu, ap, (sifs, self.air.compat)));
        self.agenda.schedule(now + sifs, Event::Answer { device: to });
        self.media[m].follow(member);
        self.take_in(now, sender, (frame, station), out);
    }

    /// Processes at the recipient what it has decoded of a PPDU of the device `sender`.
    fn take_in(
        &mut self,
        now: Instant,
        sender: usize,
        what: (Frame, Option<StationId>),
        out: &mut WlanOutput,
    ) {
        match what {
            (Frame::Data, Some(station)) => self.take_data(now, sender, station, out),
            (Frame::Request, Some(station)) => {
                let category = Category::ALL[self.devices[sender].burst.contender];
                self.release(station, self.devices[sender].end(), category, out, |queue, up| {
                    // A block ack request: the recipient stops waiting for MPDUs before the window.
                    let start = queue.originator.start();
                    queue.reorder.request(start, up);
                });
            }
            (Frame::Management(_), _) => {
                let Some(front) = self.devices[sender].management.front_mut() else { return };
                let copy = *front;
                if !std::mem::replace(&mut front.arrived, true) {
                    self.managed(now, copy, out);
                }
            }
            _ => {}
        }
    }

    /// Processes at the recipient the MPDUs that it has decoded.
    fn take_data(&mut self, now: Instant, sender: usize, station: StationId, out: &mut WlanOutput) {
        let end = self.devices[sender].end();
        let category = Category::ALL[self.devices[sender].burst.contender];
        let burst = &self.devices[sender].burst;
        let link = &mut self.links[station];
        let Some(queue) = &mut link.tx_queues[end.index()][category.index()] else { return };
        let pool = &mut self.pool;
        let (mut bytes, mut left) = (0, 0);
        let agreed = queue.originator.agreement == Agreement::Agreed;
        for (sn, _) in burst.sns.iter().zip(&burst.received).filter(|(_, received)| **received) {
            // A retransmission of an MPDU received before is recognised by its number (clause
            // 10.3.2.11, 10.24.7.6).
            let Some(mpdu) = queue.originator.get_mut(*sn) else { continue };
            let Some(chain) = mpdu.chain.take() else { continue };
            let failures = mpdu.retries.all();
            if self.recorders.stages.is_on() {
                self.recorders.stages.chain(pool, chain, station, now, WlanStage::Reorder);
            }
            let mut up = |chain: Chain| {
                pool.take(chain, |item| {
                    left += 1;
                    bytes += u64::from(item.size);
                    out.delivered.push((station, end.peer(), item));
                });
            };
            if !agreed {
                up(chain);
            } else if !queue.reorder.receive(now, *sn, chain, &mut up) {
                pool.take(chain, |item| {
                    left += 1;
                    self.recorders.stages.lost(LostMpdu { id: item.id, station, end, sn: *sn, failures });
                    out.dropped.push((station, end, now, item, DropCause::Late));
                });
            }
        }
        queue.inside -= left;
        link.stats[end.index()].bytes += bytes;
        self.watch_reorder(station, end, category);
    }

    /// Processes the timer of a reorder buffer, whose gap may have lasted for too long.
    pub(super) fn reorder_timer(
        &mut self,
        now: Instant,
        station: StationId,
        end: End,
        category: Category,
        out: &mut WlanOutput,
    ) {
        self.queue(station, end, category).wake = None;
        self.release(station, end, category, out, |queue, up| queue.reorder.on_time(now, up));
        self.watch_reorder(station, end, category);
    }

    fn release(
        &mut self,
        station: StationId,
        end: End,
        category: Category,
        out: &mut WlanOutput,
        query: impl FnOnce(&mut super::tx_queue::TxQueue, &mut dyn FnMut(Chain)),
    ) {
        let link = &mut self.links[station];
        let Some(queue) = &mut link.tx_queues[end.index()][category.index()] else { return };
        let pool = &mut self.pool;
        let (mut count, mut bytes) = (0, 0);
        query(queue, &mut |chain| {
            pool.take(chain, |item| {
                count += 1;
                bytes += u64::from(item.size);
                out.delivered.push((station, end.peer(), item));
            });
        });
        queue.inside -= count;
        link.stats[end.index()].bytes += bytes;
    }

    fn watch_reorder(&mut self, station: StationId, end: End, category: Category) {
        let queue = self.queue(station, end, category);
        if queue.reorder.held() > 0 && queue.wake.is_none() {
            let Some(at) = queue.reorder.poll_at() else { return };
            queue.wake = Some(at);
            self.agenda.schedule(at, Event::Reorder { station, end, category });
        }
    }
}
