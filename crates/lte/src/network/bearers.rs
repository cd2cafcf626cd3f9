//! Data radio bearers: PDCP and RLC at both ends of each, and the timers of all of them.
//!
//! Every call to a bearer's layers is made here and is followed by [`settle`](Bearers::settle),
//! which passes on their output. Where the output concerns MAC or RRC a [`Notice`] is queued, which
//! the network processes after each step.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::{Deref, Index};

use lasthop_units::{BearerId, Duration, Id, IndexVec, Instant, PacketId, UeId};

use super::config::NetworkConfig;
use super::core_network::Core;
use super::ip_buffer::IpBuffer;
use super::{NetworkEvent, NetworkOutput};
use crate::mac::harq::Parts;
use crate::mac::scheduler::qci::{Qos, priority_of};
use lasthop_bearer::{BearerStage, DropCause, End, Journeys, Sdu};
use lasthop_lte_l2::pdcp::{ForwardedSdu, LteBearer, LteBearerConfig, LteBearerOutput};
use lasthop_lte_l2::rlc::{Grant, Pdu, Rlc, RlcEvent};
use lasthop_units::Bitrate;

/// A data radio bearer in the network.
#[derive(Debug)]
pub(super) struct Drb {
    id: BearerId,
    pub ue: UeId,
    pub layers: Layers,
    pub qos: Qos,
    /// The priority of its class, which schedulers read in every TTI.
    pub priority: f64,
    /// Packets that wait in the eNB until MAC requests them.
    pub ip: Option<Box<IpBuffer>>,
    /// The earliest wake-up that is scheduled for its timers.
    wake: Option<Instant>,
    /// The AQM of its buffers needs the rate.
    pub tells_rate: bool,
    /// A bearer between two UEs: `ue` has the terminal's end, its peer the network's.
    pub direct: bool,
}

/// PDCP and RLC of a bearer. The scheduler of the downlink reads in every TTI what waits in the
/// network's end: it is computed again only after a change. The timers of an end are read only
/// after a change of it.
#[derive(Debug)]
pub(super) struct Layers {
    layers: LteBearer,
    waiting: Option<Waiting>,
    /// By end: it has changed since its timers were read.
    changed: [bool; 2],
}

impl Deref for Layers {
    type Target = LteBearer;
    #[inline]
    fn deref(&self) -> &LteBearer {
        &self.layers
    }
}

impl Layers {
    /// Every change of the layers is made through this reference, or through that of an end.
    #[inline]
    const fn change(&mut self) -> &mut LteBearer {
        self.waiting = None;
        self.changed = [true; 2];
        &mut self.layers
    }
    /// As [`change`](Self::change), for a call that changes RLC of `end` only.
    #[inline]
    const fn change_at(&mut self, end: End) -> &mut LteBearer {
        if matches!(end, End::Network) {
            self.waiting = None;
        }
        self.changed[end.index()] = true;
        &mut self.layers
    }

    /// As [`change_at`](Self::change_at), for a packet that is pushed at `end`: that moves no
    /// timer, unless [`push_moves_timers`](LteBearer::push_moves_timers).
    #[inline]
    fn push(&mut self, now: Instant, end: End, packet: Sdu, said: &mut LteBearerOutput) {
        if end == End::Network {
            self.waiting = None;
        }
        let timer = if cfg!(debug_assertions) { self.layers.next_timer(end) } else { Instant::MAX };
        self.layers.push_ecn(now, end, packet, said);
        if self.layers.push_moves_timers() {
            self.changed[end.index()] = true;
        } else {
            debug_assert_eq!(timer, self.layers.next_timer(end), "a push moves no timer");
        }
    }

    /// When a timer of an end that has changed expires next; the end of time if none runs.
    #[inline]
    fn changed_timer(&mut self) -> Instant {
        let mut at = Instant::MAX;
        for end in [End::Network, End::Ue] {
            if std::mem::take(&mut self.changed[end.index()]) {
                at = at.min(self.layers.next_timer(end));
            }
        }
        at
    }

    /// Data that waits in RLC at the network's end.
    #[inline]
    fn waiting(&mut self) -> Waiting {
        let layers = &self.layers;
        let now = || Waiting::of(layers.rlc(End::Network));
        let waiting = *self.waiting.get_or_insert_with(now);
        debug_assert_eq!(waiting, now(), "no change since it was computed");
        waiting
    }
}

/// Bytes that headers may add to RLC's buffer status: PDCP and RLC fields and MAC subheaders of a
/// transport block, which it does not contain, and those of each further packet.
pub(super) const HEADERS: u64 = 8;
const HEADERS_PER_PACKET: u64 = 2;

/// What waits in an RLC entity for MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The data that could be sent now, or that the entity has reported where reports are made at
    /// events only [B].
    pub bytes: u64,
    /// MAC follows the reports of the entity.
    pub by_reports: bool,
    /// `bytes` with the headers that they may need, unless MAC follows reports [B].
    pub backlog: u64,
}

impl Waiting {
    fn of(rlc: &Rlc) -> Waiting {
        if let Some(reports) = rlc.reports() {
            let bytes = reports.total();
            return Waiting { bytes, by_reports: true, backlog: bytes };
        }
        let bytes = rlc.sendable();
        let headers = HEADERS + HEADERS_PER_PACKET * u64::from(rlc.backlog().packets);
        Waiting { bytes, by_reports: false, backlog: if bytes > 0 { bytes + headers } else { 0 } }
    }
}

impl Drb {
    /// Data that waits in RLC at the network's end.
    #[inline]
    pub fn waiting(&mut self) -> Waiting {
        self.layers.waiting()
    }
    /// Gives the rate to the AQM of the network's end.
    pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        self.layers.change().set_rate(now, End::Network, rate);
    }
    /// Passes on the drops of the queue above the bearer.
    pub fn settle_ip(&mut self, out: &mut NetworkOutput) {
        let (bearer, Some(ip)) = (self.id, &mut self.ip) else { return };
        out.dropped.extend(ip.take_drops().map(|(sdu, cause)| (bearer, End::Network, sdu, cause)));
    }
}

/// The layers of a bearer have changed, and with them perhaps the data that they have to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notice {
    pub bearer: BearerId,
    /// The UE's end may have changed, and MAC of the UE has not checked it.
    pub of_ue: bool,
    /// An RLC entity has reached maxRetxThreshold.
    pub failed: bool,
}

impl Notice {
    /// A notice that both ends of `bearer` may have other data to send.
    #[inline]
    pub const fn of(bearer: BearerId) -> Notice {
        Notice { bearer, of_ue: true, failed: false }
    }
}

/// All data radio bearers.
#[derive(Debug, Default)]
pub(super) struct Bearers {
    drbs: IndexVec<BearerId, Drb>,
    calls: Calls,
}

/// Calls to the layers of bearers: their output, and what follows from it.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Wake-ups for timers of PDCP and RLC, possibly early or void.
    timers: BinaryHeap<Reverse<(Instant, BearerId)>>,
    /// Output of the layers since the last [`settle`](Self::settle).
    said: LteBearerOutput,
    /// Notices to MAC and RRC that are not processed yet, in order.
    notices: VecDeque<Notice>,
    /// Memory for the PDUs of a transport block.
    pdus: Vec<Pdu>,
    /// The progress of SDUs, if it is recorded.
    noted: Option<Box<Noted>>,
}

/// The progress of SDUs.
#[derive(Debug, Default)]
struct Noted {
    journeys: Journeys,
    /// From the TTI of a block to that in which the other end has decoded it, downlink and uplink.
    decode: [Duration; 2],
}

impl Index<BearerId> for Bearers {
    type Output = Drb;
    #[inline]
    fn index(&self, bearer: BearerId) -> &Drb {
        &self.drbs[bearer]
    }
}

impl Calls {
    /// Takes over the timers and notices of `later` calls to other bearers, which do not record the
    /// progress of SDUs.
    pub fn append(&mut self, later: &mut Calls) {
        debug_assert!(later.noted.is_none(), "recorded in one order only");
        // The order of equal timers is that of the bearers.
        self.timers.append(&mut later.timers);
        later.notices.drain(..).for_each(|notice| self.notify(notice));
    }

    /// Passes on the output of the layers of `drb`, and schedules its timer. True if an RLC entity
    /// has reached maxRetxThreshold.
    #[inline]
    pub fn settle(
        &mut self,
        now: Instant,
        drb: &mut Drb,
        core: Option<&mut Core>,
        out: &mut NetworkOutput,
    ) -> bool {
        // Most calls find no output.
        let failed = !self.said.is_empty() && self.pass_on(now, drb, core, out);
        // A timer of an end that has not changed is scheduled already.
        let at = drb.layers.changed_timer();
        if at < drb.wake.unwrap_or(Instant::MAX) {
            drb.wake = Some(at);
            self.timers.push(Reverse((at.max(now), drb.id)));
        }
        failed
    }

    /// Passes on the output of the layers of `drb`. True if an RLC entity has reached
    /// maxRetxThreshold.
    fn pass_on(&mut self, now: Instant, drb: &Drb, core: Option<&mut Core>, out: &mut NetworkOutput) -> bool {
        let (bearer, ue) = (drb.id, drb.ue);
        let said = &mut self.said;
        // Draining an empty list takes as long as the rest.
        if !said.delivered.is_empty() {
            match core {
                Some(core) if !drb.direct => {
                    if let Some(noted) = &mut self.noted {
                        let up = said.delivered.iter().filter(|(end, _)| *end == End::Network);
                        up.for_each(|(_, sdu)| noted.journeys.note(now, sdu.id, BearerStage::Core));
                    }
                    core.take_up(now, ue, bearer, said, out);
                }
                _ => out.delivered.extend(said.delivered.drain(..).map(|(end, sdu)| (bearer, end, sdu))),
            }
        }
        if !said.dropped.is_empty() {
            out.dropped.extend(said.dropped.drain(..).map(|(end, sdu, cause)| (bearer, end, sdu, cause)));
        }
        if !said.marked.is_empty() {
            out.marked.extend(said.marked.drain(..).map(|(end, sdu)| (bearer, end, sdu)));
        }
        let mut failed = false;
        if !said.events.is_empty() {
            for (end, event) in said.events.drain(..) {
                failed |= matches!(event, RlcEvent::MaxRetransmissions { .. });
                out.events.push((ue, NetworkEvent::Rlc(bearer, end, event)));
            }
        }
        failed
    }

    /// Passes on the output of the layers of `drb` after they made PDUs at the network's end, or
    /// took in a packet there: no delivery. RRC is notified of a failed link.
    #[inline]
    pub fn settle_in_enb(&mut self, now: Instant, drb: &mut Drb, out: &mut NetworkOutput) {
        if self.settle(now, drb, None, out) {
            self.notify(Notice { of_ue: false, failed: true, ..Notice::of(drb.id) });
        }
    }

    /// Queues `notice` for MAC and RRC, merged with the last one if that is of the same bearer.
    #[inline]
    pub fn notify(&mut self, notice: Notice) {
        match self.notices.back_mut() {
            Some(last) if last.bearer == notice.bearer => {
                last.of_ue |= notice.of_ue;
                last.failed |= notice.failed;
            }
            _ => self.notices.push_back(notice),
        }
    }
    /// Pushes `packet` at `end` of `drb`, to be delivered at the other end.
    #[inline]
    pub fn push(&mut self, now: Instant, drb: &mut Drb, end: End, packet: Sdu) {
        drb.layers.push(now, end, packet, &mut self.said);
    }
    /// Gives `end` MAC's opportunity of `grant`; PDUs are appended to `parts`. Returns the bytes
    /// used.
    #[inline]
    pub fn pull(&mut self, now: Instant, drb: &mut Drb, end: End, grant: Grant, parts: &mut Parts) -> u32 {
        let bearer = drb.id;
        let used = drb.layers.change_at(end).pull(now, end, grant, &mut self.pdus, &mut self.said);
        if self.noted.is_some() {
            self.note_sent(now, bearer, end);
        }
        // Usually there is one PDU.
        if self.pdus.len() == 1 {
            parts.extend(self.pdus.pop().map(|pdu| (bearer, pdu)));
        } else {
            parts.extend(self.pdus.drain(..).map(|pdu| (bearer, pdu)));
        }
        used
    }
    /// As [`pull`](Self::pull), with `bytes`, where MAC follows RLC's reports.
    pub fn pull_by_reports(&mut self, now: Instant, drb: &mut Drb, end: End, bytes: u32, parts: &mut Parts) {
        let bearer = drb.id;
        drb.layers.change_at(end).pull_by_reports(now, end, bytes, &mut self.pdus, &mut self.said);
        if self.noted.is_some() {
            self.note_sent(now, bearer, end);
        }
        parts.extend(self.pdus.drain(..).map(|pdu| (bearer, pdu)));
    }
    /// Records that the pulled PDUs are sent in the TTI that begins `now`.
    #[cold]
    fn note_sent(&mut self, now: Instant, bearer: BearerId, end: End) {
        let Some(noted) = &mut self.noted else { return };
        let sender = (2 * bearer.index() + end.index()) as u32;
        let due = now + noted.decode[end.index()];
        self.pdus.iter().for_each(|pdu| pdu.note_sent(&mut noted.journeys, now, sender, due));
    }
}

impl Bearers {
    /// The bearers of `config`, with the draws of the run `seed`: of UEs, of pairs, of the
    /// receivers of groups.
    pub fn of(config: &NetworkConfig, seed: u64) -> Bearers {
        let of_groups: usize = config.groups.iter().map(|g| g.to.len()).sum();
        let bearers = config.bearers.len() + config.pairs.len() + of_groups;
        let mut all = Bearers { drbs: IndexVec::with_capacity(bearers), ..Bearers::default() };
        for drb in &config.bearers {
            let id = all.add(drb.ue, &drb.layers, drb.qos, false, seed);
            let buffer = drb.ip_buffer.as_ref().map(|ip| IpBuffer::new(ip, seed, id.index() as u64));
            all.drbs[id].ip = buffer.map(Box::new);
        }
        let pairs = config.pairs.iter().map(|pair| (pair.ues[1], &pair.layers));
        let groups = config.groups.iter().flat_map(|g| g.to.iter().map(|ue| (*ue, &g.layers)));
        for (ue, layers) in pairs.chain(groups) {
            all.add(ue, layers, Qos::default(), true, seed);
        }
        all
    }

    /// Adds a bearer; `direct`: between two UEs.
    fn add(&mut self, ue: UeId, config: &LteBearerConfig, qos: Qos, direct: bool, seed: u64) -> BearerId {
        let mut layers = LteBearer::new(config);
        layers.install_aqm(&config.rlc, seed, self.drbs.len() as u64, [None, None]);
        let tells_rate = !direct && config.rlc.buffer.aqm.is_some_and(|aqm| aqm.needs_rate());
        let priority = priority_of(qos.qci);
        let (id, layers) = (self.drbs.next_id(), Layers { layers, waiting: None, changed: [true; 2] });
        self.drbs.push(Drb { id, ue, layers, qos, priority, ip: None, wake: None, tells_rate, direct })
    }

    /// Ids of the bearers, in order.
    pub fn ids(&self) -> impl Iterator<Item = BearerId> + use<> {
        self.drbs.ids()
    }

    /// The IP buffer above `bearer`.
    pub fn ip_mut(&mut self, bearer: BearerId) -> Option<&mut IpBuffer> {
        self.drbs[bearer].ip.as_deref_mut()
    }
    /// True if packets wait in the IP buffer above `bearer`.
    #[inline]
    pub fn waits_above(&self, bearer: BearerId) -> bool {
        self.drbs[bearer].ip.as_deref().is_some_and(|ip| ip.packets() > 0)
    }

    /// As [`Drb::settle_ip`], for `bearer`.
    pub fn settle_ip(&mut self, bearer: BearerId, out: &mut NetworkOutput) {
        self.drbs[bearer].settle_ip(out);
    }

    /// All bearers.
    pub const fn drbs(&self) -> &IndexVec<BearerId, Drb> {
        &self.drbs
    }
    /// The bearers, and calls to their layers.
    pub const fn split(&mut self) -> (&mut IndexVec<BearerId, Drb>, &mut Calls) {
        (&mut self.drbs, &mut self.calls)
    }
    /// True if the progress of SDUs is recorded.
    pub const fn notes_journeys(&self) -> bool {
        self.calls.noted.is_some()
    }

    /// True if the network's end of `bearer` has data or requests of RLC for MAC.
    #[inline]
    pub fn network_has_data(&self, bearer: BearerId) -> bool {
        self.waits_above(bearer) || self.drbs[bearer].layers.needs_opportunity(End::Network)
    }

    /// True if an end of one of `drbs` has something to send.
    pub fn wait(&self, drbs: &[BearerId]) -> bool {
        let waits = |b: &BearerId, end| self.drbs[*b].layers.buffer_status(end).total() > 0;
        drbs.iter().any(|b| [End::Network, End::Ue].into_iter().any(|end| waits(b, end)))
    }

    /// The next time at which a timer of PDCP or RLC may expire.
    pub fn next_timer(&self) -> Option<Instant> {
        self.calls.timers.peek().map(|Reverse((t, _))| *t)
    }

    /// Processes the timers of the next bearer with a wake-up that is due at `now`, and returns it,
    /// and whether a running timer has expired. A wake-up for timers that were stopped or restarted
    /// since then has no effect.
    pub fn expire(&mut self, now: Instant) -> Option<(BearerId, bool)> {
        while let Some(Reverse((at, bearer))) =
            self.calls.timers.peek().copied().filter(|Reverse((t, _))| *t <= now)
        {
            self.calls.timers.pop();
            let drb = &mut self.drbs[bearer];
            if drb.wake == Some(at) {
                drb.wake = None;
                let expired = [End::Network, End::Ue].iter().any(|end| drb.layers.next_timer(*end) <= now);
                drb.layers.change().on_time(now, &mut self.calls.said);
                return Some((bearer, expired));
            }
        }
        None
    }

    /// True if [`settle`](Self::settle) would have no effect on `bearer`: there is no output, and
    /// no timer of its ends may have moved.
    #[inline]
    pub fn is_settled(&self, bearer: BearerId) -> bool {
        !self.has_output() && self.drbs[bearer].layers.changed == [false; 2]
    }
    /// True if there is output of layers that is not passed on yet.
    #[inline]
    pub const fn has_output(&self) -> bool {
        !self.calls.said.is_empty()
    }

    /// As [`Calls::settle`], for `bearer`.
    #[inline]
    pub fn settle(
        &mut self,
        now: Instant,
        bearer: BearerId,
        core: Option<&mut Core>,
        out: &mut NetworkOutput,
    ) -> bool {
        self.calls.settle(now, &mut self.drbs[bearer], core, out)
    }

    /// As [`Calls::notify`].
    #[inline]
    pub fn notify(&mut self, notice: Notice) {
        self.calls.notify(notice);
    }
    /// True while a notice is queued.
    pub fn has_notice(&self) -> bool {
        !self.calls.notices.is_empty()
    }
    /// The next notice to MAC and RRC.
    #[inline]
    pub fn next_notice(&mut self) -> Option<Notice> {
        self.calls.notices.pop_front()
    }

    // Calls to the layers.

    /// Pushes `packet` at `end`, to be delivered at the other end.
    #[inline]
    pub fn push(&mut self, now: Instant, bearer: BearerId, end: End, packet: Sdu) {
        self.calls.push(now, &mut self.drbs[bearer], end, packet);
    }
    /// Pushes a later copy of a packet for a group at `end`.
    pub fn push_copy(&mut self, bearer: BearerId, end: End, packet: Sdu) {
        self.drbs[bearer].layers.change_at(end).push_copy(end, packet);
    }
    /// Drops that copy because the packet was dropped.
    pub fn drop_copy(
        &mut self,
        bearer: BearerId,
        end: End,
        serial: u64,
        cause: DropCause,
        out: &mut NetworkOutput,
    ) {
        self.drbs[bearer].layers.change().drop_copy(end, serial, cause, &mut self.calls.said);
        out.dropped
            .extend(self.calls.said.dropped.drain(..).map(|(end, sdu, cause)| (bearer, end, sdu, cause)));
    }
    /// Numbers `packet` at `end` without pushing it: it arrives later as a forwarded SDU.
    pub fn stamp(&mut self, bearer: BearerId, end: End, packet: Sdu) -> Sdu {
        self.drbs[bearer].layers.change().stamp(end, packet)
    }

    /// As [`Calls::pull`], for `bearer`.
    #[inline]
    pub fn pull(&mut self, now: Instant, bearer: BearerId, end: End, grant: Grant, parts: &mut Parts) -> u32 {
        self.calls.pull(now, &mut self.drbs[bearer], end, grant, parts)
    }
    /// As [`Calls::pull_by_reports`], for `bearer`.
    pub fn pull_by_reports(
        &mut self,
        now: Instant,
        bearer: BearerId,
        end: End,
        bytes: u32,
        parts: &mut Parts,
    ) {
        self.calls.pull_by_reports(now, &mut self.drbs[bearer], end, bytes, parts);
    }
    /// Records that `parts`, which `end` of a group's first bearer has filled, are sent to the
    /// receiver of `bearer` too.
    pub fn note_copies_sent(&mut self, now: Instant, bearer: BearerId, end: End, parts: &Parts) {
        let Some(noted) = &mut self.calls.noted else { return };
        let (sender, due) = ((2 * bearer.index() + end.index()) as u32, now + noted.decode[end.index()]);
        let layers = &self.drbs[bearer].layers;
        for piece in parts.iter().flat_map(|(_, pdu)| layers.parts_of(end, pdu)) {
            noted.journeys.sent(now, sender, &piece, due);
        }
    }
    /// As [`receive`](Self::receive), for a receiver of a group, which has its own copies.
    pub fn receive_copy(&mut self, now: Instant, bearer: BearerId, end: End, pdu: &Pdu) {
        if let Some(noted) = &mut self.calls.noted {
            for piece in self.drbs[bearer].layers.parts_of(end.peer(), pdu) {
                noted.journeys.arrived(now, &piece);
            }
        }
        self.drbs[bearer].layers.change_at(end).receive(now, end, pdu, &mut self.calls.said);
    }
    /// As [`lost`](Self::lost), for a receiver of a group.
    pub fn lost_copy(&mut self, now: Instant, bearer: BearerId, end: End, pdu: &Pdu) {
        if let Some(noted) = &mut self.calls.noted {
            for piece in self.drbs[bearer].layers.parts_of(end, pdu) {
                noted.journeys.given_up(now, &piece);
            }
        }
        self.drbs[bearer].layers.change_at(end).lost(end, pdu, &mut self.calls.said);
    }
    /// Begins to record the progress of SDUs. `decode`: from the TTI of a block to that in which
    /// the other end has decoded it, downlink and uplink.
    pub fn note_journeys(&mut self, decode: [Duration; 2]) {
        self.calls.noted = Some(Box::new(Noted { decode, ..Noted::default() }));
    }
    /// Records that a packet enters the core network, or leaves it.
    #[inline]
    pub fn note_passage(&mut self, now: Instant, id: PacketId, stage: BearerStage) {
        if let Some(noted) = &mut self.calls.noted {
            noted.journeys.note(now, id, stage);
        }
    }
    /// The recorded progress of SDUs; `None` unless it is recorded.
    pub fn journeys(&mut self) -> Option<&mut Journeys> {
        self.calls.noted.as_deref_mut().map(|noted| &mut noted.journeys)
    }
    /// Passes `pdu`, which has arrived at `end`, to the layers.
    #[inline]
    pub fn receive(&mut self, now: Instant, bearer: BearerId, end: End, pdu: &Pdu) {
        if let Some(noted) = &mut self.calls.noted {
            pdu.note_arrived(&mut noted.journeys, now);
        }
        self.drbs[bearer].layers.change_at(end).receive(now, end, pdu, &mut self.calls.said);
    }
    /// Notifies `end` that its `pdu` will not arrive: HARQ has given up.
    pub fn lost(&mut self, now: Instant, bearer: BearerId, end: End, pdu: &Pdu) {
        if let Some(noted) = &mut self.calls.noted {
            pdu.note_given_up(&mut noted.journeys, now);
        }
        self.drbs[bearer].layers.change_at(end).lost(end, pdu, &mut self.calls.said);
    }
    /// Returns the memory of `pdu` to `end`, which has sent it.
    #[inline]
    pub fn recycle(&mut self, bearer: BearerId, end: End, pdu: Pdu) {
        // No data: the layers stay as they are.
        self.drbs[bearer].layers.layers.recycle(end, pdu);
    }
    /// Takes the bytes that RLC of `drbs` at the UE's end has reported [B], if that of `bearer` has
    /// a new report.
    pub fn take_report(&mut self, bearer: BearerId, drbs: &[BearerId]) -> Option<u64> {
        let rlc = self.drbs[bearer].layers.change_at(End::Ue).rlc_mut(End::Ue);
        if !rlc.reports_mut().is_some_and(|r| r.take_fresh()) {
            return None;
        }
        let reports = drbs.iter().filter_map(|b| self.drbs[*b].layers.rlc(End::Ue).reports());
        Some(reports.map(|r| r.total()).sum())
    }

    /// Re-establishes RLC and PDCP at both ends.
    pub fn re_establish(&mut self, now: Instant, bearer: BearerId) {
        self.drbs[bearer].layers.change().re_establish(now, &mut self.calls.said);
    }
    /// Moves the network's end to another eNB, for which the unsent data is appended to
    /// `forwarded_sdus`.
    pub fn hand_over(&mut self, now: Instant, bearer: BearerId, forwarded_sdus: &mut Vec<ForwardedSdu>) {
        self.drbs[bearer].layers.change().hand_over(now, forwarded_sdus, &mut self.calls.said);
    }
    /// Accepts a packet from the gateway or another eNB at the network's end.
    pub fn accept(&mut self, now: Instant, bearer: BearerId, forwarded_sdu: ForwardedSdu) {
        self.drbs[bearer].layers.change().accept(now, forwarded_sdu, &mut self.calls.said);
    }
    /// Reports the loss of a packet for the network's end.
    pub fn lose(&mut self, bearer: BearerId, forwarded_sdu: ForwardedSdu, cause: DropCause) {
        self.drbs[bearer].layers.change().lose(forwarded_sdu, cause, &mut self.calls.said);
    }
    /// Drops all data of both ends.
    pub fn abandon(&mut self, now: Instant, bearer: BearerId, cause: DropCause) {
        self.drbs[bearer].layers.change().abandon(now, cause, &mut self.calls.said);
    }
    /// Removes and returns all data of `end`. With `keeps` it is not reported as dropped.
    pub fn sever(&mut self, bearer: BearerId, end: End, keeps: bool) -> Vec<Sdu> {
        self.drbs[bearer].layers.change().sever(end, &mut self.calls.said);
        let gone = self.calls.said.dropped.iter().map(|(_, sdu, _)| *sdu).collect();
        if keeps {
            self.calls.said.dropped.clear();
        }
        gone
    }
}
