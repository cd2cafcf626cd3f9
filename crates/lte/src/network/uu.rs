//! Uu, the radio interface between UEs and the network (TS 36.300 clause 4), at a cell: it can send
//! to UEs and measure their transmissions.
//!
//! Five functions return more than a UE sends: [`is_in_random_access`](Uu::is_in_random_access),
//! [`respond`](Uu::respond), [`has_dedicated_preamble`](Uu::has_dedicated_preamble),
//! [`complete`](Uu::complete), and [`sounding`](Uu::sounding), which adds the UE's present powers.
//! DESIGN.md lists them where an eNB uses more than its UEs report.
//! [`misses_control`](Uu::misses_control) and [`receives_grants`](Uu::receives_grants) return
//! results of the channel, not the UE's state.

use lasthop_units::{CellId, Dbm, Tti, UeId};

use super::reach::{Radio, Reach, Whole};
use super::state::Cell;
use super::state::uplink::{Block, CellUplink};
use crate::mac::harq::Parts;
use crate::mac::random_access::Response;
use crate::mac::uplink::RequestConfig;

/// 25 dB. Rayleigh fading, equal on all blocks in the worst case, lowers that to -1 dB, where the
/// first grants are missed, with probability 1 - exp(-10^-2.6) = 0.25 %.
const GRANT_SAFE: f64 = 316.0;

/// The UEs and the radio channel to them.
pub(super) struct Uu<'a, R: Reach = Whole> {
    ues: &'a mut R::Ues,
    pub air: &'a mut R::Air,
}

/// A cell's measurement of a sounding signal over the band.
pub(super) struct Sounding<'a> {
    /// Linear SINR by resource block.
    pub sinr: &'a [f32],
    /// Power of the signal, and of a block of PUSCH in its place.
    pub srs: Dbm,
    pub one: Dbm,
}

impl<'a, R: Reach> Uu<'a, R> {
    /// The interface to `ues` over `air`.
    #[inline]
    pub const fn new(ues: &'a mut R::Ues, air: &'a mut R::Air) -> Uu<'a, R> {
        Uu { ues, air }
    }

    /// True if `ue` misses the control channels of `cell`, which is `id`, in `tti`.
    #[inline]
    pub fn misses_control(&mut self, tti: Tti, id: CellId, ue: UeId, cell: &Cell) -> bool {
        self.ues[ue].downlink.control.misses(tti, id, &cell.control, self.air.at(ue))
    }

    /// True if `cell`, which is `id`, is the only one and so near to `ue` that it receives every
    /// grant: fades of the whole carrier that are deep enough are too rare to be computed for each
    /// grant.
    #[inline]
    pub fn receives_grants(&mut self, tti: Tti, id: CellId, ue: UeId, cell: &Cell) -> bool {
        if self.air.cells() > 1 {
            return false;
        }
        let gain = f64::from(self.air.at(ue).downlink_gain(tti, id));
        cell.reference_power_mw * gain > GRANT_SAFE * self.ues[ue].uplink.noise_mw
    }

    /// Gives a grant for `target` to `ue` in `tti`; `answers`: it answers a request.
    #[inline]
    pub fn grant(&mut self, tti: Tti, ue: UeId, target: Tti, answers: bool) {
        self.ues[ue].uplink.on_grant(tti, target, answers);
    }

    /// Keeps the block of `process`: `ue` receives no ACK for it, or a grant for a later
    /// retransmission.
    pub fn keep_block(&mut self, ue: UeId, process: usize) {
        self.ues[ue].uplink.keep(process);
    }

    /// Counts a transmission of `process` that was due and that `ue` has not made, because it had
    /// missed the grant.
    pub fn skip_transmission(&mut self, ue: UeId, process: usize) {
        self.ues[ue].uplink.harq.get_mut(process).transmissions += 1;
    }

    /// Flushes the block of `process` at `ue`, which receives ACK: returns the decoded contents.
    pub fn take_block(&mut self, ue: UeId, process: usize) -> (Parts, Block) {
        self.ues[ue].uplink.flush(process)
    }

    /// Records a semi-persistent grant of `ue` for `target`.
    pub fn occasion(&mut self, ue: UeId, target: Tti) {
        let u = &mut self.ues[ue].uplink;
        u.granted_until = u.granted_until.max(Some(target));
    }

    /// Gives a sidelink grant for `tti` to `ue`, whose uplink requests grants by `request`.
    pub fn sidelink_grant(&mut self, ue: UeId, request: &RequestConfig, tti: Tti) {
        self.ues[ue].uplink.pause_rac(request, tti);
    }

    /// True while random access of `ue` is in progress, which an eNB cannot determine before Msg3
    /// identifies the UE. The rule that no retransmission of such a UE is moved needs it: a rule by
    /// the blocks of Msg3 alone would move them, and results would differ.
    pub fn is_in_random_access(&self, ue: UeId) -> bool {
        self.ues[ue].uplink.access.is_running()
    }

    /// Gives a random access response to `ue`, with a backoff [TTI] and a grant for `msg3`; true if
    /// it is for this UE.
    pub fn respond(&mut self, ue: UeId, answer: &Response, backoff: u64, msg3: Tti) -> bool {
        let access = &mut self.ues[ue].uplink.access;
        access.on_backoff(answer.to, backoff);
        access.on_response(answer.to, answer.preamble, msg3)
    }

    /// True if `ue` accesses its cell with a dedicated preamble. RRC of the UE needs it, not the
    /// eNB: random access is then complete with the response.
    pub fn has_dedicated_preamble(&self, ue: UeId) -> bool {
        self.ues[ue].uplink.access.has_dedicated_preamble()
    }

    /// As [`respond`](Self::respond), for a response in `tti` that completes a handover and ends
    /// random access.
    pub fn complete(&mut self, ue: UeId, answer: &Response, tti: Tti) -> bool {
        let access = &mut self.ues[ue].uplink.access;
        let mine = access.on_response(answer.to, answer.preamble, tti);
        if mine {
            access.stop();
        }
        mine
    }

    /// Measures a sounding signal of `ue` over the band of `cell`, which is `id`.
    pub fn sounding(&mut self, tti: Tti, id: CellId, ue: UeId, cell: &CellUplink) -> Sounding<'_> {
        let power = &mut self.ues[ue].uplink.power;
        let loss = power.path_loss(self.air.at(ue).downlink_gain(tti, id));
        let (config, band) = (&cell.config.power_control, cell.band);
        let (srs, one) = (power.srs(config, band.len(), loss), power.pusch(config, 1, loss));
        Sounding { sinr: self.air.at(ue).sounding(tti, id, band, srs), srs, one }
    }
}
