//! HARQ processes: stop-and-wait, eight to a UE and direction (TS 36.321 clauses 5.3.2, 5.4.2;
//! FDD). The sender has a [`Process`] and the receiver a [`Reception`] for each.

use lasthop_radio::lte::{ErrorModel, SoftBuffer};
use lasthop_units::{BearerId, Tti};

use crate::phy::RbSet;
use lasthop_lte_l2::rlc::Pdu;

/// Processes of a UE in one direction (FDD, TS 36.213 clauses 7 and 8).
pub const PROCESSES: usize = 8;

/// From a transmission to the next one of the same process where HARQ is synchronous [TTI]: in the
/// uplink and on sidelinks (TS 36.213 clause 8).
pub const HARQ_PERIOD: u64 = PROCESSES as u64;

/// The process of a transmission in `tti` where HARQ is synchronous.
pub const fn process_of(tti: Tti) -> usize {
    (tti.0 % HARQ_PERIOD) as usize
}

/// What a transport block carries: RLC PDUs with the bearer of each, in the order of its MAC
/// subheaders.
pub type Parts = Vec<(BearerId, Pdu)>;

/// State of a transport block at its sender.
#[derive(Debug, Default)]
pub struct Process {
    /// State of the process.
    pub state: State,
    /// What the transport block carries.
    pub parts: Parts,
    /// Size of the transport block [B].
    pub bytes: u32,
    /// I_MCS of the first transmission.
    pub mcs: u8,
    /// Resource blocks of the last transmission.
    pub rbs: RbSet,
    /// Transmissions so far.
    pub transmissions: u8,
    /// TTI of the last transmission.
    pub sent: Tti,
}

/// State of a transport block at its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reception {
    /// The transport block in the error model.
    pub block: Option<ErrorModel>,
    /// The soft buffer over all transmissions.
    pub soft: SoftBuffer,
    /// The block's one draw, uniform on [0, 1): a decoding fails if its error probability is above
    /// it. All transmissions use this draw, so that a block that failed with more information has
    /// failed with less.
    pub uniform: f64,
    /// TTI of the last transmission.
    pub sent: Tti,
    /// The block is decoded with the last transmission.
    pub decoded: bool,
    /// The last transmission was not received: in the downlink because the UE missed its
    /// assignment, and sends no feedback; in the uplink because the UE did not transmit.
    pub missed: bool,
}

/// HARQ feedback (TS 36.213 clause 10.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// The block is decoded.
    Ack,
    /// The block is not decoded.
    Nack,
    /// The receiver has detected no transmission: DTX.
    Nothing,
}

/// The receptions of a UE's processes in one direction.
pub type Receptions = [Reception; PROCESSES];

impl Reception {
    /// For a new block, which is sent in `tti`.
    pub fn new(tti: Tti, block: Option<ErrorModel>, soft: SoftBuffer, uniform: f64) -> Reception {
        Reception { block, soft, uniform, sent: tti, decoded: false, missed: false }
    }

    /// The feedback to the sender on the last transmission.
    pub const fn feedback(&self) -> Feedback {
        match (self.decoded, self.missed) {
            (true, _) => Feedback::Ack,
            (false, false) => Feedback::Nack,
            (false, true) => Feedback::Nothing,
        }
    }
}

/// State of a HARQ process at its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Free.
    #[default]
    Idle,
    /// Sent, feedback is awaited.
    Awaiting,
    /// Not decoded: a retransmission may be sent.
    Failed,
}

impl Process {
    /// Frees the process, and passes each part of its block to `each`.
    pub fn free(&mut self, each: impl FnMut((BearerId, Pdu))) {
        // Usually a block's parts have been taken.
        if !self.parts.is_empty() {
            self.parts.drain(..).for_each(each);
        }
        self.state = State::Idle;
        self.transmissions = 0;
    }
}

/// The processes of a UE in one direction.
#[derive(Debug, Default)]
pub struct Processes([Process; PROCESSES]);

impl Processes {
    /// A free process.
    #[inline]
    pub fn idle(&self) -> Option<usize> {
        self.0.iter().position(|p| p.state == State::Idle)
    }
    /// The process whose retransmission has waited longest.
    #[inline]
    pub fn failed(&self) -> Option<usize> {
        let failed = self.0.iter().enumerate().filter(|(_, p)| p.state == State::Failed);
        failed.min_by_key(|(i, p)| (p.sent, *i)).map(|(i, _)| i)
    }
    /// Process `i`.
    #[inline]
    pub const fn get(&self, i: usize) -> &Process {
        &self.0[i]
    }
    /// Process `i`.
    #[inline]
    pub const fn get_mut(&mut self, i: usize) -> &mut Process {
        &mut self.0[i]
    }
    /// The processes, in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Process> {
        self.0.iter_mut()
    }
    /// True while any process is in use.
    pub fn busy(&self) -> bool {
        self.0.iter().any(|p| p.state != State::Idle)
    }
}
