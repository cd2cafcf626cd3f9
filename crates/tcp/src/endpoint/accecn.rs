//! Accurate ECN (RFC 9768): the counters of octets, the option that carries them, and the effects
//! of a path on both.
//!
//! The three bits of the header (the ACE field) are in `ecn.rs`; this file has the parts that need
//! the option. Choices taken from Linux are noted at each place, with the function of
//! include/net/tcp_ecn.h or net/ipv4/tcp_input.c that makes it.
//!
//! The source is an excerpt of draft-ietf-tcpm-accurate-ecn-34, from which the RFC was made;
//! neither the whole draft nor the RFC itself was available. Quotations of the RFC by others agree
//! with the draft and with the numbers of sections given here: a review of PyTCP against the RFC
//! (sections 3.1.1 to 3.1.3, 3.1.5, 3.2.1 to 3.2.2.5, 3.2.3 and 3.2.3.3) and Linux' commits (3.1.2,
//! 3.1.3, 3.2.2.1, 3.2.3.2.2). Sections 3.1.4.1, 3.2.2.3, 3.2.2.4 and the appendices rest on the
//! draft alone.

use lasthop_units::{Ecn, Instant};

use super::negotiated::Negotiated;
use crate::config::{AccEcnOption, Config};
use crate::recovery::CaState;
use crate::rto::Rto;
use crate::segment::{AccEcn, Flags, Segment, SpareOptions};

/// A count for each codepoint that RFC 9768 counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByCodepoint([u64; 3]);

impl ByCodepoint {
    /// The count of a codepoint; Not-ECT is not counted.
    pub fn get(&self, e: Ecn) -> u64 {
        slot(e).map_or(0, |i| self.0[i])
    }
    fn add(&mut self, e: Ecn, n: u64) {
        if let Some(i) = slot(e) {
            self.0[i] = self.0[i].wrapping_add(n);
        }
    }
}

const fn slot(e: Ecn) -> Option<usize> {
    match e {
        Ecn::NotEct => None,
        Ecn::Ect1 => Some(0),
        Ecn::Ect0 => Some(1),
        Ecn::Ce => Some(2),
    }
}

/// r.e0b and r.e1b begin at 1, r.ceb at 0 (RFC 9768 section 3.2.1): a middlebox that clears fields
/// shows.
pub(super) const fn start_of(e: Ecn) -> u64 {
    match e {
        Ecn::Ect0 | Ecn::Ect1 => 1,
        Ecn::Ce | Ecn::NotEct => 0,
    }
}

/// The state of the peer's option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    #[default]
    Nothing,
    /// An option without a counter.
    Empty,
    /// An option with a counter.
    Counter,
    /// A first counter of zero: something on the path clears fields.
    Cleared,
}

/// The state of a connection with accurate feedback.
#[derive(Clone, Debug, Default)]
pub(super) struct Accurate {
    // Data Receiver.
    /// Octets of data that arrived with each codepoint, from 0.
    pub received: ByCodepoint,
    /// The codepoint of the newest packet.
    last: Ecn,
    /// The codepoint has changed, and no data has been acknowledged since.
    changed: bool,
    /// Counters that the next option has to carry, because they have moved.
    fields_due: u8,
    /// Number of segments that must still carry the option, in any mode.
    demand: u8,
    /// When the option left last.
    sent_at: Instant,
    /// Where the D-SACK began that left beside the newest option.
    dsack_beside: Option<u64>,
    /// The start of the D-SACK in the segment that is being processed.
    dsack: Option<u64>,

    // Data Sender.
    /// Octets of data that the peer received with each codepoint, from 0.
    pub delivered: ByCodepoint,
    /// The only codepoint whose counter increased with the newest option: octets that are reported
    /// without an option count for it.
    estimate: Option<Ecn>,
    /// Packets that an ACK delivers, averaged with a weight of 1/64.
    packets_per_ack: f64,
    /// The ACK that is being processed has a newer timestamp than the one before.
    newer: bool,
    /// The option of the ACK in hand.
    option: Option<AccEcn>,

    /// Octets of every data segment that are kept for the option.
    reserved: u32,

    // The path.
    seen: Seen,
    /// The first segment after the SYNs has been checked (RFC 9768 section 3.2.2.4).
    first_seen: bool,
    /// Nothing leaves ECN-capable: the fields of SYNs or ACKs were cleared or altered (sections
    /// 3.1.5, 3.2.2.3 and 3.2.2.4).
    pub without_ect: bool,
    /// No option leaves any more: segments with it do not arrive (section 3.2.3.2.2).
    option_is_lost: bool,
    /// The peer's option is ignored.
    option_is_wrong: bool,
}

/// Octets by which a counter moves at most between two options: once in 2^22 (RFC 9768 section
/// 3.2.3.3).
const BEACON_OCTETS: u32 = 22;
/// Octets sent before the first option came, from which on its counters could have wrapped
/// (tcp_accecn_process_option).
const LATEST_START: u64 = (1 << 23) - 1;
/// ACKs that deliver more packets than this on average come from a path that merges them
/// (ACK_COMP_THRESH).
const MERGED_ACKS: f64 = 4.0;
/// In `minimum` mode the option leaves at least so often a round trip
/// (net.ipv4.tcp_ecn_option_beacon).
const BEACONS_PER_ROUND: u64 = 3;

impl Accurate {
    /// A packet has arrived: its codepoint, and the octets of its data.
    fn count(&mut self, codepoint: Ecn, octets: u32) {
        if octets > 0 && codepoint != Ecn::NotEct {
            let before = self.received.get(codepoint);
            self.received.add(codepoint, u64::from(octets));
            self.fields_due = self.fields_due.max(fields_up_to(codepoint));
            if before >> BEACON_OCTETS != self.received.get(codepoint) >> BEACON_OCTETS {
                self.demand = self.demand.max(1);
            }
        }
        // Section 3.2.3.3, change-triggered ACKs: two, so that the second is unambiguous.
        let changed = self.last != codepoint;
        if changed || codepoint == Ecn::Ce {
            self.last = codepoint;
            self.changed |= changed;
            self.demand = 2;
        }
    }

    /// Checks a first option for cleared counters: an initial value of 0 is impossible (section
    /// 3.2.3.2.4).
    pub fn look_at_first(&mut self, option: &AccEcn) {
        if self.seen >= Seen::Counter {
            return;
        }
        let mut ends = option.iter().step_by(2);
        self.seen = match (option.fields(), ends.any(|f| f.1 == 0)) {
            (0, _) => Seen::Empty,
            (_, true) => Seen::Cleared,
            (_, false) => Seen::Counter,
        };
        self.option_is_wrong |= self.seen == Seen::Cleared;
    }

    /// The counters of the ACK in hand, whose delivery is `octets`. By how many octets the CE
    /// counter has moved, where that is certain (tcp_accecn_process_option).
    fn take_option(&mut self, octets: u64, octets_sent: u64) -> Option<u64> {
        if self.option_is_wrong {
            return None;
        }
        let Some(option) = self.option else {
            if self.seen == Seen::Nothing {
                self.option_is_wrong = octets_sent >= LATEST_START;
                return None;
            }
            let estimate = self.estimate?;
            self.delivered.add(estimate, octets);
            return Some(if estimate == Ecn::Ce { octets } else { 0 });
        };
        self.look_at_first(&option);
        let marked_before = self.delivered.get(Ecn::Ce);
        let assumed = self.estimate;
        let (mut certain, mut moved) = (assumed.is_some(), 0);
        for (codepoint, field) in option.iter() {
            let delta = advance24(self.delivered.get(codepoint) + start_of(codepoint), field);
            self.delivered.add(codepoint, delta as u64);
            certain &= delta >= 0;
            if delta < 0 {
                moved = 2;
            } else if delta != 0 && Some(codepoint) != assumed {
                moved += 1;
                if moved == 1 {
                    self.estimate = Some(codepoint);
                }
            }
        }
        if moved > 1 {
            self.estimate = None;
            certain = false;
        }
        certain.then(|| self.delivered.get(Ecn::Ce).wrapping_sub(marked_before))
    }

    fn average(&mut self, packets: u64) {
        if packets > 0 {
            let n = packets.min(1024) as f64;
            let old = self.packets_per_ack;
            self.packets_per_ack = if old == 0.0 { n } else { old + (n - old) / 64.0 };
        }
    }
}

/// Counters of an option of order 1 that include the one of `codepoint`.
const fn fields_up_to(codepoint: Ecn) -> u8 {
    match codepoint {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ce => 2,
        Ecn::Ect0 => 3,
    }
}

/// The smallest change, forwards or back, that takes the 24 least significant bits of `from` to
/// `to`.
const fn advance24(from: u64, to: u32) -> i64 {
    let delta = to.wrapping_sub(from as u32) & 0xff_ffff;
    (((delta << 8) as i32) >> 8) as i64
}

/// What one ACK delivered.
#[derive(Clone, Copy)]
struct Delivery {
    packets: u64,
    octets: u64,
    mss: u64,
    /// SACK blocks, or a state without losses, make the number of packets reliable.
    exact: bool,
}

/// Of `d`'s packets, how many met a mark, when the ACE field is `least` modulo 8 and the field may
/// have wrapped: with the octets that the option counted as CE, `marked`, where they are known (RFC
/// 9768 appendix A.2.2, in the form of Linux' __tcp_accecn_process).
fn marks_of(least: u64, d: Delivery, marked: Option<u64>, packets_per_ack: f64) -> u64 {
    const FIELD: u64 = 8;
    if d.packets < FIELD {
        return least;
    }
    let safest = d.packets - (d.packets - least) % FIELD;
    let Some(marked) = marked else {
        return if packets_per_ack > MERGED_ACKS { least } else { safest };
    };
    if marked == 0 {
        return least;
    }
    if d.packets >= 2 * FIELD && d.exact {
        if d.octets <= marked {
            return safest;
        }
        let by_octets = (marked * d.packets).div_ceil(d.octets);
        return safest.min(least + by_octets / FIELD * FIELD);
    }
    if marked <= least * d.mss && marked < safest * d.mss / 2 { least } else { safest }
}

impl Accurate {
    /// Accurate feedback is agreed on with this SYN or SYN-ACK of the peer's.
    #[cold]
    pub fn start(seg: &Segment) -> Accurate {
        let mut a = Accurate { last: seg.ecn, demand: 1, ..Accurate::default() };
        // Section 3.2.3.2.1: an option on a SYN is ignored.
        if seg.flags.has(Flags::ACK)
            && let Some(option) = &seg.rare.accecn
        {
            a.look_at_first(option);
            a.demand = 2;
        }
        a
    }

    /// After the handshake: the octets that data segments reserve for the option, where every
    /// segment carries it.
    pub fn reserve(&mut self, config: &Config) -> u32 {
        let full = config.ecn.accecn_option == AccEcnOption::Full;
        if full && self.seen != Seen::Nothing {
            self.reserved = AccEcn::len_of(AccEcn::FIELDS).next_multiple_of(4);
        }
        self.reserved
    }

    /// The first segment after the handshake's SYNs: an ACE field of 0 is impossible (section
    /// 3.2.2.4), and in an ACK that ends a handshake the field returns the codepoint of our
    /// SYN-ACK, which was Not-ECT (section 3.2.2.3).
    pub fn look_at_first_ace(&mut self, config: &Config, ace: u8, ends_handshake: bool) {
        let altered = config.host.ecn_fallback && !matches!(ace, 0b010 | 0b001 | 0b101 | 0b111);
        if !std::mem::replace(&mut self.first_seen, true) {
            self.without_ect |= ace == 0 || (ends_handshake && altered);
        }
    }

    /// A packet of a synchronized connection has arrived. All packets count, also pure ACKs and
    /// repeated octets. True: its ACK is sent at once.
    #[cold]
    pub fn count_octets(&mut self, config: &Config, seg: &Segment) -> bool {
        self.count(seg.ecn, seg.len);
        seg.len > 0 && std::mem::take(&mut self.changed) && config.ecn.accecn_option != AccEcnOption::Off
    }

    /// Octets that begin at `start` arrived again. If the ACK before carried the option beside a
    /// D-SACK of the same octets, that ACK was lost, perhaps for its option (section 3.2.3.2.2,
    /// as Linux' tcp_rcv_spurious_retrans).
    pub fn repeated(&mut self, start: u64) {
        self.option_is_lost |= self.dsack_beside == Some(start);
    }

    /// The segment that is being processed carries a D-SACK of octets from `start` on.
    pub fn beside_dsack(&mut self, start: u64) {
        self.dsack = Some(start);
    }

    /// The segment with the option where it is due and fits beside the segment's data.
    #[cold]
    #[inline(never)]
    pub fn with_option(
        &mut self,
        config: &Config,
        rto: &Rto,
        mss: u32,
        now: Instant,
        mut segment: Segment,
        spare: &mut SpareOptions,
    ) -> Segment {
        let mode = config.ecn.accecn_option;
        let dsack = self.dsack.take();
        let beacon = || rto.srtt().is_some_and(|srtt| now.since(self.sent_at) >= srtt / BEACONS_PER_ROUND);
        let wanted = match mode {
            AccEcnOption::Off => false,
            AccEcnOption::Full => true,
            AccEcnOption::Minimum => self.demand > 0 || beacon(),
        };
        self.dsack_beside = None;
        if !wanted || self.seen == Seen::Nothing || self.option_is_lost {
            return segment;
        }
        let room = segment.other_options_len() + (mss + self.reserved).saturating_sub(segment.len);
        let Some((fields, blocks)) = layout(&segment, self.fields_due, room) else { return segment };
        segment.rare.change_in(spare, |o| {
            o.sack.truncate(blocks);
            o.accecn = Some(AccEcn::order1(fields, |e| self.received.get(e) + start_of(e)));
        });
        self.fields_due = 0;
        self.demand = self.demand.saturating_sub(1);
        self.sent_at = now;
        self.dsack_beside = dsack;
        segment
    }

    /// Stores the option of the ACK that is being processed.
    #[cold]
    pub fn hold_option(&mut self, seg: &Segment, newer: bool) {
        (self.newer, self.option) = (newer, seg.rare.accecn);
    }

    /// Number of marked packets that the ACK being processed reports. An ACK that neither delivers
    /// octets nor has a newer timestamp may be an old one: it is ignored. So far `sent` octets of
    /// data have been sent.
    #[cold]
    pub fn count_marks(
        &mut self,
        (ace, s_cep): (u8, u64),
        n: &Negotiated,
        state: CaState,
        sent: u64,
        octets: u64,
    ) -> u64 {
        let mss = u64::from(n.mss);
        let packets = octets.div_ceil(mss);
        let exact = n.sack || matches!(state, CaState::Open | CaState::Cwr);
        if octets == 0 && !self.newer {
            return 0;
        }
        let marked = self.take_option(octets, sent);
        self.average(packets);
        let least = (u64::from(ace) + 8 - s_cep % 8) % 8;
        marks_of(least, Delivery { packets, octets, mss, exact }, marked, self.packets_per_ack)
    }

    /// For a connection with accurate feedback: the octets that the peer reports for ECT(1), ECT(0)
    /// and CE, and those that have arrived here with each.
    pub const fn octets(&self) -> ([u64; 3], [u64; 3]) {
        (self.delivered.0, self.received.0)
    }
}

/// Counters and SACK blocks that fit together: as many counters as possible beside all blocks, and
/// fewer blocks, down to two, where otherwise a counter that has moved found no room
/// (tcp_options_fit_accecn).
fn layout(segment: &Segment, required: u8, room: u32) -> Option<(u8, usize)> {
    let all = segment.rare.sack.len();
    let least = if required > 0 { all.min(2) } else { all };
    (least..=all).rev().find_map(|blocks| {
        let fields = (required..=AccEcn::FIELDS).rev().find(|&f| segment.accecn_fits(f, blocks, room))?;
        Some((fields, blocks))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn marks(ace_moved: u64, packets: u64, marked: Option<u64>, per_ack: f64) -> u64 {
        let d = Delivery { packets, octets: packets * MSS, mss: MSS, exact: true };
        marks_of(ace_moved, d, marked, per_ack)
    }

    /// RFC 9768 appendix A.2.1: 20 packets and a field that moved by 1 may be 1, 9 or 17 marks; 17
    /// is the safest.
    #[test]
    fn without_the_option_the_safest_number_counts() {
        assert_eq!(marks(1, 3, None, 1.0), 1, "the field cannot have wrapped");
        assert_eq!(marks(1, 20, None, 1.0), 17);
        assert_eq!(marks(0, 9, None, 1.0), 8);
        assert_eq!(
            marks(1, 20, None, 5.0),
            1,
            "a path that merges ACKs: wraps would be reported all the time"
        );
    }

    /// Appendix A.2.2: the CE octets decide. 20 packets of 1000 octets, 1 modulo 8: 8600 octets are
    /// nine packets at least (8600 * 20 / 20000 = 8.6), 500 octets one, 17 000 octets 17.
    #[test]
    fn with_the_option_its_octets_decide() {
        assert_eq!(marks(0, 20, Some(0), 1.0), 0);
        assert_eq!(marks(1, 20, Some(8_600), 1.0), 9);
        assert_eq!(marks(1, 20, Some(500), 1.0), 1);
        assert_eq!(marks(1, 20, Some(17_000), 1.0), 17);
        assert_eq!(marks(1, 20, Some(20_000), 1.0), 17, "all octets are marked: the most that fits");
        // Ten packets, below two wraps of the field: nine if more octets are marked than one packet
        // has.
        assert_eq!([marks(1, 10, Some(1_000), 1.0), marks(1, 10, Some(5_000), 1.0)], [1, 9]);
    }

    /// Section 3.2.3.1 and appendix A.1: 24 bits of the counter, over their wrap, and back for an
    /// option that is old.
    #[test]
    fn counters_of_24_bits_are_followed() {
        assert_eq!(advance24(1, 1001), 1000);
        assert_eq!(advance24(0xff_fff0, 0x10), 0x20);
        assert_eq!(advance24(0x0100_0005, 4), -1);
        let mut a = Accurate { seen: Seen::Counter, ..Accurate::default() };
        let mut read = |e0: u32, ce: u32, e1: u32| {
            a.option = Some(AccEcn::of(false, &[e0, ce, e1]));
            (a.take_option(1000, 0), a.delivered.get(Ecn::Ect0), a.delivered.get(Ecn::Ce))
        };
        assert_eq!(read(1001, 0, 1), (None, 1000, 0), "no codepoint was assumed before");
        assert_eq!(read(2001, 0, 1), (Some(0), 2000, 0));
        assert_eq!(read(2001, 1000, 1), (Some(1000), 2000, 1000), "one counter moved, another than assumed");
        assert_eq!(read(3001, 2000, 1), (Some(1000), 3000, 2000), "the assumed one and one more");
        assert_eq!(
            read(3001, 3000, 1001),
            (None, 3000, 3000),
            "two beside the assumed one: no codepoint is sure"
        );
    }

    /// Section 3.2.3.2.4: r.e0b and r.e1b begin at 1.
    #[test]
    fn a_first_counter_of_zero_is_a_cleared_one() {
        for (counters, seen) in [
            (&[][..], Seen::Empty),
            (&[1][..], Seen::Counter),
            (&[0, 0, 1], Seen::Cleared),
            (&[1, 0, 0], Seen::Cleared),
        ] {
            let mut a = Accurate::default();
            a.look_at_first(&AccEcn::of(true, counters));
            assert_eq!((a.seen, a.option_is_wrong), (seen, seen == Seen::Cleared), "{counters:?}");
        }
    }
}
