//! Choice of the station that is served next, aggregation of MPDUs, and packets beyond their
//! lifetime.

use lasthop_units::{Bytes, Duration, Instant, StationId};

use super::ap::AccessPoint;
use super::config::{BufferConfig, DriverOrder, StationFqCodel};
use super::tx_queue::{Lost, Rules, TxQueue};
use super::{DropCause, End, LostMpdu, Wlan, WlanOutput};
use crate::mac::{Agreement, BLOCK_ACK, CTS, Category, DELIMITER, Pool, RTS};
use crate::phy::{Compat, Format, MAX_PPDU, Mode};

/// Airtime that a station gets in each round (Linux 6.1: IEEE80211_DEFAULT_AIRTIME_WEIGHT, 256 us).
pub(super) const ROUND: i64 = 256_000;

/// The longest PSDU at a rate whose exchange, with the response and (beyond the threshold) RTS and
/// CTS, takes no longer than `left`.
fn longest_psdu(ap: &AccessPoint, mode: &Mode, left: Duration, sifs: Duration, compat: Compat) -> u64 {
    let control = ap.answer(mode);
    let of = |bytes| control.duration(Bytes(bytes), compat);
    let left = left.saturating_sub(sifs + of(BLOCK_ACK));
    let within = |left| mode.largest(MAX_PPDU.min(left), compat).0;
    let bare = within(left);
    let longest = match ap.config.rts_threshold {
        Some(threshold) if bare > threshold.0 => {
            let cleared = within(left.saturating_sub(of(RTS) + of(CTS) + sifs * 2));
            cleared.max(threshold.0)
        }
        _ => bare,
    };
    longest.min(ap.config.aggregation.ampdu_limit(mode))
}

/// The order in which an access point serves its stations.
#[derive(Clone, Copy)]
enum Order {
    /// The station with the oldest packet.
    Oldest,
    /// The stations in turn.
    Turns,
    /// The station that has used less airtime.
    Airtime,
    /// In turn, the stations for which the driver has packets: fairness applied when the driver
    /// took them.
    Ready,
    /// The station whose packet the driver took first.
    Taken,
}

impl Order {
    const fn of(buffer: &BufferConfig) -> Order {
        match buffer {
            BufferConfig::Fifo { .. } => Order::Oldest,
            BufferConfig::PerStation { .. } => Order::Turns,
            BufferConfig::FqCodel(StationFqCodel { driver: Some(driver), .. }) => match driver.order {
                DriverOrder::Turns => Order::Ready,
                DriverOrder::Oldest => Order::Taken,
            },
            BufferConfig::FqCodel(c) if c.airtime_fairness => Order::Airtime,
            BufferConfig::FqCodel(_) => Order::Turns,
        }
    }
}

/// Limits of the contents of one PSDU.
struct Psdu<'a> {
    rules: &'a Rules<'a>,
    /// Longest PSDU [B]; a single MPDU may be longer.
    limit: u64,
    /// Most MPDUs.
    most: usize,
}

impl Psdu<'_> {
    /// Selects MPDUs of `queue` that were sent before and new ones from waiting packets, as many as
    /// fit: their numbers go to `sns`, which is empty. Returns the length of the PSDU.
    fn fill(
        &self,
        now: Instant,
        queue: &mut TxQueue,
        sns: &mut Vec<u16>,
        (pool, lost): (&mut Pool, &mut Lost),
    ) -> u64 {
        let Rules { aggregation, mode, .. } = *self.rules;
        let (mut total, mut psdu) = (0u64, 0u64);
        let mut take = |sns: &mut Vec<u16>, sn: u16, bytes: u32| {
            let with = total + u64::from(aggregation.last_subframe(bytes));
            let fits = sns.len() < self.most && (sns.is_empty() || with <= self.limit);
            if fits {
                sns.push(sn);
                psdu = with;
                total += u64::from(aggregation.subframe(bytes, mode));
            }
            fits
        };
        let mut more = queue.originator.iter().all(|(sn, m)| take(sns, sn, m.bytes));
        while more && sns.len() < self.most && queue.originator.has_room() {
            more = queue.pull(now, self.rules, pool, lost)
                && queue.originator.last().is_some_and(|(sn, m)| take(sns, sn, m.bytes));
        }
        // A VHT PSDU is an A-MPDU even with one MPDU, to which an ACK responds (clause 10.13.7);
        // other formats carry the MPDU alone.
        match sns[..] {
            [sn] if mode.format() != Format::Vht => {
                queue.originator.get(sn).map_or(0, |m| u64::from(m.bytes))
            }
            _ => psdu,
        }
    }
}

impl Wlan {
    /// Chooses the station that is served next.
    pub(super) fn choose(&mut self, d: usize, category: Category) -> Option<StationId> {
        let ac = category.index();
        let end = self.devices[d].end();
        if end == End::Station {
            return self.devices[d].ring[ac].front().copied();
        }
        match Order::of(&self.aps[self.devices[d].ap].config.buffer) {
            Order::Ready => {
                let ring = &mut self.devices[d].ring[ac];
                let links = &self.links;
                let ready = |s: &StationId| {
                    links[*s].tx_queues[end.index()][ac].as_ref().is_some_and(|queue| queue.is_ready())
                };
                let i = ring.iter().position(ready)?;
                ring.rotate_left(i + 1);
                ring.back().copied()
            }
            Order::Taken => {
                let links = &self.links;
                let queue = |s: &StationId| links[*s].tx_queues[end.index()][ac].as_deref();
                let ready =
                    self.devices[d].ring[ac].iter().filter(|s| queue(s).is_some_and(TxQueue::is_ready));
                ready.min_by_key(|s| queue(s).map_or(Instant::MAX, TxQueue::oldest)).copied()
            }
            Order::Airtime => loop {
                // Linux mac80211's ieee80211_next_txq: deficits in airtime, refilled in turn.
                let station = *self.devices[d].ring[ac].front()?;
                let queue = self.queue(station, end, category);
                if queue.deficit >= 0 {
                    return Some(station);
                }
                queue.deficit += ROUND;
                self.devices[d].ring[ac].rotate_left(1);
            },
            Order::Oldest => {
                let links = &self.links;
                let age = |s: &&StationId| {
                    let queue = links[**s].tx_queues[end.index()][ac].as_ref();
                    queue.map_or(Instant::MAX, |queue| queue.oldest())
                };
                self.devices[d].ring[ac].iter().min_by_key(age).copied()
            }
            Order::Turns => {
                let ring = &mut self.devices[d].ring[ac];
                let station = ring.front().copied();
                if station.is_some() {
                    ring.rotate_left(1);
                }
                station
            }
        }
    }

    pub(super) fn unlist(&mut self, d: usize, station: StationId, category: Category) {
        let end = self.devices[d].end();
        self.queue(station, end, category).listed = false;
        self.devices[d].ring[category.index()].retain(|s| *s != station);
    }

    /// Assembles the frame that is sent to (or from) a station. Returns false if there is no data
    /// left, or no time.
    pub(super) fn build(
        &mut self,
        now: Instant,
        d: usize,
        station: StationId,
        category: Category,
        left: Duration,
        out: &mut WlanOutput,
    ) -> bool {
        let end = self.devices[d].end();
        self.discard_old(now, station, end, category, out);
        let link = &mut self.links[station];
        let ap = &self.aps[link.ap];
        let Some(queue) = &mut link.tx_queues[end.index()][category.index()] else { return false };
        let [from, to] = [end, end.peer()].map(|e| self.devices[link.devices[e.index()]].member);
        let device = &mut self.devices[d];
        let burst = &mut device.burst;
        burst.station = Some(station);
        let agreed = queue.originator.agreement == Agreement::Agreed;
        let control = &mut link.control[end.index()];
        if queue.originator.request && agreed {
            burst.set_request(*ap.answer(&control.current(1.0)));
            return true;
        }
        queue.originator.request = false;
        let medium = &mut self.media[device.medium];
        let mode = control.choose(now, medium.radios.snr(now, from, to));
        let longest = |time| longest_psdu(ap, &mode, time, medium.timing.sifs, self.air.compat);
        let turn = device.contenders[category.index()].access().turn();
        let limit = longest(left);
        let of_a_turn = if left == turn { limit } else { longest(turn) };
        let room = [limit, of_a_turn].map(|psdu| psdu.saturating_sub(DELIMITER.into()) as u32);
        let ap = &ap.config;
        let (qos, aggregation) = (ap.standard.qos(), &ap.aggregation);
        let rules = Rules { qos, aggregation, mode: &mode, lifetime: ap.lifetime, room };
        let aggregates = mode.aggregates() && aggregation.ampdu;
        let most = if agreed && aggregates { aggregation.max_mpdus as usize } else { 1 };
        let before = queue.queued();
        let psdu = Psdu { rules: &rules, limit, most }.fill(
            now,
            queue,
            &mut burst.sns,
            (&mut self.pool, &mut self.lost),
        );
        device.queued[category.index()] -= (before - queue.queued()) as u32;
        burst.set_data(mode, psdu, ap);
        let some = !burst.sns.is_empty();
        let ask = some && aggregates && queue.originator.agreement == Agreement::None;
        self.report_lost(now, station, end, out);
        if ask {
            self.want_agreement(now, station, end, category);
        }
        some
    }

    /// Discards MPDUs whose packets are beyond their lifetime.
    fn discard_old(
        &mut self,
        now: Instant,
        station: StationId,
        end: End,
        category: Category,
        out: &mut WlanOutput,
    ) {
        let Some(lifetime) = self.aps[self.links[station].ap].config.lifetime else { return };
        loop {
            let queue = self.queue(station, end, category);
            let old = queue.originator.iter().find(|(_, m)| now.since(m.since) > lifetime);
            let Some((sn, _)) = old else { return };
            self.give_up(now, station, end, category, sn, DropCause::Lifetime, out);
        }
    }

    /// Discards an MPDU. The recipient may have received it; if not, it must not wait for it.
    #[allow(clippy::too_many_arguments)] // where, which and why
    pub(super) fn give_up(
        &mut self,
        now: Instant,
        station: StationId,
        end: End,
        category: Category,
        sn: u16,
        cause: DropCause,
        out: &mut WlanOutput,
    ) {
        let queue = self.links[station].tx_queues[end.index()][category.index()].as_mut();
        let queue = queue.unwrap_or_else(|| unreachable!("it has an MPDU"));
        let Some(mpdu) = queue.originator.get_mut(sn) else { return };
        if let Some(chain) = mpdu.chain.take() {
            let (inside, recorder, failures) =
                (&mut queue.inside, &mut self.recorders.stages, mpdu.retries.all());
            self.pool.take(chain, |item| {
                *inside -= 1;
                recorder.lost(LostMpdu { id: item.id, station, end, sn, failures });
                out.dropped.push((station, end, now, item, cause));
            });
            queue.originator.request |= queue.originator.agreement == Agreement::Agreed;
        }
        queue.originator.finish(sn);
    }
}
