//! Contention for the medium (clause 10.22.2): the devices that count slots, and the start of
//! counting.

use lasthop_units::{Bytes, Duration, Instant, StationId};

use super::medium::{Frame, Medium, Receiver, Transmission};
use super::{Device, Pending};
use crate::phy::{Compat, Mode};

/// Devices and the state of their receivers: contention uses neither packets nor stations.
pub struct Contention<'a> {
    pub devices: &'a mut [Device],
    pub media: &'a mut [Medium],
}

/// A PPDU that a device sends.
#[derive(Clone, Copy)]
pub struct Ppdu {
    /// Destination device; None: all.
    pub to: Option<usize>,
    pub mode: Mode,
    pub psdu: Bytes,
    /// Length of its first (or only) MPDU.
    pub first: Bytes,
    pub frame: Frame,
    /// Duration after its end for which it reserves the medium.
    pub nav: Duration,
}

impl Ppdu {
    /// Creates its transmission by the member `from` of a medium to the member `to`, between these
    /// times.
    pub fn from(
        &self,
        from: usize,
        to: Option<usize>,
        station: Option<StationId>,
        [start, end]: [Instant; 2],
        compat: Compat,
    ) -> Transmission {
        Transmission {
            serial: 0,
            from,
            to,
            station,
            start,
            end,
            mode: self.mode,
            preamble: self.mode.preamble(compat),
            first_bits: self.first.bits() as u32,
            frame: self.frame,
            nav: self.nav,
            powers_mw: Vec::new(),
            over: false,
        }
    }
}

impl Contention<'_> {
    /// After the end of PPDUs: devices that sense the medium idle begin to count, at once or when
    /// the state of the medium is needed next.
    pub fn settle(&mut self, now: Instant, m: usize) {
        if !self.media[m].put_off(now) {
            self.begin_to_count(now, m);
        }
    }

    /// Begins to count at the devices at which that was put off.
    pub fn catch_up(&mut self, m: usize) {
        if let Some(since) = self.media[m].take_put_off() {
            self.begin_to_count(since, m);
        }
    }

    /// The same at one device.
    fn catch_up_at(&mut self, d: usize) {
        let device = &self.devices[d];
        let medium = &mut self.media[device.medium];
        let slot = medium.timing.slot;
        medium.catch_up_at(device.member, |since, receiver| device.turn_from(since, receiver, slot));
    }

    fn begin_to_count(&mut self, now: Instant, m: usize) {
        let (medium, devices) = (&mut self.media[m], &*self.devices);
        let slot = medium.timing.slot;
        medium.begin_to_count(now, |device, receiver| devices[device].turn_from(now, receiver, slot));
    }

    /// Starts counting at a device, from its `base` on.
    pub fn count(&mut self, now: Instant, m: usize, member: usize) {
        let medium = &mut self.media[m];
        let receiver = &mut medium.receivers[member];
        receiver.counting = true;
        let device = &self.devices[medium.members[member]];
        let turn = device.turn_from(now, receiver, medium.timing.slot);
        medium.set_turn(member, turn);
    }

    /// Ends an idle period at a device.
    pub fn stop_counting(&mut self, now: Instant, m: usize, member: usize) {
        let medium = &mut self.media[m];
        medium.set_turn(member, Instant::MAX);
        let receiver = &mut medium.receivers[member];
        if std::mem::take(&mut receiver.counting) {
            self.devices[medium.members[member]].interrupt(now, receiver, medium.timing.slot);
        }
    }

    /// Activates a contender that has got data to send.
    #[inline]
    pub fn activate(&mut self, now: Instant, d: usize, contender: usize) {
        if !self.devices[d].contenders[contender].pending {
            self.begin_to_contend(now, d, contender);
        }
    }

    fn begin_to_contend(&mut self, now: Instant, d: usize, contender: usize) {
        self.catch_up_at(d);
        let device = &mut self.devices[d];
        let medium = &mut self.media[device.medium];
        let receiver = &mut medium.receivers[device.member];
        receiver.contends |= 1 << contender;
        let c = &mut device.contenders[contender];
        c.pending = true;
        if receiver.counting {
            // The medium may have been idle for long: then the contender transmits at once (clause
            // 10.22.2.2).
            let turn = c.turn(receiver.base, medium.timing.slot).max(now);
            // A medium that is reserved is not idle.
            if c.slots() > 0 || receiver.nav <= now || receiver.base <= now {
                let turn = turn.min(medium.turn(device.member));
                medium.set_turn(device.member, turn);
                return;
            }
        }
        if c.slots() == 0 {
            // Clause 10.22.2.2 a: the medium is busy and the back-off counter is zero.
            device.back_off(contender);
        }
        if medium.receivers[device.member].counting {
            self.count(now, self.devices[d].medium, self.devices[d].member);
        }
    }

    /// Starts the transmission of a PPDU by a device. Returns its number on the medium, and its
    /// end.
    pub fn transmit(&mut self, now: Instant, d: usize, ppdu: &Ppdu, compat: Compat) -> (u64, Instant) {
        let length = ppdu.mode.duration(ppdu.psdu, compat);
        let (m, member) = (self.devices[d].medium, self.devices[d].member);
        let end = now + length;
        let to = ppdu.to.map(|to| self.devices[to].member);
        let station = self.devices[d].burst.station;
        let transmission = ppdu.from(member, to, station, [now, end], compat);
        let put_off = self.media[m].take_put_off_until(now, member);
        self.catch_up(m);
        let (timing, devices) = (self.media[m].timing, &mut *self.devices);
        let members = std::mem::take(&mut self.media[m].members);
        let noticed = now + timing.sense;
        let busy = |r: usize, receiver: &mut Receiver, due: &mut Instant| {
            // A device whose turn comes before it can sense the PPDU transmits too.
            let committed = r != member && *due != Instant::MAX && *due < noticed;
            if committed || !receiver.counting {
                return;
            }
            receiver.counting = false;
            *due = Instant::MAX;
            devices[members[r]].interrupt(now, receiver, timing.slot);
        };
        let medium = &mut self.media[m];
        let serial = medium.begin(transmission, put_off, busy);
        medium.members = members;
        if let Some(since) = put_off {
            let (devices, slot) = (&*self.devices, timing.slot);
            medium.begin_to_count_rest(since, |device, receiver| {
                devices[device].turn_from(since, receiver, slot)
            });
        }
        medium.receivers[member].waiting |= self.devices[d].pending != Pending::Nothing;
        self.devices[d].burst.airtime += length;
        (serial, end)
    }
}
