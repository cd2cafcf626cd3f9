//! The outcome of an exchange: acknowledged or not, and the next action of the device.

use lasthop_units::Instant;

use super::agenda::Event;
use super::config::ApConfig;
use super::medium::Frame;
use super::record::BurstOf;
use super::{BEACON, DropCause, End, Pending, Wlan, WlanOutput};
use crate::mac::Category;

impl Wlan {
    /// Continues after a received CTS: the burst follows.
    pub(super) fn cleared(&mut self, now: Instant, d: usize) {
        let device = &mut self.devices[d];
        device.burst.cleared = true;
        let medium = &mut self.media[device.medium];
        medium.follow(device.member);
        self.agenda.schedule(now + medium.timing.sifs, Event::Continue { device: d });
    }

    /// Processes an acknowledgement of the burst, in whole or in part.
    pub(super) fn acknowledged(&mut self, now: Instant, d: usize, out: &mut WlanOutput) {
        let (contender, frame) = (self.devices[d].burst.contender, self.devices[d].burst.frame);
        match frame {
            Frame::Management(_) => {
                self.devices[d].management.pop_front();
            }
            Frame::Request => {
                if let Some(station) = self.devices[d].burst.station {
                    let end = self.devices[d].end();
                    let queue = self.queue(station, end, Category::ALL[contender]);
                    (queue.requests, queue.originator.request) = (0, false);
                }
            }
            _ => self.account(now, d, true, out),
        }
        self.devices[d].contenders[contender].reset();
        self.proceed(now, d, out);
    }

    /// Processes a missing response, or one that could not be decoded.
    pub(super) fn unanswered(&mut self, now: Instant, d: usize, out: &mut WlanOutput) {
        let (contender, frame) = (self.devices[d].burst.contender, self.devices[d].burst.frame);
        self.devices[d].contenders[contender].widen();
        let limit = self.aps[self.devices[d].ap].config.short_retry;
        match frame {
            Frame::Management(_) => {
                let device = &mut self.devices[d];
                let over = device.management.front_mut().is_some_and(|f| {
                    f.retries += 1;
                    f.retries >= limit
                });
                if over && let Some(frame) = device.management.pop_front() {
                    device.contenders[contender].reset();
                    self.management_failed(now, frame, out);
                }
            }
            Frame::Request => {
                if let Some(station) = self.devices[d].burst.station {
                    let end = self.devices[d].end();
                    let queue = self.queue(station, end, Category::ALL[contender]);
                    queue.requests += 1;
                    if queue.requests >= limit {
                        // The recipient stops waiting by its reorder timeout.
                        (queue.requests, queue.originator.request) = (0, false);
                    }
                }
            }
            _ => self.account(now, d, false, out),
        }
        self.end_turn(now, d);
    }

    /// Counts the outcome of the data of a burst.
    fn account(&mut self, now: Instant, d: usize, answered: bool, out: &mut WlanOutput) {
        let Some(station) = self.devices[d].burst.station else { return };
        if self.recorders.stages.is_on() {
            let burst = BurstOf { device: &self.devices[d], links: &self.links, pool: &self.pool };
            self.recorders.stages.burst_ends(now, burst);
        }
        let (end, category) = (self.devices[d].end(), Category::ALL[self.devices[d].burst.contender]);
        let sns = std::mem::take(&mut self.devices[d].burst.sns);
        let received = std::mem::take(&mut self.devices[d].burst.received);
        let (mode, airtime) = (self.devices[d].burst.mode, self.devices[d].burst.airtime);
        let sent = self.devices[d].burst.cleared;
        let mut acked = 0;
        for (i, sn) in sns.iter().enumerate() {
            let ok = answered && received.get(i).copied().unwrap_or(false);
            let queue = self.links[station].tx_queues[end.index()][category.index()].as_mut();
            let queue = queue.unwrap_or_else(|| unreachable!("it has MPDUs"));
            if ok {
                acked += 1;
                queue.originator.finish(*sn);
            } else if !sent && i > 0 {
                // An RTS without a CTS counts for the first MPDU alone.
            } else if let Some(m) = queue.originator.get_mut(*sn) {
                *self.devices[d].burst.retry_count(&mut m.retries) += 1;
                m.aired |= sent;
                let ApConfig { short_retry, long_retry, .. } = self.aps[self.devices[d].ap].config;
                if m.retries.short >= short_retry || m.retries.long >= long_retry {
                    self.give_up(now, station, end, category, *sn, DropCause::RetryLimit, out);
                    if i == 0 {
                        let contender = self.devices[d].burst.contender;
                        self.devices[d].contenders[contender].reset();
                    }
                }
            }
        }
        let link = &mut self.links[station];
        let stats = &mut link.stats[end.index()];
        stats.airtime += airtime.0;
        stats.unanswered += u64::from(!answered);
        if sent {
            stats.ppdus += 1;
            stats.mpdus += sns.len() as u64;
            stats.failed += sns.len() as u64 - acked;
            stats.rate_sum += mode.rate().as_f64();
            stats.mcs_sum += u64::from(mode.mcs());
            link.control[end.index()].report(now, &mode, sns.len() as u32, acked as u32);
        }
        if end == End::Station {
            // Linux charges the station for the airtime of its own transmissions as well
            // (AIRTIME_USE_RX).
            if let Some(queue) = &mut link.tx_queues[End::Ap.index()][category.index()] {
                queue.deficit -= airtime.0 as i64;
            }
        } else if let Some(queue) = &mut link.tx_queues[end.index()][category.index()] {
            queue.deficit -= airtime.0 as i64;
        }
        let burst = &mut self.devices[d].burst;
        (burst.sns, burst.received) = (sns, received);
    }

    /// Continues within the TXOP if there is time and data, or ends the turn.
    fn proceed(&mut self, now: Instant, d: usize, out: &mut WlanOutput) {
        let contender = self.devices[d].burst.contender;
        let limited = contender != BEACON && !self.devices[d].contenders[contender].access().txop.is_zero();
        let sifs = self.media[self.devices[d].medium].timing.sifs;
        let left = self.devices[d].txop_end.since(now + sifs);
        // Assembled data that does not fit waits for the next turn.
        let fits = limited
            && !left.is_zero()
            && self.prepare(now, d, contender, left, out)
            && self.devices[d].burst.exchange_time(&self.aps[self.devices[d].ap], sifs, self.air.compat)
                <= left;
        if fits {
            self.devices[d].turn_ended = now;
            self.media[self.devices[d].medium].follow(self.devices[d].member);
            return self.agenda.schedule(now + sifs, Event::Continue { device: d });
        }
        self.end_turn(now, d);
    }

    /// Ends the turn of a device, which contends again.
    pub(super) fn end_turn(&mut self, now: Instant, d: usize) {
        let contender = self.devices[d].burst.contender;
        self.devices[d].pending = Pending::Nothing;
        self.devices[d].turn_ended = now;
        if contender == BEACON {
            self.devices[d].contenders[BEACON].pending = false;
        } else {
            self.devices[d].back_off(contender);
            let category = Category::ALL[contender];
            if let Some(station) = self.devices[d].burst.station {
                let end = self.devices[d].end();
                let listed = self.links[station].tx_queues[end.index()][contender]
                    .as_ref()
                    .map(|l| (l.listed, l.waits()));
                if listed == Some((true, false)) {
                    self.unlist(d, station, category);
                }
            }
            let managing = self.aps[self.devices[d].ap].config.management_category() == category
                && !self.devices[d].management.is_empty();
            let device = &mut self.devices[d];
            device.contenders[contender].pending = managing || !device.ring[contender].is_empty();
        }
        let (m, member) = (self.devices[d].medium, self.devices[d].member);
        self.contention().catch_up(m);
        let medium = &mut self.media[m];
        let receiver = &mut medium.receivers[member];
        receiver.waiting = false;
        receiver.contends |= 1 << contender;
        if receiver.idle {
            // Clause 10.22.2.4 c: AIFS and SIFS after the end of ACKTimeout.
            let sifs = medium.timing.sifs;
            receiver.base = (now + sifs).max(receiver.nav.saturating_add(sifs));
            self.contention().count(now, m, member);
        }
    }
}
