//! Frame exchanges from the sender's side: whose data, how much of it, and what becomes of it.

use lasthop_units::{Bytes, Duration, Instant, StationId};

use super::config::BufferConfig;
use super::lane::Rules;
use super::medium::Frame;
use super::{BEACON, DropCause, End, Event, Wlan, WlanOutput};
use crate::mac::{ACK, Agreement, BLOCK_ACK, BLOCK_ACK_REQUEST, CTS, Category, RTS};
use crate::phy::{MAX_PPDU, Mode};

/// What a device sends in its turn.
#[derive(Debug)]
pub struct Burst {
    /// The contender that won.
    pub contender: usize,
    /// Data, a block ack request, management, or a beacon.
    pub frame: Frame,
    /// Whose link it belongs to.
    pub station: Option<StationId>,
    /// Sequence numbers of the MPDUs.
    pub sns: Vec<u16>,
    /// Which of them the other end got this time.
    pub heard: Vec<bool>,
    /// An A-MPDU that a block ack answers.
    pub ampdu: bool,
    pub mode: Mode,
    /// Length of the PSDU.
    pub psdu: Bytes,
    /// Longer than the RTS threshold.
    pub long: bool,
    /// RTS and CTS have gone before, or are not wanted.
    pub cleared: bool,
    /// Time on the air of this exchange so far.
    pub airtime: Duration,
}

impl Burst {
    pub const fn new(mode: Mode) -> Burst {
        Burst {
            contender: 0,
            frame: Frame::Beacon,
            station: None,
            sns: Vec::new(),
            heard: Vec::new(),
            ampdu: false,
            mode,
            psdu: Bytes(0),
            long: false,
            cleared: true,
            airtime: Duration::ZERO,
        }
    }
}

/// What a device waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Nothing.
    Nothing,
    /// Clear to send.
    Cts,
    /// An acknowledgement of any kind.
    Ack,
}

/// An answer that a device owes.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub frame: Frame,
    /// To this device.
    pub to: usize,
    pub mode: Mode,
    pub bytes: u64,
    pub nav: Duration,
}

/// Airtime that a station gets in each round (Linux 6.1: IEEE80211_DEFAULT_AIRTIME_WEIGHT, 256 us).
const ROUND: i64 = 256_000;

impl Wlan {
    /// The turn of a device has come.
    pub(super) fn turn(&mut self, now: Instant, d: usize, out: &mut WlanOutput) {
        let (m, member) = (self.devices[d].medium, self.devices[d].member);
        let ear = &self.media[m].ears[member];
        if !ear.counting || ear.waiting || ear.tx_until > now {
            return;
        }
        let (base, slot) = (ear.base, self.media[m].timing.slot);
        // Beacons first, then the higher category (clause 10.22.2.4: internal collision).
        let mut winner = None;
        for c in (0..super::CONTENDERS).rev() {
            let contender = &self.devices[d].contenders[c];
            if !contender.wants || contender.turn(base, slot) > now {
                continue;
            }
            if winner.is_some() {
                // Clause 10.22.2.2 d: as after a collision on the air.
                self.devices[d].contenders[c].widen();
                self.internal.push(c);
            } else if self.prepare(now, d, c, self.whole_txop(d, c), out) {
                winner = Some(c);
            } else {
                self.devices[d].contenders[c].wants = false;
            }
        }
        let Some(c) = winner else {
            // What waited has left the queue by a drop.
            let busy = !self.media[m].ears[member].idle;
            if busy {
                self.stop_counting(now, m, member);
            } else {
                self.count(now, m, member);
            }
            return;
        };
        self.stop_counting(now, m, member);
        while let Some(loser) = self.internal.pop() {
            self.back_off(d, loser);
        }
        let txop = self.devices[d].contenders[c].access().txop;
        self.devices[d].txop_end = now.saturating_add(txop);
        self.send_burst(now, d);
    }

    /// What a contender may use in its turn.
    fn whole_txop(&self, d: usize, contender: usize) -> Duration {
        let txop = self.devices[d].contenders[contender].access().txop;
        if txop.is_zero() { Duration::MAX } else { txop }
    }

    /// An idle period ends for a device.
    fn stop_counting(&mut self, now: Instant, m: usize, member: usize) {
        let medium = &mut self.media[m];
        medium.due[member] = Instant::MAX;
        let ear = &mut medium.ears[member];
        if std::mem::take(&mut ear.counting) {
            let device = &mut self.devices[medium.members[member]];
            for c in &mut device.contenders {
                c.interrupt(ear.base, now, medium.timing.slot, device.counting);
            }
        }
    }

    fn back_off(&mut self, d: usize, contender: usize) {
        let device = &mut self.devices[d];
        let bits = device.draw.bits(device.drawn);
        device.drawn += 1;
        device.contenders[contender].back_off(bits);
    }

    /// Fills the burst of a device for a contender, within what is left of the TXOP. False: there is nothing.
    fn prepare(
        &mut self,
        now: Instant,
        d: usize,
        contender: usize,
        left: Duration,
        out: &mut WlanOutput,
    ) -> bool {
        let device = &mut self.devices[d];
        let ap = &self.aps[device.ap];
        let burst = &mut device.burst;
        burst.contender = contender;
        burst.sns.clear();
        burst.heard.clear();
        burst.ampdu = false;
        burst.cleared = true;
        burst.long = false;
        burst.airtime = Duration::ZERO;
        if contender == BEACON {
            (burst.frame, burst.station) = (Frame::Beacon, None);
            (burst.mode, burst.psdu) = (ap.lowest(), ap.beacon.size);
            return true;
        }
        let managing = if ap.standard.qos() { Category::Voice } else { Category::BestEffort };
        if contender == managing.index()
            && let Some(frame) = device.management.front()
        {
            (burst.frame, burst.station) = (Frame::Management(*frame), Some(frame.station));
            (burst.mode, burst.psdu) = (ap.lowest(), Bytes(frame.bytes()));
            return true;
        }
        let category = Category::ALL[contender];
        while let Some(station) = self.choose(d, category) {
            if self.build(now, d, station, category, left, out) {
                return true;
            }
            if !self.lane(station, self.devices[d].end(), category).waits() {
                self.unlist(d, station, category);
            } else {
                return false;
            }
        }
        false
    }

    /// Whose data is next.
    fn choose(&mut self, d: usize, category: Category) -> Option<StationId> {
        let ac = category.index();
        let end = self.devices[d].end();
        let buffer = match end {
            End::Ap => self.aps[self.devices[d].ap].buffer,
            End::Station => return self.devices[d].ring[ac].front().copied(),
        };
        match buffer {
            BufferConfig::FqCodel(c) if c.airtime_fairness => loop {
                // Linux mac80211's ieee80211_next_txq: deficits in time on the air, refilled in turn.
                let station = *self.devices[d].ring[ac].front()?;
                let lane = self.lane(station, end, category);
                if lane.deficit >= 0 {
                    return Some(station);
                }
                lane.deficit += ROUND;
                self.devices[d].ring[ac].rotate_left(1);
            },
            BufferConfig::Fifo { .. } => {
                let links = &self.links;
                let age = |s: &&StationId| {
                    let lane = links[**s].lanes[end.index()][ac].as_ref();
                    lane.map_or(Instant::MAX, |lane| lane.oldest())
                };
                self.devices[d].ring[ac].iter().min_by_key(age).copied()
            }
            _ => {
                let ring = &mut self.devices[d].ring[ac];
                let station = ring.front().copied();
                if station.is_some() {
                    ring.rotate_left(1);
                }
                station
            }
        }
    }

    fn unlist(&mut self, d: usize, station: StationId, category: Category) {
        let end = self.devices[d].end();
        self.lane(station, end, category).listed = false;
        self.devices[d].ring[category.index()].retain(|s| *s != station);
    }

    /// Puts together what goes to (or from) a station. False: nothing is left to send, or no more is allowed.
    fn build(
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
        let Some(lane) = &mut link.lanes[end.index()][category.index()] else { return false };
        let device = &mut self.devices[d];
        let burst = &mut device.burst;
        burst.station = Some(station);
        let agreed = lane.originator.agreement == Agreement::Agreed;
        if lane.originator.request && agreed {
            burst.frame = Frame::Request;
            burst.mode = ap.answer(&self.links[station].control[end.index()].current(1.0));
            burst.psdu = Bytes(BLOCK_ACK_REQUEST);
            return true;
        }
        lane.originator.request = false;
        let medium = &mut self.media[device.medium];
        let from = device.member;
        let to = self.devices[link.devices[end.peer().index()]].member;
        let retries = lane.originator.iter().next().map_or(0, |(_, m)| m.retries);
        let snr = medium.radios.snr(now, from, to);
        let mode = link.control[end.index()].choose(now, retries, snr);
        let qos = ap.standard.qos();
        let rules = Rules { qos, aggregation: &ap.aggregation, mode: &mode, lifetime: ap.lifetime };
        let aggregates = agreed && mode.aggregates() && ap.aggregation.ampdu;
        let answer = ap.answer(&mode).duration(Bytes(BLOCK_ACK), self.air.compat);
        let time = MAX_PPDU.min(left.saturating_sub(medium.timing.sifs + answer));
        let limit = mode.largest(time, self.air.compat).0.min(ap.aggregation.ampdu_limit(&mode));
        let most = if aggregates { ap.aggregation.max_mpdus as usize } else { 1 };
        let burst = &mut self.devices[d].burst;
        let before = lane.queued();
        let (mut total, mut psdu) = (0u64, 0u64);
        let mut full = false;
        for (sn, m) in lane.originator.iter() {
            let with = total + u64::from(ap.aggregation.last_subframe(m.bytes));
            if burst.sns.len() >= most || (!burst.sns.is_empty() && with > limit) {
                full = true;
                break;
            }
            burst.sns.push(sn);
            psdu = with;
            total += u64::from(ap.aggregation.subframe(m.bytes, &mode));
        }
        while !full && burst.sns.len() < most && lane.originator.has_room() {
            if !lane.pull(now, &rules, &mut self.pool, &mut self.lost) {
                break;
            }
            let Some((sn, m)) = lane.originator.last() else { break };
            let with = total + u64::from(ap.aggregation.last_subframe(m.bytes));
            if !burst.sns.is_empty() && with > limit {
                break;
            }
            burst.sns.push(sn);
            psdu = with;
            total += u64::from(ap.aggregation.subframe(m.bytes, &mode));
        }
        let pulled = before - lane.queued();
        self.devices[d].queued[category.index()] -= pulled as u32;
        let burst = &mut self.devices[d].burst;
        burst.frame = Frame::Data;
        burst.mode = mode;
        burst.ampdu = burst.sns.len() > 1;
        if burst.sns.len() == 1 {
            // A VHT PSDU is an A-MPDU even with one MPDU, which an ACK answers (clause 10.13.7); others carry it bare.
            let bytes = lane.originator.get(burst.sns[0]).map_or(0, |m| u64::from(m.bytes));
            let vht = mode.format() == crate::phy::Format::Vht;
            psdu = if vht { psdu } else { bytes };
        }
        burst.psdu = Bytes(psdu);
        burst.long = ap.rts_threshold.is_some_and(|t| psdu > t.0);
        burst.cleared = !burst.long;
        let some = !burst.sns.is_empty();
        let ask =
            some && mode.aggregates() && ap.aggregation.ampdu && lane.originator.agreement == Agreement::None;
        self.report_lost(now, station, end, out);
        if ask {
            self.want_agreement(now, station, end, category);
        }
        some
    }

    /// Gives up MPDUs whose packets are beyond their lifetime.
    fn discard_old(
        &mut self,
        now: Instant,
        station: StationId,
        end: End,
        category: Category,
        out: &mut WlanOutput,
    ) {
        let Some(lifetime) = self.aps[self.links[station].ap].lifetime else { return };
        loop {
            let lane = self.lane(station, end, category);
            let old = lane.originator.iter().find(|(_, m)| now.since(m.since) > lifetime);
            let Some((sn, _)) = old else { return };
            self.give_up(now, station, end, category, sn, DropCause::Lifetime, out);
        }
    }

    /// An MPDU is given up. The recipient may have it all the same; if not, it is told not to wait for it.
    #[allow(clippy::too_many_arguments)] // where, which and why
    fn give_up(
        &mut self,
        now: Instant,
        station: StationId,
        end: End,
        category: Category,
        sn: u16,
        cause: DropCause,
        out: &mut WlanOutput,
    ) {
        let lane = self.links[station].lanes[end.index()][category.index()].as_mut();
        let lane = lane.unwrap_or_else(|| unreachable!("it has an MPDU"));
        let Some(mpdu) = lane.originator.get_mut(sn) else { return };
        if let Some(chain) = mpdu.chain.take() {
            let inside = &mut lane.inside;
            self.pool.take(chain, |item| {
                *inside -= 1;
                out.dropped.push((station, end, now, item, cause));
            });
            lane.originator.request |= lane.originator.agreement == Agreement::Agreed;
        }
        lane.originator.finish(sn);
    }

    /// Sends the burst of a device, or the RTS before it.
    pub(super) fn send_burst(&mut self, now: Instant, d: usize) {
        let device = &self.devices[d];
        let ap = &self.aps[device.ap];
        let (compat, sifs) = (self.air.compat, self.media[device.medium].timing.sifs);
        let burst = &device.burst;
        let to = burst.station.map(|s| self.links[s].devices[device.end().peer().index()]);
        let control = ap.answer(&burst.mode);
        let answer = match burst.frame {
            Frame::Beacon => Duration::ZERO,
            _ if burst.ampdu || burst.frame == Frame::Request => {
                sifs + control.duration(Bytes(BLOCK_ACK), compat)
            }
            _ => sifs + control.duration(Bytes(ACK), compat),
        };
        let length = burst.mode.duration(burst.psdu, compat);
        if !burst.cleared {
            let cts = control.duration(Bytes(CTS), compat);
            let nav = sifs + cts + sifs + length + answer;
            self.devices[d].pending = Pending::Cts;
            return self.transmit(now, d, to, control, Bytes(RTS), Bytes(RTS), Frame::Rts, nav);
        }
        let first = match burst.frame {
            Frame::Data if burst.ampdu => {
                let category = Category::ALL[burst.contender];
                let lane = burst
                    .station
                    .and_then(|s| self.links[s].lanes[device.end().index()][category.index()].as_ref());
                let mpdu = lane.and_then(|lane| lane.originator.get(burst.sns[0]));
                Bytes(mpdu.map_or(0, |m| u64::from(m.bytes)))
            }
            _ => burst.psdu,
        };
        let (mode, psdu, frame) = (burst.mode, burst.psdu, burst.frame);
        self.devices[d].pending = if frame == Frame::Beacon { Pending::Nothing } else { Pending::Ack };
        self.transmit(now, d, to, mode, psdu, first, frame, answer);
    }

    /// Sends the answer that a device owes.
    pub(super) fn send_answer(&mut self, now: Instant, d: usize) {
        let Some(a) = self.devices[d].answer.take() else { return };
        let device = &self.devices[d];
        if self.media[device.medium].ears[device.member].tx_until > now {
            // It has begun to send for itself: the other will wait in vain.
            let wait = self.media[device.medium].timing.ack_timeout();
            return self.schedule(now.saturating_add(wait), Event::Timeout { device: a.to });
        }
        self.transmit(now, d, Some(a.to), a.mode, Bytes(a.bytes), Bytes(a.bytes), a.frame, a.nav);
    }

    #[allow(clippy::too_many_arguments)] // a PPDU has that many properties
    fn transmit(
        &mut self,
        now: Instant,
        d: usize,
        to: Option<usize>,
        mode: Mode,
        psdu: Bytes,
        first: Bytes,
        frame: Frame,
        nav: Duration,
    ) {
        let compat = self.air.compat;
        let (preamble, length) = (mode.preamble(compat), mode.duration(psdu, compat));
        let (m, member) = (self.devices[d].medium, self.devices[d].member);
        let to = to.map(|to| self.devices[to].member);
        let station = self.devices[d].burst.station;
        let (timing, devices) = (self.media[m].timing, &mut self.devices);
        let members = std::mem::take(&mut self.media[m].members);
        let busy = |r: usize, ear: &mut super::medium::Ear, due: &mut Instant| {
            // Whose turn comes before it can notice sends all the same.
            let committed = r != member && *due != Instant::MAX && *due < now + timing.sense;
            if committed || !ear.counting {
                return;
            }
            ear.counting = false;
            *due = Instant::MAX;
            let device = &mut devices[members[r]];
            for c in &mut device.contenders {
                c.interrupt(ear.base, now, timing.slot, device.counting);
            }
        };
        let (serial, end) =
            self.media[m].begin(now, member, to, station, mode, (preamble, length), first, frame, nav, busy);
        self.media[m].members = members;
        let ear = &mut self.media[m].ears[member];
        ear.waiting |= self.devices[d].pending != Pending::Nothing;
        self.devices[d].burst.airtime += length;
        self.schedule(end, Event::End { medium: m, serial });
    }

    /// The clear to send has come: the burst follows.
    pub(super) fn cleared(&mut self, now: Instant, d: usize) {
        let device = &mut self.devices[d];
        device.burst.cleared = true;
        let sifs = self.media[device.medium].timing.sifs;
        self.schedule(now + sifs, Event::Continue { device: d });
    }

    /// The burst was acknowledged, in whole or in part.
    pub(super) fn acknowledged(&mut self, now: Instant, d: usize, out: &mut WlanOutput) {
        let (contender, frame) = (self.devices[d].burst.contender, self.devices[d].burst.frame);
        match frame {
            Frame::Management(_) => {
                self.devices[d].management.pop_front();
            }
            Frame::Request => {
                if let Some(station) = self.devices[d].burst.station {
                    let end = self.devices[d].end();
                    let lane = self.lane(station, end, Category::ALL[contender]);
                    (lane.requests, lane.originator.request) = (0, false);
                }
            }
            _ => self.account(now, d, true, out),
        }
        self.devices[d].contenders[contender].reset();
        self.proceed(now, d, out);
    }

    /// No answer has come, or none that could be read.
    pub(super) fn unanswered(&mut self, now: Instant, d: usize, out: &mut WlanOutput) {
        let (contender, frame) = (self.devices[d].burst.contender, self.devices[d].burst.frame);
        self.devices[d].contenders[contender].widen();
        let limit = self.retry_limit(d);
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
                    let lane = self.lane(station, end, Category::ALL[contender]);
                    lane.requests += 1;
                    if lane.requests >= limit {
                        // The recipient will stop waiting by itself.
                        (lane.requests, lane.originator.request) = (0, false);
                    }
                }
            }
            _ => self.account(now, d, false, out),
        }
        self.end_turn(now, d);
    }

    fn retry_limit(&self, d: usize) -> u32 {
        let ap = &self.aps[self.devices[d].ap];
        let burst = &self.devices[d].burst;
        // An RTS that is not answered counts as a short frame (clause 10.22.2.12).
        if burst.long && burst.cleared { ap.long_retry } else { ap.short_retry }
    }

    /// Books what has become of the data of a burst.
    fn account(&mut self, now: Instant, d: usize, answered: bool, out: &mut WlanOutput) {
        let Some(station) = self.devices[d].burst.station else { return };
        let (end, category) = (self.devices[d].end(), Category::ALL[self.devices[d].burst.contender]);
        let limit = self.retry_limit(d);
        let sns = std::mem::take(&mut self.devices[d].burst.sns);
        let heard = std::mem::take(&mut self.devices[d].burst.heard);
        let (mode, airtime) = (self.devices[d].burst.mode, self.devices[d].burst.airtime);
        let sent = self.devices[d].burst.cleared;
        let mut acked = 0;
        for (i, sn) in sns.iter().enumerate() {
            let ok = answered && heard.get(i).copied().unwrap_or(false);
            let lane = self.links[station].lanes[end.index()][category.index()].as_mut();
            let lane = lane.unwrap_or_else(|| unreachable!("it has MPDUs"));
            if ok {
                acked += 1;
                lane.originator.finish(*sn);
            } else if !sent && i > 0 {
                // An RTS that is not answered counts for the first alone.
            } else if let Some(m) = lane.originator.get_mut(*sn) {
                m.retries += 1;
                if m.retries >= limit {
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
            // Linux charges the station for what it sends as well (AIRTIME_USE_RX).
            if let Some(lane) = &mut link.lanes[End::Ap.index()][category.index()] {
                lane.deficit -= airtime.0 as i64;
            }
        } else if let Some(lane) = &mut link.lanes[end.index()][category.index()] {
            lane.deficit -= airtime.0 as i64;
        }
        let burst = &mut self.devices[d].burst;
        (burst.sns, burst.heard) = (sns, heard);
    }

    /// Goes on within the TXOP if there is time and data, or ends the turn.
    fn proceed(&mut self, now: Instant, d: usize, out: &mut WlanOutput) {
        let contender = self.devices[d].burst.contender;
        let limited = contender != BEACON && !self.devices[d].contenders[contender].access().txop.is_zero();
        let sifs = self.media[self.devices[d].medium].timing.sifs;
        let left = self.devices[d].txop_end.since(now + sifs);
        // What was put together and does not fit waits for the next turn.
        let fits = limited
            && !left.is_zero()
            && self.prepare(now, d, contender, left, out)
            && self.exchange_time(d) <= left;
        if fits {
            return self.schedule(now + sifs, Event::Continue { device: d });
        }
        self.end_turn(now, d);
    }

    /// How long the burst of a device takes with everything around it.
    fn exchange_time(&self, d: usize) -> Duration {
        let device = &self.devices[d];
        let burst = &device.burst;
        let (compat, sifs) = (self.air.compat, self.media[device.medium].timing.sifs);
        let control = self.aps[device.ap].answer(&burst.mode);
        let answer = if burst.ampdu || burst.frame == Frame::Request { BLOCK_ACK } else { ACK };
        let mut time =
            burst.mode.duration(burst.psdu, compat) + sifs + control.duration(Bytes(answer), compat);
        if !burst.cleared {
            time += control.duration(Bytes(RTS), compat) + control.duration(Bytes(CTS), compat) + sifs * 2;
        }
        time
    }

    /// The device contends anew.
    pub(super) fn end_turn(&mut self, now: Instant, d: usize) {
        let contender = self.devices[d].burst.contender;
        self.devices[d].pending = Pending::Nothing;
        if contender == BEACON {
            self.devices[d].contenders[BEACON].wants = false;
        } else {
            self.back_off(d, contender);
            let category = Category::ALL[contender];
            if let Some(station) = self.devices[d].burst.station {
                let end = self.devices[d].end();
                let listed =
                    self.links[station].lanes[end.index()][contender].as_ref().map(|l| (l.listed, l.waits()));
                if listed == Some((true, false)) {
                    self.unlist(d, station, category);
                }
            }
            let managing = self.management_category(d) == category && !self.devices[d].management.is_empty();
            let device = &mut self.devices[d];
            device.contenders[contender].wants = managing || !device.ring[contender].is_empty();
        }
        let (m, member) = (self.devices[d].medium, self.devices[d].member);
        let medium = &mut self.media[m];
        let ear = &mut medium.ears[member];
        ear.waiting = false;
        if ear.idle {
            // Clause 10.22.2.4 c: AIFS and SIFS after the end of ACKTimeout.
            let sifs = medium.timing.sifs;
            ear.base = (now + sifs).max(ear.nav.saturating_add(sifs));
            self.count(now, m, member);
        }
    }
}
