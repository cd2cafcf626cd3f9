//! Frames of an exchange: a burst and the RTS before it, answers.

use lasthop_units::{Bytes, Duration, Instant, StationId};

use super::medium::Frame;
use super::{Event, Wlan};
use crate::mac::{ACK, BLOCK_ACK, CTS, Category, RTS};
use crate::phy::Mode;

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

impl Wlan {
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
}
