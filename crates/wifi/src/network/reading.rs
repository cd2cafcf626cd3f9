//! Decoding of a PPDU at each receiver.

use lasthop_engine::Draw;
use lasthop_units::{ApId, IndexVec, Instant, StationId};

use super::ap::AccessPoint;
use super::medium::{Frame, Medium};
use super::{Device, Link};
use crate::phy::{Format, Mode};

/// Bits of the signalling before the data: L-SIG, and HT-SIG or VHT-SIG-A; the header of DSSS.
const fn signal_bits(format: Format) -> f64 {
    match format {
        Format::Dsss => 48.0,
        Format::Ofdm => 24.0,
        Format::Ht | Format::Vht => 72.0,
    }
}

/// The transmission at place `i` of a medium, decoded by receivers with one draw for each part.
pub struct Reading<'a> {
    pub medium: &'a mut Medium,
    pub devices: &'a mut [Device],
    pub links: &'a IndexVec<StationId, Link>,
    pub aps: &'a IndexVec<ApId, AccessPoint>,
    pub errors: &'a Draw,
    pub i: usize,
}

impl Reading<'_> {
    /// True if a device to which a PPDU is not addressed decodes (the first MPDU of) it.
    pub fn overhear(&mut self, r: usize) -> bool {
        let i = self.i;
        let clear = self.medium.judge(i, r);
        let t = &self.medium.on_air[i];
        if clear.is_some_and(|sinr| sinr >= t.mode.sure()) {
            return true;
        }
        let p =
            signal(self.medium, i, clear) * part(self.medium, i, clear, 0.0, 1.0, f64::from(t.first_bits));
        self.happens(r, t.serial << 8 | 0xff, p)
    }

    /// True if the addressee decodes any of it; the sender's burst records which MPDUs of an
    /// A-MPDU.
    pub fn read(&mut self, r: usize) -> bool {
        let i = self.i;
        let clear = self.medium.judge(i, r);
        let t = &self.medium.on_air[i];
        let (serial, mode, sender) = (t.serial, t.mode, self.medium.members[t.from]);
        let sure = clear.is_some_and(|sinr| sinr >= mode.sure());
        if t.frame != Frame::Data {
            let bits = f64::from(t.first_bits);
            let whole = || signal(self.medium, i, clear) * part(self.medium, i, clear, 0.0, 1.0, bits);
            return sure || self.happens(r, serial << 8, whole());
        }
        let count = self.devices[sender].burst.sns.len();
        if sure {
            self.devices[sender].burst.received.resize(count, true);
            return true;
        }
        let head = signal(self.medium, i, clear);
        if !self.happens(r, serial << 8 | 0xff, head) {
            self.devices[sender].burst.received.resize(count, false);
            return false;
        }
        self.read_mpdus(r, sender, clear)
    }

    /// Decodes an A-MPDU with one draw for each MPDU.
    fn read_mpdus(&mut self, r: usize, sender: usize, clear: Option<f64>) -> bool {
        let device = &self.devices[sender];
        let Some(station) = device.burst.station else { return false };
        let (end, category) = (device.end(), device.burst.contender);
        let whole = device.burst.psdu.0 as f64;
        let mut received = std::mem::take(&mut self.devices[sender].burst.received);
        let sns = std::mem::take(&mut self.devices[sender].burst.sns);
        let (mut at, mut any) = (0u64, false);
        let link = &self.links[station];
        let (queue, aggregation) =
            (link.tx_queues[end.index()][category].as_ref(), &self.aps[link.ap].config.aggregation);
        let (serial, mode) = (self.medium.on_air[self.i].serial, self.medium.on_air[self.i].mode);
        for (n, sn) in sns.iter().enumerate() {
            let bytes = queue.and_then(|l| l.originator.get(*sn)).map_or(0, |m| m.bytes);
            let alone = sns.len() == 1;
            let length = if alone { whole as u64 } else { u64::from(aggregation.subframe(bytes, &mode)) };
            let (a, b) = (at as f64 / whole, ((at + length) as f64 / whole).min(1.0));
            at += length;
            let p = part(self.medium, self.i, clear, a, b, 8.0 * f64::from(bytes));
            let ok = self.happens(r, serial << 8 | n as u64, p);
            received.push(ok);
            any |= ok;
        }
        let burst = &mut self.devices[sender].burst;
        (burst.received, burst.sns) = (received, sns);
        any
    }

    fn happens(&self, r: usize, index: u64, p: f64) -> bool {
        if p >= 1.0 || p <= 0.0 {
            return p >= 1.0;
        }
        // The device's number is part of the index: each receiver of a frame has its own draws.
        let device = self.medium.members[r] as u64;
        self.errors.happens(index << 16 ^ device, p)
    }
}

/// Probability that the signalling before the data is decoded, at the most robust rate.
fn signal(medium: &Medium, i: usize, clear: Option<f64>) -> f64 {
    let t = &medium.on_air[i];
    let bits = signal_bits(t.mode.format());
    let mode = if t.mode.format() == Format::Dsss { Mode::dsss(10) } else { Mode::ofdm(6) };
    let Ok(mode) = mode else { return 1.0 };
    match clear {
        Some(sinr) => mode.success(sinr, bits),
        None => medium.segments().success(&mode, t.start, t.start + t.preamble, bits),
    }
}

/// Probability that `bits` from share `a` to share `b` of the data are correct.
fn part(medium: &Medium, i: usize, clear: Option<f64>, a: f64, b: f64, bits: f64) -> f64 {
    let t = &medium.on_air[i];
    if let Some(sinr) = clear {
        return t.mode.success(sinr, bits);
    }
    let first = t.start + t.preamble;
    let length = t.end.since(first).0 as f64;
    let at = |share: f64| Instant(first.0 + (length * share) as u64);
    medium.segments().success(&t.mode, at(a), at(b).max(at(a)), bits)
}
