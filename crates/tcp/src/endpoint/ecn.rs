//! Explicit congestion notification: RFC 3168, the receiver of DCTCP (RFC 8257 section 3.2), and
//! the counter of AccECN (RFC 9768) in the three bits of the header; its option is in `accecn.rs`.
//!
//! The IP header's codepoint travels beside the segment ([`Segment::ecn`]). The rest of the
//! endpoint has one line at each place where ECN has a say: the SYN, data that arrives, an ACK, a
//! reduction, a segment that leaves.

use lasthop_units::{Ecn, Instant};

use super::accecn::Accurate;
use super::{Endpoint, Event};
use crate::cc::{CongestionControl, EcnEcho, Signal};
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
#[derive(Clone, Debug, Default)]
pub(super) struct EcnState {
    agreed: Agreed,
    /// Our SYN asked for ECN.
    pub asked: bool,
    /// What accurate feedback needs beside the header's three bits.
    pub accurate: Option<Box<Accurate>>,
    /// The codepoint of the peer's SYN or SYN-ACK, to be told in AccECN's handshake.
    syn_codepoint: Ecn,

    // Receiver.
    /// ECE on every ACK: until CWR arrives (RFC 3168 section 6.1.3), or DCTCP.CE (RFC 8257 section
    /// 3.2).
    echo: bool,
    /// r.cep: packets that arrived with CE, from 5 (RFC 9768 section 3.2.1).
    r_cep: u64,
    /// CE packets that no ACK has told of.
    untold: u32,
    /// An ACK of what had arrived before DCTCP.CE changed, still with the old value: RCV.NXT and
    /// ECE.
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

/// r.cep and s.cep begin at 5, so that 0 in the field means something is wrong (RFC 9768 section
/// 3.2.1).
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
    pub(super) fn ecn_on_syn(&mut self, segment: &mut Segment, answers: bool) {
        if answers {
            match self.ecn.agreed {
                // RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE and not CWR.
                Agreed::Classic => segment.flags |= Flags::ECE,
                // RFC 9768 section 3.2.3.2.2: the second repetition of a SYN-ACK has neither option
                // nor flags.
                Agreed::Accurate if !self.ecn.asked && self.syn_transmissions > 2 => {
                    self.accecn_without_ect()
                }
                Agreed::Accurate => {
                    set_ace(segment, handshake_ace(self.ecn.syn_codepoint));
                    self.accecn_on_syn_ack(segment);
                }
                Agreed::Nothing => {}
            }
            return;
        }
        let accurate = self.config.ecn == EcnMode::Accurate;
        self.ecn.asked = self.config.ecn.asks();
        // RFC 3168 section 6.1.1.1: a SYN that is sent again asks for nothing; something on the way
        // may dislike the flags. RFC 9768 section 3.1.4.1 asks for accurate feedback once more.
        if self.syn_transmissions > self.config.host.ecn_syns + u32::from(accurate) {
            return;
        }
        if accurate {
            // RFC 9768 section 3.1.1: AE, CWR and ECE.
            set_ace(segment, 0b111);
        } else if self.ecn.asked {
            segment.flags |= Flags::ECE | Flags::CWR;
        }
    }

    /// The peer's SYN or SYN-ACK.
    pub(super) fn take_peer_ecn(&mut self, seg: &Segment) {
        let (mode, ace) = (self.config.ecn, ace_of(seg));
        self.ecn.syn_codepoint = seg.ecn;
        // The second SYN of a simultaneous open does not change what the first agreed on (RFC 9768
        // section 3.1.5).
        if self.ecn.agreed == Agreed::Accurate {
            return;
        }
        self.ecn.agreed = if seg.flags.has(Flags::ACK) {
            self.answered(mode, ace)
        } else {
            match (mode, ace) {
                (EcnMode::Off, _) | (_, 0) => Agreed::Nothing,
                // RFC 3168 section 6.1.1: ECE and CWR. One that does not know AE reads it as a
                // reserved bit.
                (_, 0b011) => Agreed::Classic,
                // RFC 9768 section 3.1.3: any other combination asks for accurate feedback.
                (m, _) if m.accepts_accurate() => Agreed::Accurate,
                (_, 0b111) => Agreed::Classic,
                _ => Agreed::Nothing,
            }
        };
        if self.ecn.agreed == Agreed::Accurate {
            let answer = seg.flags.has(Flags::ACK);
            self.ecn.s_cep = CEP_AT_START;
            self.ecn.r_cep = CEP_AT_START + u64::from(seg.ecn == Ecn::Ce && answer);
            self.ecn.handshake_ack = answer;
            self.start_accurate(seg);
        }
    }

    /// What a SYN-ACK agrees to.
    fn answered(&self, mode: EcnMode, ace: u8) -> Agreed {
        match (mode, ace) {
            _ if !mode.asks() => Agreed::Nothing,
            // RFC 9768 table 2, and section 3.1.3 for the reserved 0b101. An answer to a repeated
            // SYN counts as well (section 3.1.4.1).
            (EcnMode::Accurate, 0b010..=0b110) => Agreed::Accurate,
            _ if self.syn_transmissions > 1 => Agreed::Nothing,
            // RFC 3168 section 6.1.1: ECE and not CWR, also as an answer to a SYN that asked for
            // more.
            (_, 0b001 | 0b101) => Agreed::Classic,
            // All three repeated: something reflects the flags.
            _ => Agreed::Nothing,
        }
    }

    /// A SYN arrives again before the handshake is over: its codepoint is the one to be returned,
    /// and without the flags it ends what may be sent ECN-capable (RFC 9768 section 3.1.5).
    pub(super) fn ecn_on_repeated_syn(&mut self, seg: &Segment) {
        if self.ecn.agreed == Agreed::Accurate {
            self.ecn.syn_codepoint = seg.ecn;
            if !self.ecn.asked && ace_of(seg) == 0 {
                self.accecn_without_ect();
            }
        }
    }

    /// A SYN-ACK arrives again: the ACK that answers it returns its codepoint (RFC 9768 section
    /// 3.1.5).
    pub(super) fn ecn_on_repeated_syn_ack(&mut self, seg: &Segment) {
        if self.ecn.agreed == Agreed::Accurate {
            self.ecn.syn_codepoint = seg.ecn;
            self.ecn.handshake_ack = true;
        }
    }

    /// The ACK that ends the handshake: with AccECN it repeats the codepoint that our SYN-ACK
    /// arrived with.
    pub(super) fn ecn_on_handshake_ack(&mut self, seg: &Segment) {
        if self.ecn.agreed != Agreed::Accurate {
            return;
        }
        self.accecn_on_handshake(seg);
        let ace = ace_of(seg);
        if !seg.flags.has(Flags::SYN) {
            // Section 3.2.2.1: only a segment without data returns the codepoint of our SYN-ACK.
            self.accecn_on_first(ace, seg.len == 0);
        }
        let altered = self.ecn.accurate.as_ref().is_some_and(|a| a.without_ect);
        let marked = seg.len == 0 && ace == handshake_ace(Ecn::Ce) && !altered;
        self.ecn.s_cep += u64::from(marked);
        self.counters.delivered_ce += u64::from(marked);
    }

    // The receiver.

    /// A segment of a synchronized connection arrived, whatever it carries: with AccECN every
    /// packet counts (RFC 9768 section 3.2.2.5.1).
    #[inline]
    pub(super) fn ecn_counted(&mut self, seg: &Segment) {
        if self.ecn.agreed == Agreed::Accurate {
            self.accurate_counted(seg);
        }
    }

    #[cold]
    fn accurate_counted(&mut self, seg: &Segment) {
        self.accecn_arrived(seg);
        if seg.ecn != Ecn::Ce {
            if seg.len > 0 {
                self.ecn.echo = false;
            }
            return;
        }
        self.counters.ce_received += 1;
        self.ecn.r_cep += 1;
        self.ecn.untold += 1;
        if seg.len == 0 {
            return;
        }
        // An ACK at once when the first mark comes, then at least for every second.
        if self.ecn.untold >= 2 || !self.ecn.echo {
            self.ack.at_once();
        }
        self.ecn.echo = true;
    }

    /// A segment was accepted; before its text is taken in.
    #[inline]
    pub(super) fn ecn_arrived(&mut self, seg: &Segment) {
        if self.ecn.agreed != Agreed::Classic {
            return;
        }
        let marked = seg.ecn == Ecn::Ce;
        self.counters.ce_received += u64::from(marked);
        match self.ecn.agreed {
            Agreed::Classic if seg.len > 0 && self.config.cc.needs().echo == EcnEcho::EachMark => {
                self.echo_like_dctcp(marked)
            }
            Agreed::Classic if seg.len > 0 => self.echo_until_cwr(seg, marked),
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

    /// RFC 8257 section 3.2: DCTCP.CE follows the packets; when it changes, what came before is
    /// acknowledged with the old value first, and the packet itself at once.
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
                if self.config.host.ect_on_all {
                    segment.ecn = self.ect();
                }
            }
        }
    }

    // The sender.

    /// The codepoint of what is sent ECN-capable.
    fn ect(&self) -> Ecn {
        match &self.ecn.accurate {
            Some(a) if a.without_ect => Ecn::NotEct,
            _ if self.config.l4s => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    /// The AccECN option of a segment whose data and other options are set.
    #[inline]
    pub(super) fn ecn_on_options(&mut self, now: Instant, segment: &mut Segment) {
        if self.ecn.agreed == Agreed::Accurate {
            // By value: a call by reference would fix the segment's address, and the compiler could
            // no longer build it in its destination.
            *segment = self.with_accecn(now, *segment);
        }
    }

    /// New data leaves: ECN-capable, and with CWR after a reduction. Retransmissions, probes of a
    /// closed window and pure ACKs do not come here (RFC 3168 sections 6.1.4 to 6.1.6).
    #[inline]
    pub(super) fn ecn_on_new_data(&mut self, segment: &mut Segment) {
        if self.ecn.agreed == Agreed::Nothing || segment.len == 0 {
            return;
        }
        segment.ecn = self.ect();
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
        if !classic {
            self.accecn_on_first(self.ecn.ace, false);
            self.accecn_on_ack(seg);
        }
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
                let moved = self.accecn_marks(self.ecn.ace, self.ecn.s_cep, delivered);
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

    /// RFC 9768 table 3.
    #[test]
    fn the_handshake_tells_the_codepoint() {
        let of = |e| handshake_ace(e);
        assert_eq!([of(Ecn::NotEct), of(Ecn::Ect1), of(Ecn::Ect0), of(Ecn::Ce)], [2, 3, 4, 6]);
    }
}
