//! Values of a UE's link for capacity hints, for tables, and for tests. Reading them changes no
//! result.

use lasthop_radio::Position;
use lasthop_radio::lte::{Cqi, PowerControlConfig, tbs_bits};
use lasthop_units::{Bitrate, CellId, Db, Dbm, Instant, Tti, UeId};

use super::RadioNetwork;
use super::channel::Channel;
use super::measure::{self, CellOf, Memory, Observer};
use super::state::{Cell, Link, Ue, UeContext};
use crate::mac::adaptation::Quality;
use crate::phy::TTI;
use crate::phy::air::layers_of;
use lasthop_bearer::Direction;

/// The link of a UE in one TTI, for reading.
pub struct UeReading<'a> {
    tti: Tti,
    id: UeId,
    serving: CellId,
    cell: &'a Cell,
    ue: &'a mut Ue,
    context: &'a mut UeContext,
    link: &'a mut Link,
    air: &'a mut Channel,
    memory: &'a mut Memory,
}

impl RadioNetwork {
    /// The link of `ue` in the TTI of `now`.
    pub fn reading(&mut self, now: Instant, ue: UeId) -> UeReading<'_> {
        let RadioNetwork { cells, ues, contexts, links, air, memory, .. } = self;
        let (tti, link, context) = (Tti::containing(now, TTI), &mut links[ue], &mut contexts[ue]);
        let serving = link.serving;
        UeReading {
            tti,
            id: ue,
            serving,
            cell: &cells[serving],
            ue: &mut ues[ue],
            context,
            link,
            air,
            memory,
        }
    }
}

impl<'a> UeReading<'a> {
    /// Rate of the whole carrier for the UE at the wideband CQI of a measurement now: TBS(CQI,
    /// N_RB) per TTI on every layer (TS 36.213 table 7.1.7.2.1-1).
    pub fn measured_rate(&mut self) -> Bitrate {
        let at = CellOf { id: self.serving, cell: self.cell.settings() };
        let boost = self.link.downlink.boost;
        let report =
            Observer { at, boost, air: self.air.get().at(self.id), memory: self.memory }.report(self.tti);
        let first = match report.second {
            None => report.scheme.layers().into(),
            Some(_) => layers_of(report.scheme.layers(), 0).1,
        };
        let second = report.second.map_or(Bitrate(0), |second| {
            self.carrier_rate(second.wideband, layers_of(report.scheme.layers(), 1).1)
        });
        Bitrate(self.carrier_rate(report.wideband, first).0 + second.0)
    }

    /// Rate of the whole carrier at the eNB's newest report, corrected by its outer loop.
    pub fn known_rate(&mut self) -> Bitrate {
        let at = CellOf { id: self.serving, cell: self.cell.settings() };
        let (cx, link) = (&mut self.context.downlink, &mut self.link.downlink);
        measure::learn_quality(self.tti, at, cx, link, self.air.get().at(self.id), self.memory);
        known_rate(self.cell, &mut self.context.downlink.quality)
    }

    fn carrier_rate(&self, cqi: Cqi, layers: usize) -> Bitrate {
        let blocks = self.cell.config.resource_blocks as usize;
        per_tti(self.cell.downlink.adaptation.block_bits(cqi, blocks), layers)
    }

    /// Number of UEs for which the UE's cell has downlink data, this UE always included: the load
    /// that the cell may broadcast.
    pub fn downlink_users(&self) -> u32 {
        downlink_users(self.cell, self.id)
    }

    /// Rate that the UE was granted in the uplink for new transport blocks, averaged over the
    /// scheduler's window.
    pub fn uplink_rate(&mut self) -> Bitrate {
        let window = &self.cell.uplink.window;
        Bitrate((self.context.uplink.average.at(self.tti, window) * 1000.0) as u64)
    }

    /// Resource blocks of the UE's cell.
    pub fn carrier_blocks(&self) -> u32 {
        self.cell.config.resource_blocks
    }

    /// Position of the UE [m].
    pub fn position(&mut self) -> Position {
        self.air.get().position(self.tti, self.id)
    }

    /// Power of a transmission of the UE on `blocks` resource blocks (TS 36.213 clause 5.1.1.1).
    pub fn pusch_power(&mut self, blocks: u32) -> Dbm {
        let (loss, config) = self.loss_and_control();
        self.ue.uplink.power.pusch(&config, blocks, loss)
    }

    /// Power of sounding signals of the UE on `blocks` resource blocks (TS 36.213 clause 5.1.3.1).
    pub fn srs_power(&mut self, blocks: u32) -> Dbm {
        let (loss, config) = self.loss_and_control();
        self.ue.uplink.power.srs(&config, blocks, loss)
    }

    fn loss_and_control(&mut self) -> (Db, PowerControlConfig) {
        let gain = self.air.get().downlink_gain(self.tti, self.serving, self.id);
        (self.ue.uplink.power.path_loss(gain), self.cell.uplink.config.power_control)
    }

    /// Linear SINR by resource block of the UE's transmission at the serving cell, in the last TTI
    /// that was processed; empty if the UE did not transmit.
    pub fn uplink_sinr(self) -> &'a [f32] {
        let granted = self.cell.uplink.plan.granted(self.tti);
        match granted.iter().find(|g| g.ue == self.id).map(|g| g.rbs) {
            Some(rbs) => self.air.get().uplink(self.tti, self.serving, self.id, rbs),
            None => &[],
        }
    }
}

/// Rate of the whole carrier of `c` at `quality`.
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

/// Number of UEs for which `cell` has downlink data, `ue` always included.
pub(super) fn downlink_users(cell: &Cell, ue: UeId) -> u32 {
    let active = &cell.active[Direction::Downlink.index()];
    (active.len() + usize::from(!active.contains(&ue))) as u32
}

/// Rate of a transport block of `bits` on each layer in every TTI of 1 ms.
fn per_tti(bits: u32, layers: usize) -> Bitrate {
    Bitrate(u64::from(bits) * layers as u64 * 1000)
}
