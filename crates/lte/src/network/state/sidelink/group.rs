//! Multicast: one transmission of a UE that several others receive (one-to-many, TS 36.300 clause
//! 23.10).
//!
//! A group has one destination, so its requests, reports, grants and blocks are those of one link
//! for any number of receivers. Each receiver has a bearer of its own
//! ([`LteBearer::push_copy`](lasthop_lte_l2::pdcp::LteBearer::push_copy)) with its RLC and PDCP,
//! its draw for each block and its soft buffer. There is no feedback (TS 36.321 clause 5.14.2.2 has
//! none on SL-SCH): each block has `transmissions` transmissions, and a receiver passes it on when
//! it can decode what it has received so far.

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{BearerId, Id, Tti, UeId};

use crate::mac::harq::{PROCESSES, process_of};
use crate::network::config::GroupConfig;
use lasthop_radio::lte::SoftBuffer;

/// The receivers of a group, and the CQI from which the eNB derives the MCS.
#[derive(Debug)]
pub struct Group {
    pub members: Vec<Member>,
    /// None: the CQI of the worst link.
    pub cqi: Option<u8>,
}

/// A receiver of a group.
#[derive(Debug)]
pub struct Member {
    pub ue: UeId,
    /// The receiver's bearer, of which it has the end [`End::Ue`](lasthop_bearer::End::Ue).
    pub bearer: BearerId,
}

/// State of a receiver of a group.
#[derive(Debug)]
pub struct MemberReceiver {
    /// One draw per transport block.
    errors: Draw,
    /// By process of the sender: reception of the block.
    pub received: [Received; PROCESSES],
    /// Blocks that were not decoded in any transmission.
    pub lost: u64,
}

/// Reception of a transport block at a receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    pub soft: SoftBuffer,
    pub uniform: f64,
    pub decoded: bool,
    /// The block was passed to RLC.
    pub taken: bool,
}

impl Group {
    /// A group; `first`: the bearer of the first receiver, which the others' follow.
    pub fn new(config: &GroupConfig, first: usize) -> Group {
        let member = |(k, ue): (usize, &UeId)| Member { ue: *ue, bearer: BearerId::from_index(first + k) };
        Group { members: config.to.iter().enumerate().map(member).collect(), cqi: config.cqi }
    }
}

impl MemberReceiver {
    /// The state of `members` receivers. `entity`: that of the draws, whose low 24 bits are free.
    pub fn of(members: usize, entity: u64, seed: u64) -> Vec<MemberReceiver> {
        let member = |k: usize| MemberReceiver {
            errors: Draw::new(seed, Purpose::BlockError, GROUP | entity | k as u64),
            received: [Received::default(); PROCESSES],
            lost: 0,
        };
        (0..members).map(member).collect()
    }

    /// Begins the reception of a new block that is sent in `tti`.
    pub fn begin_block(&mut self, tti: Tti, soft: SoftBuffer) {
        let uniform = self.errors.uniform(tti.0);
        self.received[process_of(tti)] = Received { soft, uniform, decoded: false, taken: false };
    }
}

/// Distinguishes the draws of a group's receivers from those of destinations.
const GROUP: u64 = 1 << 60;
