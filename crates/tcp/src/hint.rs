//! Capacity hints: what the radio network tells a sender about the last hop.
//!
//! A [`Hint`] is what a congestion control is told; it does not matter who measured it or how it came. A [`Guidance`] is
//! what a receiver writes into its ACKs when the hint travels in-band, as a TCP option in the manner of mobile throughput
//! guidance (draft-flinck-mobile-throughput-guidance): an experimental option (RFC 6994: kind 253 and an identifier) whose
//! value is ours, 8 octets. Whoever carries hints otherwise calls [`Endpoint::handle_hint`](crate::Endpoint::handle_hint).

use std::num::NonZeroU32;

use lasthop_units::{Bitrate, Duration, Instant};

/// Something that is happening to the radio link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// A handover has begun: the link is interrupted.
    HandoverBegins,
    /// The new cell has taken over.
    HandoverDone,
    /// The radio link is lost.
    OutageBegins,
    /// It is back.
    OutageOver,
}

impl Notice {
    /// Every notice, in the order of its number in the option, from 1.
    pub const ALL: [Notice; 4] =
        [Notice::HandoverBegins, Notice::HandoverDone, Notice::OutageBegins, Notice::OutageOver];

    /// The name in tables and to a congestion control of the caller's own.
    pub const fn name(self) -> &'static str {
        match self {
            Notice::HandoverBegins => "handover-begins",
            Notice::HandoverDone => "handover-done",
            Notice::OutageBegins => "outage-begins",
            Notice::OutageOver => "outage-over",
        }
    }
    /// The link carries nothing from this notice on, until another says otherwise.
    pub const fn interrupts(self) -> bool {
        matches!(self, Notice::HandoverBegins | Notice::OutageBegins)
    }
    const fn number(self) -> u8 {
        self as u8 + 1
    }
    fn from_number(n: u8) -> Option<Notice> {
        Notice::ALL.get(usize::from(n).checked_sub(1)?).copied()
    }
}

/// What a sender learns about the last hop of one of its flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hint {
    /// When it reached the sender.
    pub now: Instant,
    /// When the readings were taken, if whoever carried it could tell.
    pub measured: Option<Instant>,
    /// Achievable data rate R(t) of the terminal.
    pub rate: Option<Bitrate>,
    /// Octets in the layer-2 queue, Q(t).
    pub queue: Option<u64>,
    /// Rate at which the terminal may send its ACKs (uplink grants).
    pub grant: Option<Bitrate>,
    /// Something that is happening to the link.
    pub notice: Option<Notice>,
    /// How often hints are to be expected; `None`: nobody has said.
    pub period: Option<Duration>,
}

impl Hint {
    /// A hint without readings.
    pub const fn at(now: Instant) -> Hint {
        Hint { now, measured: None, rate: None, queue: None, grant: None, notice: None, period: None }
    }
}

/// A hint as an option of an ACK carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guidance {
    /// R(t) \[kbit/s\], one more than it is; the largest value: not known.
    rate: NonZeroU32,
    /// Q(t) in units of [`QUEUE_UNIT`] octets, rounded to nearest; the largest value: not known.
    queue: u16,
    notice: u8,
}

/// Unit of the queue in the option \[octets\].
pub const QUEUE_UNIT: u64 = 64;

const NO_QUEUE: u16 = u16::MAX;

impl Guidance {
    /// Kind of the option: experimental (RFC 6994).
    pub const KIND: u8 = 253;
    /// Identifier of the experiment (RFC 6994 section 3): the letters "LH".
    pub const EXPERIMENT: [u8; 2] = *b"LH";
    /// Octets of the whole option.
    pub const LEN: u8 = 12;

    /// The readings, quantised: the rate to 1 kbit/s, the queue to 64 octets up to 4 MB.
    pub fn new(rate: Option<Bitrate>, queue: Option<u64>, notice: Option<Notice>) -> Guidance {
        let kbps = rate.map_or(u64::from(u32::MAX), |r| (r.0 / 1000 + 1).min(u64::from(u32::MAX) - 1));
        let units = |q: u64| ((q.saturating_add(QUEUE_UNIT / 2)) / QUEUE_UNIT).min(u64::from(NO_QUEUE) - 1);
        Guidance {
            rate: NonZeroU32::new(kbps as u32).unwrap_or(NonZeroU32::MAX),
            queue: queue.map_or(NO_QUEUE, |q| units(q) as u16),
            notice: notice.map_or(0, Notice::number),
        }
    }
    /// R(t), if it is told.
    pub fn rate(&self) -> Option<Bitrate> {
        (self.rate != NonZeroU32::MAX).then(|| Bitrate(u64::from(self.rate.get() - 1) * 1000))
    }
    /// Q(t) \[octets\], if it is told.
    pub fn queue(&self) -> Option<u64> {
        (self.queue != NO_QUEUE).then(|| u64::from(self.queue) * QUEUE_UNIT)
    }
    /// What is happening to the link.
    pub fn notice(&self) -> Option<Notice> {
        Notice::from_number(self.notice)
    }
    /// The hint that the sender makes of it at `now`. When it was measured is not told.
    pub fn hint(&self, now: Instant) -> Hint {
        Hint { rate: self.rate(), queue: self.queue(), notice: self.notice(), ..Hint::at(now) }
    }

    /// The option's octets: kind, length, identifier, rate, queue, notice, a zero.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[Guidance::KIND, Guidance::LEN]);
        out.extend_from_slice(&Guidance::EXPERIMENT);
        out.extend_from_slice(&self.rate.get().to_be_bytes());
        out.extend_from_slice(&self.queue.to_be_bytes());
        out.extend_from_slice(&[self.notice, 0]);
    }
    /// Reads what follows kind and length; `None`: some other experiment, or no value of this one.
    pub(crate) fn decode(body: &[u8]) -> Option<Guidance> {
        let (id, value) = body.split_first_chunk::<2>()?;
        let value: &[u8; 8] = value.try_into().ok()?;
        let [a, b, c, d, e, f, notice, _] = *value;
        let known = *id == Guidance::EXPERIMENT && (notice == 0 || Notice::from_number(notice).is_some());
        let rate = NonZeroU32::new(u32::from_be_bytes([a, b, c, d]))?;
        known.then_some(Guidance { rate, queue: u16::from_be_bytes([e, f]), notice })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_survive_the_option_to_its_units() {
        let g = Guidance::new(Some(Bitrate(19_123_456)), Some(45_000), Some(Notice::HandoverDone));
        // 45000 / 64 = 703.1: 703 * 64.
        assert_eq!((g.rate(), g.queue()), (Some(Bitrate(19_123_000)), Some(44_992)));
        let mut bytes = Vec::new();
        g.encode(&mut bytes);
        assert_eq!((bytes.len(), bytes[..4].to_vec()), (12, vec![253, 12, b'L', b'H']));
        assert_eq!(Guidance::decode(&bytes[2..]), Some(g));
        let none = Guidance::new(None, None, None);
        assert_eq!((none.rate(), none.queue(), none.notice()), (None, None, None));
        let zero = Guidance::new(Some(Bitrate(0)), Some(0), None);
        assert_eq!((zero.rate(), zero.queue()), (Some(Bitrate(0)), Some(0)));
        let most = Guidance::new(Some(Bitrate(u64::MAX)), Some(u64::MAX), None);
        assert_eq!((most.rate().is_some(), most.queue()), (true, Some(65_534 * 64)));
    }

    #[test]
    fn options_of_other_experiments_and_broken_ones_are_no_guidance() {
        for body in
            [&b"XX\0\0\0\x01\0\0\0\0"[..], b"LH", b"LH\0\0\0\0\0\0\0\0", b"LH\0\0\0\x01\0\0\x09\0", b""]
        {
            assert_eq!(Guidance::decode(body), None, "{body:?}");
        }
    }
}
