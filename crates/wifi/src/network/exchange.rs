//! Frames of an exchange: a burst, the RTS before it, and responses.

use lasthop_units::{Bytes, Duration, Instant, StationId};

use super::agenda::Event;
use super::ap::AccessPoint;
use super::config::ApConfig;
use super::contention::Ppdu;
use super::medium::{Frame, Transmission};
use super::record::BurstOf;
use super::{Pending, Wlan};
use crate::mac::{ACK, BLOCK_ACK, BLOCK_ACK_REQUEST, CTS, Category, RTS, Retries};
use crate::phy::{Compat, Mode};

/// The frames that a device sends in its turn.
#[derive(Debug)]
pub struct Burst {
    /// The contender that won the contention.
    pub contender: usize,
    /// Data, a block ack request, management, or a beacon.
    pub frame: Frame,
    /// The station of the link to which it belongs.
    pub station: Option<StationId>,
    /// Sequence numbers of the MPDUs.
    pub sns: Vec<u16>,
    /// Which of them the other end received this time.
    pub received: Vec<bool>,
    /// True for an A-MPDU, to which a block ack responds.
    pub ampdu: bool,
    pub mode: Mode,
    /// Length of the PSDU.
    pub psdu: Bytes,
    /// True if longer than the RTS threshold.
    pub long: bool,
    /// True if RTS and CTS have been exchanged, or are not used.
    pub cleared: bool,
    /// Airtime of this exchange so far.
    pub airtime: Duration,
}

impl Burst {
    pub const fn new(mode: Mode) -> Burst {
        Burst {
            contender: 0,
            frame: Frame::Beacon,
            station: None,
            sns: Vec::new(),
            received: Vec::new(),
            ampdu: false,
            mode,
            psdu: Bytes(0),
            long: false,
            cleared: true,
            airtime: Duration::ZERO,
        }
    }
}

impl Burst {
    /// Makes the burst a block ack request.
    pub const fn set_request(&mut self, mode: Mode) {
        self.frame = Frame::Request;
        self.mode = mode;
        self.psdu = Bytes(BLOCK_ACK_REQUEST);
    }
    /// Makes the burst the data of `sns`, `psdu` bytes together.
    pub fn set_data(&mut self, mode: Mode, psdu: u64, ap: &ApConfig) {
        self.frame = Frame::Data;
        self.mode = mode;
        self.ampdu = self.sns.len() > 1;
        self.psdu = Bytes(psdu);
        self.long = ap.rts_threshold.is_some_and(|threshold| psdu > threshold.0);
        self.cleared = !self.long;
    }
    /// The retry count of an MPDU that increases with a failure of this exchange. An RTS without a
    /// CTS counts as a short frame (802.11-2016 clause 10.3.4.4).
    pub const fn retry_count<'a>(&self, retries: &'a mut Retries) -> &'a mut u32 {
        if self.long && self.cleared { &mut retries.long } else { &mut retries.short }
    }
    /// Duration of the exchange with RTS, CTS and response.
    pub fn exchange_time(&self, ap: &AccessPoint, sifs: Duration, compat: Compat) -> Duration {
        let control = ap.answer(&self.mode);
        let answer = if self.ampdu || self.frame == Frame::Request { BLOCK_ACK } else { ACK };
        let mut time = self.mode.duration(self.psdu, compat) + sifs + control.duration(Bytes(answer), compat);
        if !self.cleared {
            time += control.duration(Bytes(RTS), compat) + control.duration(Bytes(CTS), compat) + sifs * 2;
        }
        time
    }
}

/// A response that a device is due to send.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub frame: Frame,
    /// The device that receives it.
    pub to: usize,
    pub mode: Mode,
    pub bytes: u64,
    pub nav: Duration,
}

impl Answer {
    /// The response to `ppdu` of the device `sender` of a network, which its recipient could
    /// decode. `ampdu`: the PPDU carries more than one MPDU.
    pub fn to(
        ppdu: &Transmission,
        sender: usize,
        ampdu: bool,
        ap: &AccessPoint,
        (sifs, compat): (Duration, Compat),
    ) -> Answer {
        let (frame, bytes) = match ppdu.frame {
            Frame::Rts => {
                let nav = ppdu.nav.saturating_sub(sifs + ppdu.mode.duration(Bytes(CTS), compat));
                return Answer { frame: Frame::Cts, to: sender, mode: ppdu.mode, bytes: CTS, nav };
            }
            Frame::Request => (Frame::BlockAck, BLOCK_ACK),
            Frame::Data if ampdu => (Frame::BlockAck, BLOCK_ACK),
            _ => (Frame::Ack, ACK),
        };
        Answer { frame, to: sender, mode: *ap.answer(&ppdu.mode), bytes, nav: Duration::ZERO }
    }
}

impl Wlan {
    /// Sends the burst of a device, or the RTS before it.
    pub(super) fn send_burst(&mut self, now: Instant, d: usize) {
        // Not counted again after an RTS.
        let burst = &self.devices[d].burst;
        if self.recorders.stages.is_on() && burst.frame == Frame::Data && burst.airtime.is_zero() {
            let burst = BurstOf { device: &self.devices[d], links: &self.links, pool: &self.pool };
            self.recorders.stages.burst_begins(now, burst);
        }
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
            let (psdu, frame) = (Bytes(RTS), Frame::Rts);
            return self.transmit(now, d, &Ppdu { to, mode: *control, psdu, first: psdu, frame, nav });
        }
        let first = match burst.frame {
            Frame::Data if burst.ampdu => {
                let category = Category::ALL[burst.contender];
                let queue = burst
                    .station
                    .and_then(|s| self.links[s].tx_queues[device.end().index()][category.index()].as_ref());
                let mpdu = queue.and_then(|queue| queue.originator.get(burst.sns[0]));
                Bytes(mpdu.map_or(0, |m| u64::from(m.bytes)))
            }
            _ => burst.psdu,
        };
        let (mode, psdu, frame) = (burst.mode, burst.psdu, burst.frame);
        self.devices[d].pending = if frame == Frame::Beacon { Pending::Nothing } else { Pending::Ack };
        self.transmit(now, d, &Ppdu { to, mode, psdu, first, frame, nav: answer });
    }

    /// Sends the response of a device.
    pub(super) fn send_answer(&mut self, now: Instant, d: usize) {
        let Some(a) = self.devices[d].answer.take() else { return };
        let device = &self.devices[d];
        if self.media[device.medium].receivers[device.member].tx_until > now {
            // The device has begun to transmit its own burst: the other device will not get a
            // response.
            let wait = self.media[device.medium].timing.ack_timeout();
            return self.agenda.schedule(now.saturating_add(wait), Event::Timeout { device: a.to });
        }
        let psdu = Bytes(a.bytes);
        let (mode, frame, nav) = (a.mode, a.frame, a.nav);
        self.transmit(now, d, &Ppdu { to: Some(a.to), mode, psdu, first: psdu, frame, nav });
    }

    fn transmit(&mut self, now: Instant, d: usize, ppdu: &Ppdu) {
        let compat = self.air.compat;
        let (serial, end) = self.contention().transmit(now, d, ppdu, compat);
        self.agenda.schedule(end, Event::End { medium: self.devices[d].medium, serial });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Guard, Width};

    /// Clause 10.3.4.4 of 802.11-2016: three RTSs without a CTS and one failure of
    /// the long frame after a CTS are three of the short and one of the long retry count, so
    /// limits of seven and four are not reached.
    #[test]
    fn an_rts_without_a_cts_counts_as_a_short_frame() {
        let ap = ApConfig { rts_threshold: Some(Bytes(500)), ..ApConfig::default() };
        let mut burst = Burst::new(Mode::vht(0, 1, Width::W20, Guard::Long).unwrap());
        let mut retries = Retries::default();
        burst.set_data(burst.mode, 1500, &ap);
        for cleared in [false, false, true, false] {
            burst.cleared = cleared;
            *burst.retry_count(&mut retries) += 1;
        }
        assert_eq!(retries, Retries { short: 3, long: 1 });
        burst.set_data(burst.mode, 500, &ap);
        assert!(burst.cleared, "no RTS up to the threshold");
        *burst.retry_count(&mut retries) += 1;
        assert_eq!(retries, Retries { short: 4, long: 1 });
    }
}
