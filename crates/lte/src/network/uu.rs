//! Uu, the radio interface between UEs and the network (TS 36.300 clause 4), as a cell sees it: it
//! can say something to UEs and measure what they send.
//!
//! Four functions return more than a UE sends:
//! [`is_in_random_access`](Uu::is_in_random_access), [`respond`](Uu::respond),
//! [`complete`](Uu::complete), and [`sounding`](Uu::sounding), which adds the UE's present powers.
//! DESIGN.md has them in its list of what an eNB knows without being told.
//! [`misses_control`](Uu::misses_control) and [`receives_grants`](Uu::receives_grants) say what the
//! channel does, not what the UE knows.

use lasthop_units::{CellId, Dbm, IndexVec, Tti, UeId};

use super::state::uplink::{Block, CellUplink};
use super::state::{Cell, Ue};
use crate::mac::harq::Parts;
use crate::mac::random_access::Response;
use crate::mac::uplink::RequestConfig;
use crate::phy::air::Air;

/// 25 dB. Rayleigh fading of all blocks alike, the worst there is, lowers that to -1 dB, where the
/// first grants are missed, with probability 1 - exp(-10^-2.6) = 0.25 %.
const GRANT_SAFE: f64 = 316.0;

/// UEs behind the air.
pub(super) struct Uu<'a> {
    ues: &'a mut IndexVec<UeId, Ue>,
    pub air: &'a mut Air,
}

/// A sounding signal over the band, as its cell measures it.
pub(super) struct Sounding<'a> {
    /// Linear, by resource block.
    pub sinr: &'a [f32],
    /// What it was sent with, and what a block of PUSCH would have been.
    pub srs: Dbm,
    pub one: Dbm,
}

impl<'a> Uu<'a> {
    /// `ues` behind `air`.
    #[inline]
    pub const fn new(ues: &'a mut IndexVec<UeId, Ue>, air: &'a mut Air) -> Uu<'a> {
        Uu { ues, air }
    }

    /// True if `ue` misses what the control channels of `cell`, which is `id`, say in `tti`.
    #[inline]
    pub fn misses_control(&mut self, tti: Tti, id: CellId, ue: UeId, cell: &Cell) -> bool {
        self.ues[ue].downlink.control.misses(tti, id, &cell.control, self.air.at(ue))
    }

    /// True if `cell`, which is `id`, is alone and `ue` so near to it that it receives every grant:
    /// fades of the whole carrier that deep are not worth a look at the channel for each grant.
    #[inline]
    pub fn receives_grants(&mut self, tti: Tti, id: CellId, ue: UeId, cell: &Cell) -> bool {
        if self.air.cells() > 1 {
            return false;
        }
        let gain = f64::from(self.air.gains(tti, id, ue).downlink);
        cell.reference_power_mw * gain > GRANT_SAFE * self.ues[ue].uplink.noise_mw
    }

    /// `ue` receives a grant for `target` in `tti`; it answers a request, or does not.
    #[inline]
    pub fn grant(&mut self, tti: Tti, ue: UeId, target: Tti, answers: bool) {
        self.ues[ue].uplink.on_grant(tti, target, answers);
    }

    /// `ue` receives no ACK for the block of `process`, or a grant for its retransmission later: it
    /// keeps the block.
    pub fn keep_block(&mut self, ue: UeId, process: usize) {
        self.ues[ue].uplink.keep(process);
    }

    /// A transmission of `process` was due and `ue`, which knew of none, has not sent: it counts
    /// it.
    pub fn skip_transmission(&mut self, ue: UeId, process: usize) {
        self.ues[ue].uplink.harq.get_mut(process).transmissions += 1;
    }

    /// The block of `process` of `ue` is decoded, and `ue` receives ACK and flushes its buffer:
    /// what the block carries.
    pub fn take_block(&mut self, ue: UeId, process: usize) -> (Parts, Block) {
        self.ues[ue].uplink.flush(process)
    }

    /// `ue` has a semi-persistent grant for `target`, as both know.
    pub fn occasion(&mut self, ue: UeId, target: Tti) {
        let u = &mut self.ues[ue].uplink;
        u.granted_until = u.granted_until.max(Some(target));
    }

    /// `ue` has a sidelink grant for `tti`, under the uplink's way to ask of `request`.
    pub fn sidelink_grant(&mut self, ue: UeId, request: &RequestConfig, tti: Tti) {
        self.ues[ue].uplink.pause_rac(request, tti);
    }

    /// True while random access of `ue` goes on, which an eNB would not know before Msg3 says whose
    /// preamble it was. The rule that no retransmission of such a UE is moved needs it: a rule by
    /// the blocks of Msg3 alone would move them, and results would differ.
    pub fn is_in_random_access(&self, ue: UeId) -> bool {
        self.ues[ue].uplink.access.is_running()
    }

    /// `ue` receives a random access response, with a backoff [TTI] and a grant for `msg3`; true if
    /// it takes it for its own.
    pub fn respond(&mut self, ue: UeId, answer: &Response, backoff: u64, msg3: Tti) -> bool {
        let access = &mut self.ues[ue].uplink.access;
        access.on_backoff(answer.to, backoff);
        access.on_response(answer.to, answer.preamble, msg3)
    }

    /// The same of a response in `tti` that completes a handover; random access is over then.
    pub fn complete(&mut self, ue: UeId, answer: &Response, tti: Tti) -> bool {
        let access = &mut self.ues[ue].uplink.access;
        let mine = access.on_response(answer.to, answer.preamble, tti);
        if mine {
            access.stop();
        }
        mine
    }

    /// `ue` sounds the band of `cell`, which is `id`.
    pub fn sounding(&mut self, tti: Tti, id: CellId, ue: UeId, cell: &CellUplink) -> Sounding<'_> {
        let power = &mut self.ues[ue].uplink.power;
        let loss = power.path_loss(self.air.gains(tti, id, ue).downlink);
        let (config, band) = (&cell.config.power_control, cell.band);
        let (srs, one) = (power.srs(config, band.len(), loss), power.pusch(config, 1, loss));
        Sounding { sinr: self.air.sounding(tti, id, ue, band, srs), srs, one }
    }
}
