//! The eNB's side of random access: detected preambles, and the times of the responses.

use std::collections::VecDeque;

use lasthop_units::{Tti, UeId};
use smallvec::SmallVec;

use super::{Collision, RandomAccessConfig, WINDOW_START};

/// A random access response: the preamble that it answers, and the UEs that take it as theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The TTI of the preamble (it makes the RA-RNTI).
    pub to: Tti,
    /// RAPID.
    pub preamble: u8,
    /// The UEs that sent the preamble.
    pub ues: SmallVec<[UeId; 2]>,
}

/// Preambles that were detected and are not answered yet, in the order of their TTIs.
#[derive(Clone, Debug, Default)]
pub struct Responder {
    received: VecDeque<Response>,
    /// Preambles of the current TTI.
    now: Vec<(u8, UeId)>,
    /// The TTI of the last response, and the number of responses in it.
    sent: (Tti, u32),
}

impl Responder {
    /// Takes in a preamble that a UE sends in the current TTI.
    pub fn preamble(&mut self, ue: UeId, preamble: u8) {
        self.now.push((preamble, ue));
    }

    /// Closes the TTI: the preambles detected in it await their responses.
    pub fn close(&mut self, config: &RandomAccessConfig, tti: Tti) {
        self.now.sort_unstable();
        for same in self.now.chunk_by(|a, b| a.0 == b.0) {
            if same.len() > 1 && config.collision == Collision::Preamble {
                continue;
            }
            let ues = same.iter().map(|(_, ue)| *ue).collect();
            self.received.push_back(Response { to: tti, preamble: same[0].0, ues });
        }
        self.now.clear();
    }

    /// The next TTI, from `from` on, in which a response may be sent.
    pub fn poll_at(&self, from: Tti) -> Option<Tti> {
        self.received.front().map(|r| r.to.plus(WINDOW_START).max(from))
    }

    /// The next response of `tti`, up to `responses_per_tti`; preambles whose window has ended are
    /// discarded.
    pub fn respond(&mut self, config: &RandomAccessConfig, tti: Tti) -> Option<Response> {
        let window = config.response_window.as_millis();
        while self.received.front().is_some_and(|r| r.to.plus(WINDOW_START + window) <= tti) {
            self.received.pop_front();
        }
        if self.received.front()?.to.plus(WINDOW_START) > tti {
            return None;
        }
        let before = if self.sent.0 == tti { self.sent.1 } else { 0 };
        if before >= config.responses_per_tti {
            return None;
        }
        self.sent = (tti, before + 1);
        self.received.pop_front()
    }
}
