//! Explicit congestion notification: RFC 3168, the receiver of DCTCP (RFC 8257 section 3.2), and the counters of AccECN
//! (RFC 9768) in the three bits of the header, without its option.
//!
//! The IP header's codepoint travels beside the segment ([`Segment::ecn`]). The rest of the endpoint has one line at each
//! place where ECN has a say: the SYN, data that arrives, an ACK, a reduction, a segment that leaves.

use lasthop_units::{Ecn, Instant};

use super::{Endpoint, Event};
use crate::cc::{CcName, CongestionControl, Signal};
use crate::config::EcnMode;
use crate::recovery::CaState;
use crate::segment::{Flags, Segment};

/// What both ends agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Agreed {
    /// No ECN.
    #[default]
    Nothing,
    /// RFC 3168: one bit each way.
    Classic,
    /// RFC 9768: the low three bits of a counter.
    Accurate,
}

/// ECN's part of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnState {
    agreed: Agreed,
    /// The codepoint of the peer's SYN or SYN-ACK, to be told in AccECN's handshake.
    syn_codepoint: Ecn,

    // Receiver.
    /// ECE on every ACK: until CWR arrives (RFC 3168 section 6.1.3), or DCTCP.CE (RFC 8257 section 3.2).
    echo: bool,
    /// r.cep: packets that arrived with CE, from 5 (RFC 9768 section 3.2.1).
    r_cep: u64,
    /// CE packets that no ACK has told of.
    untold: u32,
    /// An ACK of what had arrived before DCTCP.CE changed, still with the old value: RCV.NXT and ECE.
    old_ack: Option<(u64, bool)>,
    /// The ACK that ends an AccECN handshake is still to leave.
    handshake_ack: bool,

    // Sender.
    /// The next new data carries CWR.
    cwr_due: bool,
    /// The window was reduced; not again before SND.UNA is beyond this (flavours without RACK).
    reduced_until: Option<u64>,
    /// s.cep: what the peer's counter is known to be.
    s_cep: u64,
    /// The ACK in hand tells of congestion; with AccECN known once its delivery is.
    ece: bool,
    ace: u8,
}

/// r.cep and s.cep begin at 5, so that 0 in the field means something is wrong (RFC 9768 section 3.2.1).
const CEP_AT_START: u64 = 5;
const ACE_VALUES: u64 = 8;

/// The handshake's encoding of a codepoint in AE, CWR, ECE (RFC 9768 table 3).
const fn handshake_ace(codepoint: Ecn) -> u8 {
    match codepoint {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// AE, CWR and ECE as a number.
fn ace_of(seg: &Segment) -> u8 {
    u8::from(seg.accurate) << 2
        | u8::from(seg.flags.has(Flags::CWR)) << 1
        | u8::from(seg.flags.has(Flags::ECE))
}

fn set_ace(seg: &mut Segment, ace: u8) {
    seg.accurate = ace & 4 != 0;
    if ace & 2 != 0 {
        seg.flags |= Flags::CWR;
    }
    if ace & 1 != 0 {
        seg.flags |= Flags::ECE;
    }
}

/// Packets by which the peer's counter has moved, given its low three bits and how many packets the ACK delivered
/// (RFC 9768 appendix A.2.1): the smallest number that fits, or the largest that `delivered` allows where ACKs may
/// have been lost over a whole turn of the field.
fn counter_moved(ace: u8, s_cep: u64, delivered: u64) -> u64 {
    let least = (u64::from(ace) + ACE_VALUES - s_cep % ACE_VALUES) % ACE_VALUES;
    if delivered < ACE_VALUES {
        return least;
    }
    delivered.saturating_sub((delivered - least) % ACE_VALUES)
}

impl EcnState {
    /// A reduction has begun, whatever the reason: CWR tells the peer (RFC 3168 section 6.1.2).
    pub const fn reduced(&mut self) {
        if matches!(self.agreed, Agreed::Classic) {
            self.cwr_due = true;
        }
    }
    /// The flavours without RACK show CWR until a window has been acknowledged.
    pub fn shows_cwr(&self, una: u64) -> bool {
        self.reduced_until.is_some_and(|until| una <= until)
    }
}

impl Endpoint {
    /// Both ends use ECN: data is sent ECN-capable.
    pub const fn uses_ecn(&self) -> bool {
        !matches!(self.ecn.agreed, Agreed::Nothing)
    }

    // The handshake.

    /// The flags of our SYN or SYN-ACK.
    pub(super) fn ecn_on_syn(&self, segment: &mut Segment, answers: bool) {
        if answers {
            match self.ecn.agreed {
                // RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE and not CWR.
                Agreed::Classic => segment.flags |= Flags::ECE,
                Agreed::Accurate => set_ace(segment, handshake_ace(self.ecn.syn_codepoint)),
                Agreed::Nothing => {}
            }
            return;
        }
        // Section 6.1.1.1: a SYN that is sent again asks for nothing; something on the way may dislike the flags.
        if self.syn_transmissions > self.config.host.ecn_syns {
            return;
        }
        match self.config.ecn {
            EcnMode::On => segment.flags |= Flags::ECE | Flags::CWR,
            // RFC 9768 section 3.1.1: AE, CWR and ECE.
            EcnMode::Accurate => set_ace(segment, 0b111),
            EcnMode::Off | EcnMode::Passive => {}
        }
    }

    /// The peer's SYN or SYN-ACK.
    pub(super) fn take_peer_ecn(&mut self, seg: &Segment) {
        let (mode, ace) = (self.config.ecn, ace_of(seg));
        self.ecn.syn_codepoint = seg.ecn;
        let asked = match ace {
            0b111 => Agreed::Accurate,
            0b011 => Agreed::Classic,
            _ => Agreed::Nothing,
        };
        self.ecn.agreed = if !seg.flags.has(Flags::ACK) {
            match (mode, asked) {
                (EcnMode::Off, _) | (_, Agreed::Nothing) => Agreed::Nothing,
                (EcnMode::Accurate, Agreed::Accurate) => Agreed::Accurate,
                // RFC 3168 section 6.1.1.1 reads AE as a reserved bit: ECE and CWR are what counts.
                _ => Agreed::Classic,
            }
        } else if self.syn_transmissions > 1 {
            Agreed::Nothing
        } else {
            match (mode, ace) {
                (EcnMode::Off | EcnMode::Passive, _) => Agreed::Nothing,
                // RFC 9768 table 2: these four are an AccECN answer.
                (EcnMode::Accurate, 0b010 | 0b011 | 0b100 | 0b110) => Agreed::Accurate,
                // "An ECN-setup SYN-ACK": ECE and not CWR, also as an answer to a SYN that asked for more.
                (_, 0b001 | 0b101) => Agreed::Classic,
                // All three repeated: something reflects the flags.
                _ => Agreed::Nothing,
            }
        };
        if self.ecn.agreed == Agreed::Accurate {
            self.ecn.s_cep = CEP_AT_START;
            self.ecn.r_cep = CEP_AT_START + u64::from(seg.ecn == Ecn::Ce && seg.flags.has(Flags::ACK));
            self.ecn.handshake_ack = seg.flags.has(Flags::ACK);
        }
    }

    /// The ACK that ends the handshake: with AccECN it repeats the codepoint that our SYN-ACK arrived with.
    pub(super) fn ecn_on_handshake_ack(&mut self, seg: &Segment) {
        if self.ecn.agreed == Agreed::Accurate && ace_of(seg) == handshake_ace(Ecn::Ce) {
            self.ecn.s_cep += 1;
        }
    }

    // The receiver.

    /// A segment was accepted; before its text is taken in.
    #[inline]
    pub(super) fn ecn_arrived(&mut self, seg: &Segment) {
        if self.ecn.agreed == Agreed::Nothing {
            return;
        }
        let marked = seg.ecn == Ecn::Ce;
        self.counters.ce_received += u64::from(marked);
        match self.ecn.agreed {
            Agreed::Classic if seg.len > 0 && self.config.cc == CcName::Dctcp => self.echo_like_dctcp(marked),
            Agreed::Classic if seg.len > 0 => self.echo_until_cwr(seg, marked),
            Agreed::Accurate if marked => {
                // RFC 9768 section 3.2.2.5.1: an ACK at once when the first mark comes, then at least for every second.
                self.ecn.r_cep += 1;
                self.ecn.untold += 1;
                if self.ecn.untold >= 2 || self.ecn.untold == 1 && !self.ecn.echo {
                    self.ack.at_once();
                }
                self.ecn.echo = true;
            }
            Agreed::Accurate if seg.len > 0 => self.ecn.echo = false,
            _ => {}
        }
    }

    /// RFC 3168 section 6.1.3: ECE from the first mark until CWR arrives.
    fn echo_until_cwr(&mut self, seg: &Segment, marked: bool) {
        if seg.flags.has(Flags::CWR) {
            self.ecn.echo = false;
            // The sender's window may be one segment: do not keep it waiting (as Linux).
            self.ack.at_once();
        }
        if marked {
            // "It may be the case that it is a new instance": CE beside CWR begins anew.
            if !self.ecn.echo {
                self.hurry(2);
                self.ack.at_once();
            }
            self.ecn.echo = true;
        }
    }

    /// RFC 8257 section 3.2: DCTCP.CE follows the packets; when it changes, what came before is acknowledged with the old
    /// value first, and the packet itself at once.
    fn echo_like_dctcp(&mut self, marked: bool) {
        if marked == self.ecn.echo {
            return;
        }
        if self.ack.holds_some() {
            self.ecn.old_ack = Some((self.rcv_nxt, self.ecn.echo));
        }
        self.ecn.echo = marked;
        self.ack.at_once();
    }

    /// An ACK of what came before DCTCP.CE changed is still to leave.
    #[inline]
    pub(super) const fn ecn_owes_old_ack(&self) -> bool {
        self.ecn.old_ack.is_some()
    }

    /// The ACK of what came before DCTCP.CE changed.
    #[cold]
    pub(super) fn ecn_old_ack(&mut self, now: Instant) -> Option<Segment> {
        let (nxt, echo) = self.ecn.old_ack.take()?;
        let new_echo = std::mem::replace(&mut self.ecn.echo, echo);
        let mut segment = self.bare_ack(now);
        segment.ack = self.rcv_seq_of(nxt);
        self.ecn.echo = new_echo;
        // It was extra: the newest packet is still to be acknowledged.
        self.ack.at_once();
        Some(segment)
    }

    /// The flags of a segment of a synchronized connection.
    #[inline]
    pub(super) fn ecn_on_header(&mut self, segment: &mut Segment) {
        match self.ecn.agreed {
            Agreed::Nothing => {}
            Agreed::Classic if self.ecn.echo => segment.flags |= Flags::ECE,
            Agreed::Classic => {}
            Agreed::Accurate => {
                let ace = if std::mem::take(&mut self.ecn.handshake_ack) {
                    handshake_ace(self.ecn.syn_codepoint)
                } else {
                    (self.ecn.r_cep % ACE_VALUES) as u8
                };
                self.ecn.untold = 0;
                set_ace(segment, ace);
            }
        }
    }

    // The sender.

    /// New data leaves: ECN-capable, and with CWR after a reduction. Retransmissions, probes of a closed window and pure
    /// ACKs do not come here (RFC 3168 sections 6.1.4 to 6.1.6).
    #[inline]
    pub(super) fn ecn_on_new_data(&mut self, segment: &mut Segment) {
        if self.ecn.agreed == Agreed::Nothing || segment.len == 0 {
            return;
        }
        segment.ecn = if self.config.l4s { Ecn::Ect1 } else { Ecn::Ect0 };
        if std::mem::take(&mut self.ecn.cwr_due) {
            segment.flags |= Flags::CWR;
        }
    }

    /// What an acceptable ACK says about marks.
    #[inline]
    pub(super) fn ecn_on_ack(&mut self, seg: &Segment) {
        self.ecn.ece = false;
        if self.ecn.agreed == Agreed::Nothing {
            return;
        }
        let classic = self.ecn.agreed == Agreed::Classic;
        self.ecn.ece = classic && seg.flags.has(Flags::ECE) && !seg.flags.has(Flags::SYN);
        self.ecn.ace = ace_of(seg);
    }

    /// Of the octets that the ACK in hand delivered: how many met a mark. Once an ACK.
    #[inline]
    pub(super) fn settle_ecn(&mut self, delivered: u64) -> u64 {
        if self.ecn.agreed == Agreed::Nothing {
            return 0;
        }
        let packets = delivered.div_ceil(u64::from(self.mss));
        let marked = match self.ecn.agreed {
            Agreed::Nothing => 0,
            Agreed::Classic if self.ecn.ece => packets,
            Agreed::Classic => 0,
            Agreed::Accurate => {
                let moved = counter_moved(self.ecn.ace, self.ecn.s_cep, packets);
                self.ecn.s_cep += moved;
                self.ecn.ece = moved > 0;
                moved
            }
        };
        self.counters.delivered_ce += marked;
        (marked * u64::from(self.mss)).min(delivered)
    }

    /// The ACK in hand tells of congestion; after [`settle_ecn`](Self::settle_ecn).
    #[inline]
    pub(super) fn is_told_of_congestion(&self) -> bool {
        self.ecn.ece
    }

    /// The flavours without RACK: the response of RFC 3168 section 6.1.2, once per window of data.
    #[inline]
    pub(super) fn respond_to_marks(&mut self, now: Instant) {
        if !self.is_told_of_congestion()
            || self.ecn.shows_cwr(self.una)
            || matches!(self.recovery.state(), CaState::Recovery | CaState::Loss)
        {
            return;
        }
        self.cut_for_marks(now);
    }

    #[cold]
    fn cut_for_marks(&mut self, now: Instant) {
        let (_, sender) = self.recovery_and_sender(now);
        let congestion = sender.marked();
        debug_assert_eq!(congestion.signal, Signal::Ecn);
        self.cc.on_congestion(&congestion);
        self.ecn.reduced_until = Some(self.max);
        self.note_mark_reduction();
    }

    /// A reduction because of marks has begun.
    pub(super) fn note_mark_reduction(&mut self) {
        self.ecn.reduced();
        self.counters.mark_reductions += 1;
        self.emit(Event::MarkReduction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768 appendix A.2.1: s.cep 5 (5 mod 8). ACE 6 is one more; ACE 5 none; ACE 4 seven. With 20 packets delivered
    /// and ACE 6: 1, 9 or 17 fit; the safest that is possible is 17.
    #[test]
    fn the_counter_is_read_from_three_bits() {
        assert_eq!(counter_moved(6, 5, 3), 1);
        assert_eq!(counter_moved(5, 5, 3), 0);
        assert_eq!(counter_moved(4, 5, 7), 7);
        assert_eq!(counter_moved(6, 5, 20), 17);
        assert_eq!(counter_moved(5, 13, 8), 8);
    }

    /// RFC 9768 table 3.
    #[test]
    fn the_handshake_tells_the_codepoint() {
        let of = |e| handshake_ace(e);
        assert_eq!([of(Ecn::NotEct), of(Ecn::Ect1), of(Ecn::Ect0), of(Ecn::Ce)], [2, 3, 4, 6]);
    }
}
