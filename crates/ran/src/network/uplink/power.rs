//! How loud UEs are, and what the eNB measures of them.

use lasthop_engine::math::db;
use lasthop_radio::lte::{Modulation, mean_mi, sinr_db_of_mi};
use lasthop_units::{CellId, Db, Dbm, Tti, UeId};

use super::super::RadioNetwork;
use super::state::{Granted, UeUplink};
use crate::mac::lte::phr;

/// P_CMAX of power class 3 (TS 36.101 clause 6.2.2).
const P_CMAX: Dbm = Dbm(23.0);

impl UeUplink {
    /// The SINR [dB] to expect on `blocks` resource blocks, given `level` on few: beyond the UE's headroom its power is
    /// spread ever thinner.
    pub fn level_on(&self, level: f32, blocks: u32) -> f32 {
        let Some(headroom) = self.headroom else { return level };
        level - (db(f64::from(blocks.max(1))) - headroom.0).max(0.0) as f32
    }
}

impl RadioNetwork {
    /// What `ue` sends with on `blocks` resource blocks.
    pub(in crate::network) fn uplink_power(&mut self, _tti: Tti, _ue: UeId, _blocks: u32) -> Dbm {
        P_CMAX
    }

    /// The downlink's path loss, as the UE knows it from reference signals.
    pub(in crate::network) fn path_loss(&mut self, tti: Tti, ue: UeId) -> Option<Db> {
        let gain = self.air.gains(tti, self.ues[ue].serving, ue).downlink;
        (gain > 0.0).then(|| Db(-db(f64::from(gain))))
    }

    /// The level of a power headroom report that goes with `granted`.
    pub(in crate::network) fn headroom_level(&mut self, tti: Tti, ue: UeId, granted: &Granted) -> u8 {
        let power = self.uplink_power(tti, ue, granted.rbs.len());
        phr::level(P_CMAX - power)
    }

    /// A UE puts its block on the air.
    pub(in crate::network) fn ue_transmits(&mut self, tti: Tti, _cell: CellId, granted: &Granted) {
        let power = self.uplink_power(tti, granted.ue, granted.rbs.len());
        self.air.ue_transmits(tti, granted.ue, granted.rbs, power);
    }

    /// The eNB measures the channel of `ue` if what it knows is old.
    pub(in crate::network) fn sound(&mut self, tti: Tti, cell: CellId, ue: UeId) {
        let period = self.cells[cell].uplink.config.srs_period.as_millis();
        if !self.ues[ue].uplink.quality.is_stale(tti, period) {
            return;
        }
        let band = self.cells[cell].uplink.band;
        let power = self.uplink_power(tti, ue, band.len());
        let sinr = self.air.sounding(tti, cell, ue, band, power);
        let level = sinr_db_of_mi(Modulation::Qam64, mean_mi(Modulation::Qam64, sinr));
        self.ues[ue].uplink.quality.learn(tti, level as f32);
    }
}
