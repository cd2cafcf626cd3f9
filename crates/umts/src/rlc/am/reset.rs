//! The reset procedure (TS 25.322 clause 11.4).

use lasthop_units::Instant;

use super::AmConfig;
use crate::rlc::pdu::ResetPdu;

/// Both roles of the procedure: the initiator and the responder.
#[derive(Clone, Debug, Default)]
pub(super) struct Resetter {
    /// The procedure that this end has started.
    asking: Option<Asking>,
    /// RSN of the next procedure that this end starts.
    next_rsn: bool,
    /// RSN of the last RESET of the peer that was carried out.
    answered: Option<bool>,
    /// An answer is to be sent.
    answer_due: bool,
}

#[derive(Clone, Debug)]
struct Asking {
    rsn: bool,
    hfni: u32,
    /// VT(RST): how often RESET was sent.
    vt_rst: u32,
    /// Expiry of Timer_RST; `None` while a RESET waits to be sent.
    timer: Option<Instant>,
}

/// The meaning of a RESET from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A new procedure: this end must be reset.
    New,
    /// A repetition of a procedure that was carried out.
    Again,
}

impl Resetter {
    /// True while this end waits for RESET ACK: it neither sends nor accepts other PDUs (clause
    /// 11.4.2).
    pub fn is_pending(&self) -> bool {
        self.asking.is_some()
    }
    pub fn has_pdu(&self) -> bool {
        self.answer_due || self.asking.as_ref().is_some_and(|a| a.timer.is_none())
    }

    /// Starts the procedure, unless it runs.
    pub fn start(&mut self, hfni: u32) -> bool {
        if self.asking.is_some() {
            return false;
        }
        self.asking = Some(Asking { rsn: self.next_rsn, hfni, vt_rst: 0, timer: None });
        self.next_rsn = !self.next_rsn;
        true
    }

    /// Returns the RESET to send now; starts Timer_RST.
    pub fn request(&mut self, now: Instant, cfg: &AmConfig) -> Option<ResetPdu> {
        let asking = self.asking.as_mut().filter(|a| a.timer.is_none())?;
        asking.vt_rst += 1;
        asking.timer = Some(now + cfg.timer_rst);
        Some(ResetPdu { rsn: asking.rsn, hfni: asking.hfni })
    }

    /// Returns the RESET ACK to send now. `hfn` is the one in use since the reset; the peer adds
    /// one to the received value.
    pub fn answer(&mut self, hfn: u64) -> Option<ResetPdu> {
        let rsn = self.answered.filter(|_| self.answer_due)?;
        self.answer_due = false;
        Some(ResetPdu { rsn, hfni: hfn.saturating_sub(1) as u32 })
    }

    /// The HFN with which this end's sender starts after a reset: one more than the HFN that it has
    /// sent to the peer, or that it uses. Crossing procedures agree on it.
    pub fn next_hfn(&self, hfn: u64) -> u64 {
        self.asking.as_ref().map_or(hfn, |a| u64::from(a.hfni)) + 1
    }

    /// Processes a RESET. Clause 11.4.3: one with the RSN of the last is a repetition and is only
    /// answered again.
    pub fn on_request(&mut self, pdu: &ResetPdu) -> Asked {
        self.answer_due = true;
        match self.answered.replace(pdu.rsn) {
            Some(rsn) if rsn == pdu.rsn => Asked::Again,
            _ => Asked::New,
        }
    }

    /// True when this RESET ACK completes the procedure that this end has started.
    pub fn is_answer(&self, pdu: &ResetPdu) -> bool {
        self.asking.as_ref().is_some_and(|a| a.rsn == pdu.rsn)
    }
    /// Ends the procedure.
    pub fn done(&mut self) {
        self.asking = None;
    }

    /// Processes Timer_RST, whose expiry repeats RESET. True when MaxRST are unanswered.
    pub fn on_time(&mut self, now: Instant, cfg: &AmConfig) -> bool {
        let Some(asking) = self.asking.as_mut().filter(|a| a.timer.is_some_and(|t| t <= now)) else {
            return false;
        };
        asking.timer = None;
        asking.vt_rst >= cfg.max_rst
    }

    pub fn poll_at(&self) -> Option<Instant> {
        self.asking.as_ref().and_then(|a| a.timer)
    }
}
