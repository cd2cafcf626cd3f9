//! What a UE or its eNB knows of the downlink, for capacity hints. Looking changes nothing.

use lasthop_radio::lte::{Cqi, tbs_bits};
use lasthop_units::{BearerId, Bitrate, CellId, Instant, Tti, UeId};

use super::RadioNetwork;
use super::state::Cell;
use crate::mac::adaptation::Quality;
use crate::phy::TTI;
use crate::phy::air::layers_of;
use lasthop_bearer::{Direction, End};

impl RadioNetwork {
    /// What the whole carrier would carry for `ue` at the wideband CQI that it measures now:
    /// TBS(CQI, N_RB) per TTI on every layer (TS 36.213 table 7.1.7.2.1-1).
    pub fn measured_rate(&mut self, now: Instant, ue: UeId) -> Bitrate {
        let cell = self.links[ue].serving;
        let report = self.observer(cell, ue).report(Tti::containing(now, TTI));
        let first = match report.second {
            None => report.scheme.layers().into(),
            Some(_) => layers_of(report.scheme.layers(), 0).1,
        };
        let second = report.second.map_or(Bitrate(0), |second| {
            self.carrier_rate(cell, second.wideband, layers_of(report.scheme.layers(), 1).1)
        });
        Bitrate(self.carrier_rate(cell, report.wideband, first).0 + second.0)
    }

    /// The same at the newest report that the eNB has, corrected by its outer loop.
    pub fn known_rate(&mut self, now: Instant, ue: UeId) -> Bitrate {
        let cell = self.links[ue].serving;
        self.learn_quality(Tti::containing(now, TTI), cell, ue);
        known_rate(&self.cells[cell], &mut self.contexts[ue].downlink.quality)
    }

    /// One active UE's part of it.
    pub fn fair_rate(&mut self, now: Instant, ue: UeId) -> Bitrate {
        Bitrate(self.known_rate(now, ue).0 / u64::from(self.downlink_users(ue).max(1)))
    }

    fn carrier_rate(&self, cell: CellId, cqi: Cqi, layers: usize) -> Bitrate {
        let c = &self.cells[cell];
        per_tti(c.downlink.adaptation.block_bits(cqi, c.config.resource_blocks as usize), layers)
    }

    /// UEs that `cell` has downlink data for, `ue` counted in any case: the load that the cell may
    /// broadcast.
    pub fn downlink_users(&self, ue: UeId) -> u32 {
        downlink_users(&self.cells[self.links[ue].serving], ue)
    }

    /// Bytes in the network's layer-2 queue of a bearer that are in no PDU yet.
    pub fn downlink_queue(&self, bearer: BearerId) -> u64 {
        self.bearers[bearer].layers.rlc_stats(End::Network).queue_bytes
    }

    /// What `ue` was granted in the uplink for new transport blocks, averaged over the scheduler's
    /// window.
    pub fn uplink_rate(&mut self, now: Instant, ue: UeId) -> Bitrate {
        let tti = Tti::containing(now, TTI);
        let window = self.cells[self.links[ue].serving].config.uplink.window;
        Bitrate((self.contexts[ue].uplink.average.at(tti, window) * 1000.0) as u64)
    }

    /// Resource blocks of a UE's cell.
    pub fn carrier_blocks(&self, ue: UeId) -> u32 {
        self.cells[self.links[ue].serving].config.resource_blocks
    }
}

/// What the whole carrier of `c` would carry at `quality`.
pub(super) fn known_rate(c: &Cell, quality: &mut Quality) -> Bitrate {
    let all = c.downlink.band.all();
    let table = c.downlink.adaptation.mcs_table();
    let blocks = c.config.resource_blocks as usize;
    let layers = quality.scheme().layers();
    let mut sum = 0;
    for code_word in 0..quality.code_words() {
        let mcs = c.downlink.adaptation.mcs(quality.of(code_word), &c.downlink.band, all);
        let bits = mcs.and_then(|m| m.i_tbs(table)).and_then(|i| tbs_bits(blocks, i)).unwrap_or(0);
        sum += per_tti(bits, layers_of(layers, code_word).1).0;
    }
    Bitrate(sum)
}

/// UEs that `cell` has downlink data for, `ue` counted in any case.
pub(super) fn downlink_users(cell: &Cell, ue: UeId) -> u32 {
    let active = &cell.active[Direction::Downlink.index()];
    (active.len() + usize::from(!active.contains(&ue))) as u32
}

/// Bits of a transport block on each layer, every TTI of 1 ms.
fn per_tti(bits: u32, layers: usize) -> Bitrate {
    Bitrate(u64::from(bits) * layers as u64 * 1000)
}
