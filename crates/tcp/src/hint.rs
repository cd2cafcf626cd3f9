//! Capacity hints: reports of the radio network to a sender about the last hop.
//!
//! A [`Hint`] is the input of a congestion control, independent of its source and path. A
//! [`Guidance`] is the form that a receiver writes into its ACKs when the hint is sent in-band, as
//! a TCP option in the manner of mobile throughput guidance
//! (draft-flinck-mobile-throughput-guidance): an experimental option (RFC 6994: kind 253 and an
//! identifier) whose value, 8 octets, is defined here. Code that carries hints otherwise calls
//! [`Endpoint::handle_hint`](crate::Endpoint::handle_hint).
//!
//! ACKs may be lost or arrive in batches, so an option describes the current state: the reading
//! with its age, and the newest notice with a number. The sender processes a notice once, although
//! it is repeated.

use std::num::NonZeroU32;

use lasthop_units::{Bitrate, Duration, Instant};

/// An event of the radio link.
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

    /// The name in tables and for a caller's own congestion control.
    pub const fn name(self) -> &'static str {
        match self {
            Notice::HandoverBegins => "handover-begins",
            Notice::HandoverDone => "handover-done",
            Notice::OutageBegins => "outage-begins",
            Notice::OutageOver => "outage-over",
        }
    }
    /// The link carries nothing from this notice on, until another one ends the interruption.
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

/// A report to a sender about the last hop of one of its flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hint {
    /// When it reached the sender.
    pub now: Instant,
    /// When the readings were taken, if the carrier of the report has it.
    pub measured: Option<Instant>,
    /// Achievable data rate R(t) of the terminal.
    pub rate: Option<Bitrate>,
    /// Octets in the layer-2 queue, Q(t).
    pub queue: Option<u64>,
    /// Rate at which the terminal may send its ACKs (uplink grants).
    pub grant: Option<Bitrate>,
    /// An event of the link.
    pub notice: Option<Notice>,
    /// How often hints are to be expected; `None`: unknown.
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
    /// R(t) + 1 \[kbit/s\]; the largest value: not known.
    rate: NonZeroU32,
    /// Q(t) in units of [`QUEUE_UNIT`] octets, rounded to nearest; the largest value: not known.
    queue: u16,
    /// Kind of the newest notice in the lower three bits, its number in the others; 0: there was
    /// none.
    notice: u8,
    /// Age of the readings when the ACK left, in units of [`AGE_UNIT`], rounded up; the largest
    /// value: that or more.
    age: u8,
}

/// Unit of the queue in the option \[octets\].
pub const QUEUE_UNIT: u64 = 64;

/// Unit of the age in the option.
pub const AGE_UNIT: Duration = Duration::from_millis(4);

const NO_QUEUE: u16 = u16::MAX;
const NOTICE_BITS: u32 = 3;

impl Guidance {
    /// Kind of the option: experimental (RFC 6994).
    pub const KIND: u8 = 253;
    /// Identifier of the experiment (RFC 6994 section 3): the letters "LH".
    pub const EXPERIMENT: [u8; 2] = *b"LH";
    /// Octets of the whole option.
    pub const LEN: u8 = 12;

    /// Fresh readings, quantised: the rate to 1 kbit/s, the queue to 64 octets up to 4 MB; the
    /// notice has the number 0.
    pub fn new(rate: Option<Bitrate>, queue: Option<u64>, notice: Option<Notice>) -> Guidance {
        let kbps = rate.map_or(u64::from(u32::MAX), |r| (r.0 / 1000 + 1).min(u64::from(u32::MAX) - 1));
        let units = |q: u64| ((q.saturating_add(QUEUE_UNIT / 2)) / QUEUE_UNIT).min(u64::from(NO_QUEUE) - 1);
        Guidance {
            rate: NonZeroU32::new(kbps as u32).unwrap_or(NonZeroU32::MAX),
            queue: queue.map_or(NO_QUEUE, |q| units(q) as u16),
            notice: notice.map_or(0, Notice::number),
            age: 0,
        }
    }
    /// The guidance with a number for its notice, of which the lower five bits are used: another
    /// number means another notice.
    pub const fn numbered(self, number: u8) -> Guidance {
        let kind = self.notice & ((1 << NOTICE_BITS) - 1);
        Guidance { notice: if kind == 0 { 0 } else { kind | number << NOTICE_BITS }, ..self }
    }
    /// The guidance with this age of its readings.
    pub fn aged(self, age: Duration) -> Guidance {
        Guidance { age: age.0.div_ceil(AGE_UNIT.0).min(u8::MAX.into()) as u8, ..self }
    }
    /// How old the readings were when the ACK left, at least (to 4 ms, up to 1.02 s).
    pub const fn age(&self) -> Duration {
        Duration(AGE_UNIT.0 * self.age as u64)
    }
    /// Which notice it is: kind and number in one; 0: none.
    pub(crate) const fn notice_number(&self) -> u8 {
        self.notice
    }
    /// R(t), if it is reported.
    pub fn rate(&self) -> Option<Bitrate> {
        (self.rate != NonZeroU32::MAX).then(|| Bitrate(u64::from(self.rate.get() - 1) * 1000))
    }
    /// Q(t) \[octets\], if it is reported.
    pub fn queue(&self) -> Option<u64> {
        (self.queue != NO_QUEUE).then(|| u64::from(self.queue) * QUEUE_UNIT)
    }
    /// The event of the link.
    pub fn notice(&self) -> Option<Notice> {
        Notice::from_number(self.notice & ((1 << NOTICE_BITS) - 1))
    }
    /// The hint that the sender derives from it at `now`. The delay of the ACK is not reported:
    /// readings are older by this time.
    pub fn hint(&self, now: Instant) -> Hint {
        let measured = Some(Instant(now.0.saturating_sub(self.age().0)));
        Hint { measured, rate: self.rate(), queue: self.queue(), notice: self.notice(), ..Hint::at(now) }
    }

    /// The option's octets: kind, length, identifier, rate, queue, notice, age.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[Guidance::KIND, Guidance::LEN]);
        out.extend_from_slice(&Guidance::EXPERIMENT);
        out.extend_from_slice(&self.rate.get().to_be_bytes());
        out.extend_from_slice(&self.queue.to_be_bytes());
        out.extend_from_slice(&[self.notice, self.age]);
    }
    /// Reads what follows kind and length; `None`: some other experiment, or no value of this one.
    pub(crate) fn decode(body: &[u8]) -> Option<Guidance> {
        let (id, value) = body.split_first_chunk::<2>()?;
        let value: &[u8; 8] = value.try_into().ok()?;
        let [a, b, c, d, e, f, notice, age] = *value;
        let rate = NonZeroU32::new(u32::from_be_bytes([a, b, c, d]))?;
        let found = Guidance { rate, queue: u16::from_be_bytes([e, f]), notice, age };
        (*id == Guidance::EXPERIMENT && (notice == 0 || found.notice().is_some())).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_survive_the_option_to_its_units() {
        let g = Guidance::new(Some(Bitrate(19_123_456)), Some(45_000), Some(Notice::HandoverDone));
        let g = g.numbered(33).aged(Duration::from_millis(9));
        assert_eq!((g.notice(), g.notice_number()), (Some(Notice::HandoverDone), 2 | 1 << 3), "33 mod 32");
        // 9 ms are three units of 4 ms.
        assert_eq!(g.hint(Instant::from_millis(100)).measured, Some(Instant::from_millis(88)));
        assert_eq!(g.aged(Duration::from_secs(9)).age(), Duration::from_millis(1020));
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
            [&b"XX\0\0\0\x01\0\0\0\0"[..], b"LH", b"LH\0\0\0\0\0\0\0\0", b"LH\0\0\0\x01\0\0\x0d\0", b""]
        {
            assert_eq!(Guidance::decode(body), None, "{body:?}");
        }
    }
}
