//! The contender of a device whose turn it is, and the frames that it sends then.

use lasthop_units::{Bytes, Duration, Instant};

use super::medium::Frame;
use super::{BEACON, Wlan, WlanOutput};
use crate::mac::Category;

impl Wlan {
    /// Processes the turn of a device.
    pub(super) fn turn(&mut self, now: Instant, d: usize, out: &mut WlanOutput) {
        let (m, member) = (self.devices[d].medium, self.devices[d].member);
        let receiver = &self.media[m].receivers[member];
        if !receiver.counting || receiver.waiting || receiver.tx_until > now {
            return;
        }
        let (base, slot) = (receiver.base, self.media[m].timing.slot);
        // Beacons first, then the higher category (clause 10.22.2.4: internal collision).
        let mut winner = None;
        for c in (0..super::CONTENDERS).rev() {
            let contender = &self.devices[d].contenders[c];
            if !contender.pending || contender.turn(base, slot) > now {
                continue;
            }
            if winner.is_some() {
                // Clause 10.22.2.2 d: as after a collision on the medium.
                self.devices[d].contenders[c].widen();
                self.internal.push(c);
            } else if self.prepare(now, d, c, self.devices[d].contenders[c].access().turn(), out) {
                winner = Some(c);
            } else {
                self.devices[d].contenders[c].pending = false;
            }
        }
        let Some(c) = winner else {
            // The waiting packets were dropped from the queue.
            let busy = !self.media[m].receivers[member].idle;
            if busy {
                self.contention().stop_counting(now, m, member);
            } else {
                self.contention().count(now, m, member);
            }
            return;
        };
        self.contention().stop_counting(now, m, member);
        while let Some(loser) = self.internal.pop() {
            self.devices[d].back_off(loser);
        }
        let txop = self.devices[d].contenders[c].access().txop;
        self.devices[d].txop_end = now.saturating_add(txop);
        self.send_burst(now, d);
    }

    /// Fills the burst of a device for a contender, within the rest of the TXOP. Returns false if
    /// there is nothing to send.
    pub(super) fn prepare(
        &mut self,
        now: Instant,
        d: usize,
        contender: usize,
        left: Duration,
        out: &mut WlanOutput,
    ) -> bool {
        let device = &mut self.devices[d];
        let ap = &self.aps[device.ap].config;
        let burst = &mut device.burst;
        burst.contender = contender;
        burst.sns.clear();
        burst.received.clear();
        burst.ampdu = false;
        burst.cleared = true;
        burst.long = false;
        burst.airtime = Duration::ZERO;
        if contender == BEACON {
            (burst.frame, burst.station) = (Frame::Beacon, None);
            (burst.mode, burst.psdu) = (ap.lowest(), ap.beacon.size);
            return true;
        }
        if contender == ap.management_category().index()
            && let Some(frame) = device.management.front()
        {
            (burst.frame, burst.station) = (Frame::Management(*frame), Some(frame.station));
            (burst.mode, burst.psdu) = (ap.lowest(), Bytes(frame.bytes()));
            return true;
        }
        let category = Category::ALL[contender];
        if self.devices[d].station.is_none() {
            self.fill_driver(now, d, category, out);
        }
        while let Some(station) = self.choose(d, category) {
            if self.build(now, d, station, category, left, out) {
                return true;
            }
            if !self.queue(station, self.devices[d].end(), category).waits() {
                self.unlist(d, station, category);
            } else {
                return false;
            }
        }
        false
    }
}
