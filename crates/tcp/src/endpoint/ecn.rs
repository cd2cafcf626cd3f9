//! Explicit congestion notification: RFC 3168, the receiver of DCTCP (RFC 8257 section 3.2), and
//! the counter of AccECN (RFC 9768) in the three bits of the header; its option is in `accecn.rs`.
//!
//! The IP header's codepoint is passed beside the segment ([`Segment::ecn`]). The rest of the
//! endpoint has one line at each place where ECN has an effect: the SYN, data that arrives, an ACK,
//! a reduction, a segment that leaves.

use lasthop_units::{Ecn, Instant};

use super::accecn::{Accurate, start_of};
use super::meters::Counters;
use super::negotiated::Negotiated;
use crate::cc::EcnEcho;
use crate::config::{AccEcnOption, Config, EcnMode};
use crate::recovery::CaState;
use crate::rto::Rto;
use crate::segment::{AccEcn, Flags, Segment, SpareOptions};

/// The agreement of both ends.
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
    /// Our SYN requested ECN.
    pub asked: bool,
    /// The state of accurate feedback beside the header's three bits.
    pub accurate: Option<Box<Accurate>>,
    /// The codepoint of the peer's SYN or SYN-ACK, to be fed back in AccECN's handshake.
    syn_codepoint: Ecn,

    // Receiver.
    /// ECE on every ACK: until CWR arrives (RFC 3168 section 6.1.3), or DCTCP.CE (RFC 8257 section
    /// 3.2).
    pub echo: bool,
    /// r.cep: packets that arrived with CE, from 5 (RFC 9768 section 3.2.1).
    r_cep: u64,
    /// CE packets that no ACK has reported.
    untold: u32,
    /// An ACK of the data that had arrived before DCTCP.CE changed, with the old value: RCV.NXT and
    /// ECE.
    pub old_ack: Option<(u64, bool)>,
    /// The ACK that ends an AccECN handshake is still to leave.
    handshake_ack: bool,

    // Sender.
    /// The next new data carries CWR.
    cwr_due: bool,
    /// The window was reduced; not again before SND.UNA is beyond this (flavours without RACK).
    pub reduced_until: Option<u64>,
    /// s.cep: the known value of the peer's counter.
    pub s_cep: u64,
    /// The ACK being processed reports congestion; with AccECN this is known only when its
    /// delivered octets are.
    ece: bool,
    pub ace: u8,
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

/// What a segment's marks require of the ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    Nothing,
    /// It leaves at once.
    AtOnce,
    /// It leaves at once, and the next ones too (tcp_enter_quickack_mode).
    Hurry,
}

impl EcnState {
    /// Both ends use ECN: data is sent ECN-capable.
    #[inline]
    pub const fn is_used(&self) -> bool {
        !matches!(self.agreed, Agreed::Nothing)
    }

    /// Feedback is accurate (RFC 9768).
    #[inline]
    pub const fn is_accurate(&self) -> bool {
        matches!(self.agreed, Agreed::Accurate)
    }

    // The handshake.

    /// The flags of our SYN or SYN-ACK, which leaves for the `transmissions`th time.
    pub fn on_syn(&mut self, config: &Config, segment: &mut Segment, answers: bool, transmissions: u32) {
        if answers {
            match self.agreed {
                // RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE and not CWR.
                Agreed::Classic => segment.flags |= Flags::ECE,
                // RFC 9768 section 3.2.3.2.2: the second repetition of a SYN-ACK has neither option
                // nor flags.
                Agreed::Accurate if !self.asked && transmissions > 2 => self.clear_ect(),
                Agreed::Accurate => {
                    set_ace(segment, handshake_ace(self.syn_codepoint));
                    self.option_on_syn_ack(config, segment, transmissions);
                }
                Agreed::Nothing => {}
            }
            return;
        }
        let accurate = config.ecn.mode == EcnMode::Accurate;
        self.asked = config.ecn.mode.requests();
        // RFC 3168 section 6.1.1.1: a SYN that is sent again requests no ECN: a middlebox
        // may drop segments with the flags. RFC 9768 section 3.1.4.1 requests accurate feedback
        // once more.
        if transmissions > config.host.ecn_syns + u32::from(accurate) {
            return;
        }
        if accurate {
            // RFC 9768 section 3.1.1: AE, CWR and ECE.
            set_ace(segment, 0b111);
        } else if self.asked {
            segment.flags |= Flags::ECE | Flags::CWR;
        }
    }

    /// Processes the peer's SYN or SYN-ACK; the argument is the number of transmissions of ours.
    pub fn take_peer(&mut self, mode: EcnMode, seg: &Segment, transmissions: u32) {
        let ace = ace_of(seg);
        self.syn_codepoint = seg.ecn;
        // The second SYN of a simultaneous open does not change what the first agreed on (RFC 9768
        // section 3.1.5).
        if self.agreed == Agreed::Accurate {
            return;
        }
        self.agreed = if seg.flags.has(Flags::ACK) {
            answered(mode, ace, transmissions)
        } else {
            match (mode, ace) {
                (EcnMode::Off, _) | (_, 0) => Agreed::Nothing,
                // RFC 3168 section 6.1.1: ECE and CWR. A peer without AE reads it as a
                // reserved bit.
                (_, 0b011) => Agreed::Classic,
                // RFC 9768 section 3.1.3: any other combination requests accurate feedback.
                (m, _) if m.accepts_accurate() => Agreed::Accurate,
                (_, 0b111) => Agreed::Classic,
                _ => Agreed::Nothing,
            }
        };
        if self.agreed == Agreed::Accurate {
            let answer = seg.flags.has(Flags::ACK);
            self.s_cep = CEP_AT_START;
            self.r_cep = CEP_AT_START + u64::from(seg.ecn == Ecn::Ce && answer);
            self.handshake_ack = answer;
            self.accurate = Some(Box::new(Accurate::start(seg)));
        }
    }

    /// A SYN arrives again before the end of the handshake. Its codepoint is returned, and if it
    /// lacks the flags, no further ECN-capable packets are sent (RFC 9768 section 3.1.5).
    pub fn on_repeated_syn(&mut self, seg: &Segment) {
        if self.agreed == Agreed::Accurate {
            self.syn_codepoint = seg.ecn;
            if !self.asked && ace_of(seg) == 0 {
                self.clear_ect();
            }
        }
    }

    /// A SYN-ACK arrives again: the ACK that answers it returns its codepoint (RFC 9768 section
    /// 3.1.5).
    pub fn on_repeated_syn_ack(&mut self, seg: &Segment) {
        if self.agreed == Agreed::Accurate {
            self.syn_codepoint = seg.ecn;
            self.handshake_ack = true;
        }
    }

    /// The ACK that ends the handshake: with AccECN it repeats the codepoint that our SYN-ACK
    /// arrived with.
    pub fn on_handshake_ack(&mut self, config: &Config, counters: &mut Counters, seg: &Segment) {
        if self.agreed != Agreed::Accurate {
            return;
        }
        if let (Some(a), Some(option)) = (self.accurate.as_deref_mut(), &seg.rare.accecn) {
            a.look_at_first(option);
        }
        let ace = ace_of(seg);
        if !seg.flags.has(Flags::SYN) {
            // Section 3.2.2.1: only a segment without data returns the codepoint of our SYN-ACK.
            if let Some(a) = self.accurate.as_deref_mut() {
                a.look_at_first_ace(config, ace, seg.len == 0);
            }
        }
        let altered = self.accurate.as_ref().is_some_and(|a| a.without_ect);
        let marked = seg.len == 0 && ace == handshake_ace(Ecn::Ce) && !altered;
        self.s_cep += u64::from(marked);
        counters.delivered_ce += u64::from(marked);
    }

    /// The option of a SYN-ACK (section 3.2.3.2.2: not on one that is sent again, of which the
    /// first may have been lost for it). With a simultaneous open Linux tries twice
    /// (tcp_syn_options).
    #[cold]
    fn option_on_syn_ack(&mut self, config: &Config, segment: &mut Segment, transmissions: u32) {
        let tries = if self.asked { 3 } else { 1 };
        if config.ecn.accecn_option != AccEcnOption::Off
            && transmissions <= tries
            && segment.accecn_fits(AccEcn::FIELDS, 0, 40)
        {
            segment.rare.change(|o| o.accecn = Some(AccEcn::order1(AccEcn::FIELDS, start_of)));
        }
    }

    /// A SYN without the flags reached a server, or a SYN-ACK without them left it: nothing may be
    /// ECN-capable (RFC 9768 section 3.1.5).
    #[cold]
    fn clear_ect(&mut self) {
        if let Some(a) = self.accurate.as_deref_mut() {
            a.without_ect = true;
        }
    }

    // The receiver.

    /// Octets that begin at `start` arrived again.
    pub fn repeated(&mut self, start: u64) {
        if let Some(a) = self.accurate.as_deref_mut() {
            a.repeated(start);
        }
    }

    /// A segment of a synchronized connection arrived, with any contents: with AccECN every packet
    /// counts (RFC 9768 section 3.2.2.5.1).
    #[inline]
    pub fn count(&mut self, config: &Config, counters: &mut Counters, seg: &Segment) -> Prompt {
        if self.agreed == Agreed::Accurate {
            self.count_accurate(config, counters, seg)
        } else {
            Prompt::Nothing
        }
    }

    #[cold]
    fn count_accurate(&mut self, config: &Config, counters: &mut Counters, seg: &Segment) -> Prompt {
        let mut at_once = self.accurate.as_deref_mut().is_some_and(|a| a.count_octets(config, seg));
        if seg.ecn == Ecn::Ce {
            counters.ce_received += 1;
            self.r_cep += 1;
            self.untold += 1;
            if seg.len > 0 {
                // An ACK at once when the first mark comes, then at least for every second.
                at_once |= self.untold >= 2 || !self.echo;
                self.echo = true;
            }
        } else if seg.len > 0 {
            self.echo = false;
        }
        if at_once { Prompt::AtOnce } else { Prompt::Nothing }
    }

    /// A segment was accepted; before its text is taken in. `nxt` is RCV.NXT, `holds_some`: data
    /// has arrived that no ACK has covered.
    #[inline]
    pub fn on_text(
        &mut self,
        config: &Config,
        counters: &mut Counters,
        seg: &Segment,
        nxt: u64,
        holds_some: bool,
    ) -> Prompt {
        if self.agreed != Agreed::Classic {
            return Prompt::Nothing;
        }
        let marked = seg.ecn == Ecn::Ce;
        counters.ce_received += u64::from(marked);
        if seg.len == 0 {
            return Prompt::Nothing;
        }
        if config.cc.needs().echo == EcnEcho::EachMark {
            self.echo_like_dctcp(marked, nxt, holds_some)
        } else {
            self.echo_until_cwr(seg, marked)
        }
    }

    /// RFC 3168 section 6.1.3: ECE from the first mark until CWR arrives.
    fn echo_until_cwr(&mut self, seg: &Segment, marked: bool) -> Prompt {
        let mut prompt = Prompt::Nothing;
        if seg.flags.has(Flags::CWR) {
            self.echo = false;
            // The sender's window may be one segment: do not keep it waiting (as Linux).
            prompt = Prompt::AtOnce;
        }
        if marked {
            // CE beside CWR is a new instance of congestion.
            if !self.echo {
                prompt = Prompt::Hurry;
            }
            self.echo = true;
        }
        prompt
    }

    /// RFC 8257 section 3.2: DCTCP.CE follows the packets; when it changes, what came before is
    /// acknowledged with the old value first, and the packet itself at once.
    fn echo_like_dctcp(&mut self, marked: bool, nxt: u64, holds_some: bool) -> Prompt {
        if marked == self.echo {
            return Prompt::Nothing;
        }
        if holds_some {
            self.old_ack = Some((nxt, self.echo));
        }
        self.echo = marked;
        Prompt::AtOnce
    }

    /// The flags of a segment of a synchronized connection.
    #[inline]
    pub fn on_header(&mut self, config: &Config, segment: &mut Segment) {
        match self.agreed {
            Agreed::Nothing => {}
            Agreed::Classic if self.echo => segment.flags |= Flags::ECE,
            Agreed::Classic => {}
            Agreed::Accurate => {
                let ace = if std::mem::take(&mut self.handshake_ack) {
                    handshake_ace(self.syn_codepoint)
                } else {
                    (self.r_cep % ACE_VALUES) as u8
                };
                self.untold = 0;
                set_ace(segment, ace);
                if config.host.ect_on_all {
                    segment.ecn = self.ect(config);
                }
            }
        }
    }

    /// The AccECN option of a segment whose data and other options are set; `mss` is that of data.
    #[inline(always)]
    pub fn on_options(
        &mut self,
        config: &Config,
        rto: &Rto,
        mss: u32,
        now: Instant,
        segment: &mut Segment,
        spare: &mut SpareOptions,
    ) {
        if self.is_accurate()
            && let Some(a) = self.accurate.as_deref_mut()
        {
            // By value: a call by reference would fix the segment's address, and the compiler could
            // no longer build it in its destination.
            *segment = a.with_option(config, rto, mss, now, std::mem::take(segment), spare);
        }
    }

    // The sender.

    /// The codepoint of what is sent ECN-capable.
    fn ect(&self, config: &Config) -> Ecn {
        match &self.accurate {
            Some(a) if a.without_ect => Ecn::NotEct,
            _ if config.ecn.l4s => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    /// New data leaves: ECN-capable, and with CWR after a reduction. Retransmissions, probes of a
    /// closed window and pure ACKs do not come here (RFC 3168 sections 6.1.4 to 6.1.6).
    #[inline]
    pub fn on_new_data(&mut self, config: &Config, segment: &mut Segment) {
        if self.agreed == Agreed::Nothing || segment.len == 0 {
            return;
        }
        segment.ecn = self.ect(config);
        if std::mem::take(&mut self.cwr_due) {
            segment.flags |= Flags::CWR;
        }
    }

    /// Evaluates the marks that an acceptable ACK reports. `newer`: it has a newer timestamp than
    /// the one before.
    #[inline]
    pub fn on_ack(&mut self, config: &Config, seg: &Segment, newer: bool) {
        self.ece = false;
        if self.agreed == Agreed::Nothing {
            return;
        }
        let classic = self.agreed == Agreed::Classic;
        self.ece = classic && seg.flags.has(Flags::ECE) && !seg.flags.has(Flags::SYN);
        self.ace = ace_of(seg);
        if !classic && let Some(a) = self.accurate.as_deref_mut() {
            a.look_at_first_ace(config, self.ace, false);
            a.hold_option(seg, newer);
        }
    }

    /// The number of marked octets among those that the ACK being processed delivered. Called once
    /// per ACK.
    #[inline]
    pub fn settle(&mut self, n: &Negotiated, counters: &mut Counters, state: CaState, delivered: u64) -> u64 {
        if self.agreed == Agreed::Nothing {
            return 0;
        }
        let packets = delivered.div_ceil(u64::from(n.mss));
        let marked = match self.agreed {
            Agreed::Nothing => 0,
            Agreed::Classic if self.ece => packets,
            Agreed::Classic => 0,
            Agreed::Accurate => {
                let field = (self.ace, self.s_cep);
                let moved = self
                    .accurate
                    .as_deref_mut()
                    .map_or(0, |a| a.count_marks(field, n, state, counters.octets_sent, delivered));
                self.s_cep += moved;
                self.ece = moved > 0;
                moved
            }
        };
        counters.delivered_ce += marked;
        (marked * u64::from(n.mss)).min(delivered)
    }

    /// True if the ACK that is being processed reports congestion; valid after
    /// [`settle`](Self::settle).
    #[inline]
    pub const fn signals_congestion(&self) -> bool {
        self.ece
    }

    /// A reduction has begun, for any reason: CWR informs the peer (RFC 3168 section 6.1.2).
    #[inline]
    pub const fn reduced(&mut self) {
        if matches!(self.agreed, Agreed::Classic) {
            self.cwr_due = true;
        }
    }

    /// True while the flavours without RACK report CWR: until a window has been acknowledged.
    #[inline]
    pub fn shows_cwr(&self, una: u64) -> bool {
        self.reduced_until.is_some_and(|until| una <= until)
    }
}

/// What a SYN-ACK agrees to.
fn answered(mode: EcnMode, ace: u8, transmissions: u32) -> Agreed {
    match (mode, ace) {
        _ if !mode.requests() => Agreed::Nothing,
        // RFC 9768 table 2, and section 3.1.3 for the reserved 0b101. An answer to a repeated SYN
        // counts as well (section 3.1.4.1).
        (EcnMode::Accurate, 0b010..=0b110) => Agreed::Accurate,
        _ if transmissions > 1 => Agreed::Nothing,
        // RFC 3168 section 6.1.1: ECE and not CWR, also as an answer to a SYN that requested more.
        (_, 0b001 | 0b101) => Agreed::Classic,
        // All three repeated: something reflects the flags.
        _ => Agreed::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768 table 3.
    #[test]
    fn the_handshake_reports_the_codepoint() {
        let of = |e| handshake_ace(e);
        assert_eq!([of(Ecn::NotEct), of(Ecn::Ect1), of(Ecn::Ect0), of(Ecn::Ce)], [2, 3, 4, 6]);
    }
}
