//! Wireless LANs: access points, stations and the channels between them, under one clock of medium
//! transitions.
//!
//! # Contract
//! The world drives a [`Wlan`]. Packets enter with [`push`](Wlan::push) and leave in exactly one
//! way, delivered or dropped, through [`WlanOutput`]. The world calls [`on_time`](Wlan::on_time) at
//! the moment that [`poll_at`](Wlan::poll_at) names, and reads `poll_at` again after every call.
//!
//! # Events
//! Beginnings and ends of PPDUs, and little else. Slots are not counted: while a device senses the
//! medium idle, its turn is a closed form ([`Contender::turn`](crate::mac::Contender)); the
//! earliest turn of a channel is the next event. A device without data, and one whose channel is
//! busy, take no computing time between two PPDUs.
//!
//! # At one moment, in this order
//! 1. PPDUs end; then every device that senses the medium idle begins its back-off.
//! 2. Responses and continuations of a TXOP begin SIFS after the PPDU before them; timers expire.
//! 3. Devices whose turn it is begin to transmit. A device does not sense a PPDU that began less
//!    than the time of clear channel assessment before its own turn (4 us with OFDM): the two
//!    collide.
//!
//! Propagation takes no time.

mod agenda;
mod ap;
mod build;
mod channel;
mod check;
pub mod config;
mod contention;
mod driver;
mod exchange;
mod manage;
mod medium;
mod outcome;
mod output;
mod radios;
mod reading;
mod receive;
mod record;
mod setup;
#[cfg(test)]
mod tests;
mod turn;
mod tx_queue;

pub use config::{
    AirConfig, ApConfig, BeaconConfig, BufferConfig, DeviceRadioConfig, DriverOrder, DriverQueue, EdcaConfig,
    InitialState, Standard, StationConfig, StationFqCodel, WlanConfig,
};
pub use output::{DropCause, End, LinkStats, NotedFrame, WlanEvent, WlanOutput};
pub use record::{LostMpdu, Recorders, WlanNote, WlanStage};

use std::collections::VecDeque;

use lasthop_engine::Draw;
use lasthop_net::{Item, Site};
use lasthop_units::{ApId, Duration, Id, IndexVec, Instant, StationId};

use crate::mac::{Category, Contender, Counting, Pool};
use crate::phy::Mode;
use crate::rate::RateControl;
use agenda::{Agenda, ENDS, Event};
use ap::AccessPoint;
use contention::Contention;
use exchange::Burst;
use manage::Management;
use medium::{Medium, Receiver};
use tx_queue::{Lost, TxQueue};

/// Contenders of a device: one for each category, and one for beacons.
const CONTENDERS: usize = 5;
const BEACON: usize = 4;

/// The response for which a device waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// None.
    Nothing,
    /// Clear to send.
    Cts,
    /// An acknowledgement of any kind.
    Ack,
}

/// An access point or a station.
#[derive(Debug)]
struct Device {
    medium: usize,
    /// Its number on the medium.
    member: usize,
    ap: ApId,
    /// The station; None for an access point.
    station: Option<StationId>,
    contenders: [Contender; CONTENDERS],
    counting: Counting,
    /// Stations for which an access point has data, by category; of a station, the station itself.
    ring: [VecDeque<StationId>; 4],
    /// Packets in its queues, by category.
    queued: [u32; 4],
    management: VecDeque<Management>,
    burst: Burst,
    pending: Pending,
    answer: Option<exchange::Answer>,
    /// End of the TXOP.
    txop_end: Instant,
    draw: Draw,
    drawn: u64,
    /// When its last turn ended.
    turn_ended: Instant,
}

impl Device {
    fn end(&self) -> End {
        if self.station.is_some() { End::Station } else { End::Ap }
    }
    /// When its turn comes if it counts from the `base` of its receiver; MAX if it has no data.
    #[inline]
    fn turn_from(&self, now: Instant, receiver: &Receiver, slot: Duration) -> Instant {
        let mut first = Instant::MAX;
        for i in bits(receiver.contends) {
            let c = &self.contenders[i];
            if c.pending {
                first = first.min(c.turn(receiver.base, slot).max(now));
            }
        }
        first
    }
    /// Ends an idle period. Contenders without data and without slots left are skipped until they
    /// have either.
    #[inline]
    fn interrupt(&mut self, now: Instant, receiver: &mut Receiver, slot: Duration) {
        for i in bits(receiver.contends) {
            let c = &mut self.contenders[i];
            c.interrupt(receiver.base, now, slot, self.counting);
            if !c.pending && c.slots() == 0 {
                receiver.contends &= !(1 << i);
            }
        }
    }
    /// Draws the slots of a contender.
    fn back_off(&mut self, contender: usize) {
        let bits = self.draw.bits(self.drawn);
        self.drawn += 1;
        self.contenders[contender].back_off(bits);
    }
}

/// The numbers of the contenders whose bit is set, in ascending order.
#[inline]
fn bits(mut set: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let i = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (i < CONTENDERS).then_some(i)
    })
}

/// A station and its access point.
#[derive(Debug)]
pub struct Link {
    ap: ApId,
    /// Devices of the access point and of the station.
    devices: [usize; 2],
    associated: bool,
    /// By the end that sends, then category; made when first used.
    tx_queues: [[Option<Box<TxQueue>>; 4]; 2],
    control: [RateControl; 2],
    stats: [LinkStats; 2],
}

impl Link {
    /// Packets inside that `end` has pushed.
    pub fn inside(&self, end: End) -> usize {
        self.tx_queues[end.index()].iter().flatten().map(|queue| queue.inside).sum()
    }
    /// Packets and bytes that wait in the queues of `end`.
    pub fn queued(&self, end: End) -> (usize, u64) {
        let tx_queues = self.tx_queues[end.index()].iter().flatten();
        tx_queues.fold((0, 0), |(n, b), queue| (n + queue.queued(), b + queue.queued_bytes()))
    }
    /// Packets that the queues of `end` have marked.
    pub fn marked(&self, end: End) -> u64 {
        self.tx_queues[end.index()].iter().flatten().map(|queue| queue.marked()).sum()
    }
    /// Counters of `end`.
    pub const fn stats(&self, end: End) -> &LinkStats {
        &self.stats[end.index()]
    }
    /// True once the station is associated.
    pub const fn is_associated(&self) -> bool {
        self.associated
    }
}

/// Access points, stations and channels.
#[derive(Debug)]
pub struct Wlan {
    aps: IndexVec<ApId, AccessPoint>,
    ap_devices: IndexVec<ApId, usize>,
    links: IndexVec<StationId, Link>,
    stations: IndexVec<StationId, StationConfig>,
    devices: Vec<Device>,
    media: Vec<Medium>,
    agenda: Agenda,
    air: AirConfig,
    seed: u64,
    pool: Pool,
    errors: Draw,
    lost: Lost,
    /// Media on which PPDUs have ended at this moment.
    settle: VecDeque<usize>,
    /// Contenders that have lost an internal collision.
    internal: Vec<usize>,
    /// Members whose reception of the ending PPDU is drawn, or determines the next step.
    unsure: Vec<usize>,
    recorders: Recorders,
}

impl Wlan {
    /// Takes in a packet at `end` of a station's link, to be delivered at the other end. With DCF
    /// every category is best effort.
    pub fn push(
        &mut self,
        now: Instant,
        station: StationId,
        end: End,
        item: Item,
        category: Category,
        out: &mut WlanOutput,
    ) {
        let ap = &self.aps[self.links[station].ap].config;
        let category = if ap.standard.qos() { category } else { Category::BestEffort };
        let common = match ap.buffer {
            BufferConfig::Fifo { packets } => Some(packets),
            _ => None,
        };
        let device = self.device_of(station, end);
        let ac = category.index();
        if end == End::Ap
            && let Some(packets) = common
            && self.devices[device].queued[ac] >= packets
        {
            out.dropped.push((station, end, now, item, DropCause::QueueFull));
            return;
        }
        let mut dropped = std::mem::take(&mut self.lost.dropped);
        let queue = self.queue(station, end, category);
        let before = queue.inside;
        queue.enqueue(now, item, &mut dropped);
        let (inside, after) = (queue.inside, queue.queued());
        let queued = &mut self.devices[device].queued[ac];
        *queued = *queued + inside as u32 - before as u32;
        self.lost.dropped = dropped;
        self.report_lost(now, station, end, out);
        if self.links[station].associated && after > 0 {
            self.offer(now, station, end, category);
            if end == End::Ap {
                self.fill_driver(now, device, category, out);
            }
        }
    }

    /// When the next event is due; None without one.
    pub fn poll_at(&self) -> Option<Instant> {
        let turns = self.media.iter().map(Medium::next_turn);
        turns.chain(self.agenda.poll_at()).min().filter(|t| *t != Instant::MAX)
    }

    /// Processes everything that is due.
    pub fn on_time(&mut self, now: Instant, out: &mut WlanOutput) {
        loop {
            let class = self.agenda.due(now);
            if class != Some(ENDS) && !self.settle.is_empty() {
                while let Some(medium) = self.settle.pop_front() {
                    self.contention().settle(now, medium);
                }
                continue;
            }
            if class.is_some() {
                if let Some(event) = self.agenda.pop() {
                    self.dispatch(now, event, out);
                }
                continue;
            }
            if !self.take_turns(now, out) {
                return;
            }
        }
    }

    fn contention(&mut self) -> Contention<'_> {
        Contention { devices: &mut self.devices, media: &mut self.media }
    }

    fn dispatch(&mut self, now: Instant, event: Event, out: &mut WlanOutput) {
        match event {
            Event::End { medium, serial } => {
                self.transmission_ends(now, medium, serial, out);
                if !self.settle.contains(&medium) {
                    self.settle.push_back(medium);
                }
            }
            Event::Answer { device } => {
                self.send_answer(now, device);
                // In case that it was not sent.
                let medium = self.devices[device].medium;
                self.contention().catch_up(medium);
            }
            Event::Continue { device } => self.send_burst(now, device),
            Event::Timeout { device } => self.unanswered(now, device, out),
            Event::Beacon { ap } => {
                let interval = self.aps[ap].config.beacon.interval;
                self.agenda.schedule(now.saturating_add(interval), Event::Beacon { ap });
                let device = self.ap_devices[ap];
                self.contention().activate(now, device, BEACON);
            }
            Event::Associate(station) => self.begin_association(now, station),
            Event::Reorder { station, end, category } => self.reorder_timer(now, station, end, category, out),
        }
    }

    /// Starts transmissions of contenders whose back-off has ended. Returns false if there are
    /// none.
    fn take_turns(&mut self, now: Instant, out: &mut WlanOutput) -> bool {
        let mut any = false;
        for m in 0..self.media.len() {
            if self.media[m].next_turn() > now {
                continue;
            }
            let mut from = 0;
            while let Some(member) = self.media[m].whose_turn(from, now) {
                self.media[m].set_turn(member, Instant::MAX);
                any = true;
                self.turn(now, self.media[m].members[member], out);
                from = member + 1;
            }
        }
        any
    }

    /// Informs the device of a queue that the queue has data.
    fn offer(&mut self, now: Instant, station: StationId, end: End, category: Category) {
        let device = self.device_of(station, end);
        let queue = self.queue(station, end, category);
        if !std::mem::replace(&mut queue.listed, true) {
            self.devices[device].ring[category.index()].push_back(station);
        }
        self.contention().activate(now, device, category.index());
    }

    fn device_of(&self, station: StationId, end: End) -> usize {
        self.links[station].devices[end.index()]
    }

    #[inline]
    fn queue(&mut self, station: StationId, end: End, category: Category) -> &mut TxQueue {
        if self.links[station].tx_queues[end.index()][category.index()].is_none() {
            self.make_queue(station, end, category);
        }
        let place = &mut self.links[station].tx_queues[end.index()][category.index()];
        place.as_mut().unwrap_or_else(|| unreachable!("made above"))
    }

    #[cold]
    fn make_queue(&mut self, station: StationId, end: End, category: Category) {
        let link = &mut self.links[station];
        let ap = &self.aps[link.ap].config;
        let buffer = match end {
            End::Ap => ap.buffer,
            End::Station => BufferConfig::PerStation { packets: self.stations[station].packets },
        };
        let entity = 1 << 40 | (station.index() as u64) << 8 | (end.index() << 2 | category.index()) as u64;
        let site = Site { seed: self.seed, entity, ..Site::default() };
        let mut queue = TxQueue::new(&buffer, site, ap.reorder_timeout);
        let aggregates = ap.standard.qos() && ap.aggregation.ampdu;
        if ap.start == InitialState::Associated && aggregates {
            queue.originator.agreement = crate::mac::Agreement::Agreed;
        }
        link.tx_queues[end.index()][category.index()] = Some(Box::new(queue));
    }

    /// Reports the packets that a queue has dropped.
    #[inline]
    fn report_lost(&mut self, now: Instant, station: StationId, end: End, out: &mut WlanOutput) {
        if !self.lost.dropped.is_empty() || !self.lost.old.is_empty() {
            self.pass_lost(now, station, end, out);
        }
    }

    fn pass_lost(&mut self, now: Instant, station: StationId, end: End, out: &mut WlanOutput) {
        for d in self.lost.dropped.drain(..) {
            let cause = match d.cause {
                lasthop_net::DropCause::Aqm => DropCause::Aqm,
                _ => DropCause::QueueFull,
            };
            out.dropped.push((station, end, d.at, d.item, cause));
        }
        for item in self.lost.old.drain(..) {
            out.dropped.push((station, end, now, item, DropCause::Lifetime));
        }
    }

    /// The link between a station and its access point.
    pub fn link(&self, station: StationId) -> &Link {
        &self.links[station]
    }
    /// The recorders of frames and stages.
    pub const fn recorders(&mut self) -> &mut Recorders {
        &mut self.recorders
    }
    /// Mean linear SNR of what `end` sends, without fading.
    pub fn snr(&self, station: StationId, end: End) -> f64 {
        let link = &self.links[station];
        let [from, to] = [link.devices[end.index()], link.devices[end.peer().index()]];
        let radios = &self.media[self.devices[from].medium].radios;
        radios.mean_snr(self.devices[from].member, self.devices[to].member)
    }
    /// The rate that `end` would choose now.
    pub fn rate(&self, station: StationId, end: End) -> Mode {
        self.links[station].control[end.index()].current(self.snr(station, end))
    }
}
