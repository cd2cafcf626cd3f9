//! The eNB's measurements of UEs, and its record of their power.

use lasthop_engine::math::db;
use lasthop_radio::lte::{
    Mcs, McsTable, Modulation, PowerControl, PowerControlConfig, mean_mi, sinr_db_of_mi,
};
use lasthop_radio::thermal_noise;
use lasthop_units::{CellId, Db, Dbm, Hertz, Tti, UeId};

use super::super::RadioNetwork;
use crate::mac::phr;
use crate::mac::uplink::{decibels, largest_allocation, tbs_bytes};
use crate::network::state::Cell;
use crate::network::state::uplink::{CellUplink, UplinkContext};
use crate::network::uu::Sounding;
use crate::network::{CellConfig, UeConfig};
use crate::phy::propagation::Gains;

/// Transport blocks of fewer bytes are small compared with their headers [B].
const EDGE: u32 = 32;
/// A buffer status report (2 B), the subheader of an SDU (1 B) and the header of an AMD PDU (2 B)
/// [B].
const BARE: u32 = 5;
/// From a power control command to its effect [TTI].
const K_PUSCH: u64 = 4;
/// 839 subcarriers of 1.25 kHz (TS 36.211 table 5.7.2-1 and clause 5.7.3).
const PRACH_BANDWIDTH: Hertz = Hertz(1_048_750.0);

impl UplinkContext {
    /// The SINR [dB] to expect on each of `blocks` resource blocks, given `level` on one: beyond
    /// the UE's headroom the power per block falls with the number of blocks. Before the first
    /// headroom report no limit is known.
    #[inline]
    pub fn level_on(&self, level: f32, blocks: u32) -> f32 {
        level - (decibels(blocks) - self.spare()).max(0.0)
    }

    /// Ratio [dB] of the largest power of the UE to its power on one block. 0: `level` on one block
    /// is that of its largest power.
    #[inline]
    fn spare(&self) -> f32 {
        self.headroom.map_or(f32::INFINITY, |h| h.0.max(0.0) as f32)
    }
}

impl CellUplink {
    /// Number of blocks for the UE of `cx`, of at most `most`, and the MCS on them: those that
    /// carry most beyond `overhead` [B], the headers. Beyond the headroom an additional block
    /// lowers the MCS of all: the fewest blocks that carry as much. Where one transmission carries
    /// little, blocks that need HARQ retransmissions are compared with it
    /// ([`at_the_edge`](Self::at_the_edge)). None if no block would be decoded.
    ///
    /// An outer loop at the end of its range does not stop the grants to a UE whose measured SINR
    /// allows the lowest MCS: only further blocks can correct the loop.
    pub fn fit(&self, cx: &UplinkContext, most: u32, overhead: u32) -> Option<(u32, u8)> {
        let at_once = self.fit_at_once(cx, most);
        let carries = at_once.map_or(0, |(blocks, mcs)| tbs_bytes(mcs, blocks));
        if carries >= EDGE || !self.config.power_aware {
            return at_once;
        }
        let at_once_rate = f64::from(carries.saturating_sub(overhead));
        // Where not even 1 B remains beyond all headers: beyond those that each block with data
        // has.
        let bare = overhead.min(BARE);
        match self.at_the_edge(cx, most, overhead).or_else(|| self.at_the_edge(cx, most, bare)) {
            Some((blocks, rate)) if rate > at_once_rate => Some((blocks, self.adaptation.lowest())),
            _ => at_once,
        }
    }

    /// As [`fit`](Self::fit), for a UE with a full buffer, whose blocks have no RLC PDUs and no
    /// headers: a single transmission suffices wherever it carries anything.
    pub fn fit_full(&self, cx: &UplinkContext, most: u32) -> Option<(u32, u8)> {
        self.fit_at_once(cx, most).or_else(|| {
            let edge = if self.config.power_aware { self.at_the_edge(cx, most, 0) } else { None };
            edge.map(|(blocks, _)| (blocks, self.adaptation.lowest()))
        })
    }

    /// Blocks of the lowest MCS that are to be decoded after several transmissions: their number,
    /// and the bytes beyond `overhead` that they carry per transmission. A UE at its largest power
    /// has the same energy for any number of blocks, so that more blocks with more transmissions
    /// use less of it for headers and CRC: the fewest that reach four fifths of the best, since the
    /// last fifth takes several times as many. The measured SINR is used, since the outcome of such
    /// blocks is no input for an outer loop.
    fn at_the_edge(&self, cx: &UplinkContext, most: u32, overhead: u32) -> Option<(u32, f64)> {
        let measured = cx.quality.measured()?;
        // Before the first headroom report: the sounding signal had all power, spread over the
        // band.
        let (level, spare) = match cx.headroom {
            Some(_) => (measured, cx.spare()),
            None => (measured + decibels(self.band.len()), 0.0),
        };
        let lowest = self.adaptation.lowest();
        let rate = |n: u32| {
            let sinr = level - (decibels(n) - spare).max(0.0);
            let times = self.adaptation.transmissions(n, sinr, self.config.harq.transmissions)?;
            let bytes = tbs_bytes(lowest, n).saturating_sub(overhead);
            (bytes > 0).then(|| (n, f64::from(bytes) / f64::from(times)))
        };
        let rates = || (1..=most).filter(|n| largest_allocation(*n) == *n).filter_map(rate);
        let best = rates().map(|(_, rate)| rate).reduce(f64::max)?;
        rates().find(|(_, rate)| *rate >= 0.8 * best)
    }

    fn fit_at_once(&self, cx: &UplinkContext, most: u32) -> Option<(u32, u8)> {
        let level = cx.quality.level()?;
        let on = |blocks: u32| {
            let mcs = self.adaptation.mcs(cx.level_on(level, blocks))?;
            Some((blocks, Mcs::new(mcs).decodable_on(McsTable::Uplink, blocks as usize).index()))
        };
        if cx.headroom.is_none() && self.counts_power() {
            // The sounding signal was spread over the band; if its power per block was too low, a
            // few blocks may suffice, and carry the report.
            return on(most).or_else(|| {
                let probe = most.min(self.config.request_blocks);
                self.adaptation.mcs(cx.quality.measured()? + decibels(self.band.len()))?;
                Some((probe, self.adaptation.lowest()))
            });
        }
        if decibels(most) <= cx.spare() {
            return on(most).or_else(|| self.lowest(cx, most));
        }
        let sizes = (1..=most).filter(|n| largest_allocation(*n) == *n);
        let bytes = |(blocks, mcs): (u32, u8)| tbs_bytes(mcs, blocks);
        let better = |best: (u32, u8), other| if bytes(other) > bytes(best) { other } else { best };
        sizes.map_while(on).reduce(better).or_else(|| self.lowest(cx, 1))
    }

    /// True if the eNB uses headroom reports.
    fn counts_power(&self) -> bool {
        self.config.power_aware && self.config.power_control.enabled
    }

    fn lowest(&self, cx: &UplinkContext, blocks: u32) -> Option<(u32, u8)> {
        self.adaptation.mcs(cx.level_on(cx.quality.measured()?, blocks))?;
        Some((blocks, self.adaptation.lowest()))
    }
}

/// Reason why a UE with enough power gets no data through under the settings of a cell's uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silenced {
    /// Without `uplink.power_aware`: the sounding signal, spread over the band, is below the lowest
    /// MCS, and the eNB assumes the same for any number of blocks. It sends no grant.
    BySounding,
    /// By the open loop: the UE has power to spare, and the block that answers its request, with
    /// its report, is not decoded.
    ByOpenLoop,
}

/// Check of whether a cell's settings silence UEs: link adaptation is computed once for all of them
/// (a million instructions).
#[derive(Debug)]
pub struct Silence<'a> {
    config: &'a CellConfig,
    cell: CellUplink,
}

impl CellConfig {
    /// The check for this cell, which is `id`.
    pub fn silence(&self, id: CellId) -> Silence<'_> {
        Silence {
            config: self,
            cell: CellUplink::new(
                &self.uplink,
                self.resource_blocks,
                id,
                self.uplink.adaptation(self.resource_blocks),
            ),
        }
    }
}

impl Silence<'_> {
    /// Reason why settings of the uplink silence a UE whose gains at large scale, without
    /// interference, are `gains`; None also for a UE whose largest power does not suffice.
    pub fn of(&self, ue: &UeConfig, gains: Gains) -> Option<Silenced> {
        let Silence { config: CellConfig { uplink, radio, .. }, cell } = self;
        let (config, band, largest) = (&uplink.power_control, cell.band.len(), ue.radio.power);
        let loss = Db(-db(f64::from(gains.downlink.max(1e-30))));
        let noise = thermal_noise(Hertz(180e3), radio.noise_figure);
        let antennas = db(f64::from(radio.receive_antennas));
        let received = |power: f64| power + db(f64::from(gains.uplink.max(1e-30))) + antennas - noise.0;
        let with = |level: f64, headroom: Option<Db>| {
            let mut cx = UplinkContext::new(uplink, largest);
            cx.quality.learn(Tti(0), level as f32);
            cx.headroom = headroom;
            cx
        };
        let most = (1..=band).rfind(|n| largest_allocation(*n) == *n).unwrap_or(1);
        // The first block is the report in the grant that answers a request.
        let (first, harq) = (uplink.request_blocks, uplink.harq.transmissions);
        let decodes = |cx: &UplinkContext| {
            let level = cx.level_on(cx.quality.measured().unwrap_or_default(), first);
            cell.fit_at_once(cx, first).is_some()
                || cell.adaptation.transmissions(first, level, harq).is_some()
        };
        if !decodes(&with(received(largest.0), Some(Db(0.0)))) {
            return None;
        }
        let power = PowerControl::default();
        if !uplink.power_aware {
            let srs = power.srs(config, band, loss, largest).0 - db(f64::from(band));
            return cell
                .fit(&with(received(srs), None), most, BARE)
                .is_none()
                .then_some(Silenced::BySounding);
        }
        let one = power.pusch(config, 1, loss, largest);
        let headroom = if config.enabled { largest - one } else { Db(0.0) };
        (!decodes(&with(received(one.0), Some(headroom)))).then_some(Silenced::ByOpenLoop)
    }
}

impl Cell {
    /// True if the cell detects a preamble of `power`, which it receives with `gain`. A threshold:
    /// above it TS 36.104 clause 8.4.2 requires 99 %, for which the model has 100 %.
    pub fn detects_preamble(&self, power: Dbm, gain: f32) -> bool {
        let noise = thermal_noise(PRACH_BANDWIDTH, self.config.radio.noise_figure);
        power.0 + db(f64::from(gain)) - noise.0 >= self.config.uplink.random_access.detection.0
    }
}

impl UplinkContext {
    /// The eNB's closed loop: the command of a grant takes effect K_PUSCH = 4 TTIs later (TS 36.213
    /// clause 5.1.1.1), and no other is sent before the channel has been measured with it. Returns
    /// the TTI and the command.
    #[inline]
    pub fn power_command(&mut self, tti: Tti, cell: &CellUplink) -> Option<(Tti, u8)> {
        let target = cell.config.power_target?;
        let (true, Some(level)) = (tti >= self.commanded_until, self.quality.measured()) else {
            return None;
        };
        let error = Db(target.0 - f64::from(level));
        let command = self.commanded.towards(&cell.config.power_control, error)?;
        self.commanded_until = tti.plus(K_PUSCH + cell.srs_period_ttis);
        Some((tti.plus(K_PUSCH), command))
    }

    /// Applies a command to the eNB's record, which does not include whether the UE was at a limit
    /// of its power, where commands do not accumulate.
    fn command_power(&mut self, config: &PowerControlConfig, command: u8) {
        self.commanded.command(config, command, Dbm(0.0), Dbm(f64::INFINITY));
    }

    /// Takes in a headroom report on `blocks` resource blocks, as the headroom on one; `msg3`: that
    /// of an Msg3, whose power has other parameters.
    pub fn learn_headroom(&mut self, cell: &CellUplink, level: u8, blocks: u32, msg3: bool) {
        if cell.counts_power() {
            let mut on_one = Db(phr::headroom(level).0 + db(f64::from(blocks.max(1))));
            if msg3 {
                let (config, target) = (&cell.config.power_control, cell.config.random_access.target_power);
                on_one = config.headroom_of_msg3(target, on_one, self.largest);
            }
            if self.headroom.replace(on_one).is_none() {
                // The last measurement is evaluated again, now that the UE's power is known.
                self.quality.expire();
            }
        }
    }

    /// Takes in a measurement of a sounding signal.
    pub fn learn_sounding(&mut self, tti: Tti, cell: &CellUplink, sounding: &Sounding<'_>) {
        let Sounding { sinr, srs, one } = *sounding;
        let (aware, controlled) = (cell.config.power_aware, cell.config.power_control.enabled);
        let mut level = sinr_db_of_mi(Modulation::Qam64, mean_mi(Modulation::Qam64, sinr)) as f32;
        if aware && (self.headroom.is_some() || !controlled) {
            // The eNB has the power of the sounding signal and that of a block of PUSCH. Before the
            // first headroom report it takes them for equal.
            level += (one.0 - (srs.0 - db(f64::from(cell.band.len())))) as f32;
        }
        self.quality.learn(tti, level);
        if aware && !controlled {
            // Always at the largest power: an additional block lowers the power of each.
            self.headroom = Some(Db(0.0));
        }
    }
}

impl RadioNetwork {
    /// Applies a transmit power control command (0 to 3) at `ue` in `tti`, for `blocks` resource
    /// blocks, and to its eNB's record.
    pub fn command_power(&mut self, tti: Tti, ue: UeId, command: u8, blocks: u32) {
        self.terminal(ue).command_power(tti, command, blocks);
        let config = &self.cells[self.links[ue].serving].uplink.config.power_control;
        self.contexts[ue].uplink.command_power(config, command);
    }
}

#[cfg(test)]
mod tests {
    use lasthop_radio::lte::ErrorModel;
    use lasthop_units::Id;

    use super::*;
    use crate::mac::uplink::UplinkConfig;

    /// A UE at its largest power gets more blocks than one transmission needs only where they carry
    /// more beyond the headers per transmission. Here the error model gives the number of
    /// transmissions of a block: n of them have n times the energy, and the target is 10 %. The
    /// SINR covers 13 dB in steps of 0.1 dB.
    #[test]
    fn more_blocks_than_one_transmission_needs_carry_more_beyond_headers() {
        const HEADERS: u32 = 8;
        let config = UplinkConfig::default();
        let cell = CellUplink::new(&config, 50, CellId::from_index(0), config.adaptation(50));
        let (mut repeated, mut at_once) = (0, 0);
        for level in (-100..=30).map(|tenth| tenth as f32 / 10.0) {
            let mut u = UplinkContext::new(&cell.config, Dbm(23.0));
            u.quality.learn(Tti(0), level);
            u.headroom = Some(Db(0.0));
            let alone = cell.fit_at_once(&u, 48);
            let Some((blocks, mcs)) = cell.fit(&u, 48, HEADERS) else { continue };
            if alone == Some((blocks, mcs)) {
                at_once += 1;
                continue;
            }
            let alone = alone.map_or(0, |(n, mcs)| tbs_bytes(mcs, n));
            assert!(alone < EDGE, "{level} dB: {alone} B fit at once");
            let model = ErrorModel::of_grant(Mcs::new(mcs), McsTable::Uplink, blocks as usize).unwrap();
            let once = f64::from(level) - db(f64::from(blocks));
            let needed = (1..=4).find(|k| model.error_at(once + db(f64::from(*k))) <= 0.1001);
            let needed = needed.unwrap_or_else(|| panic!("{level} dB: {blocks} blocks are never decoded"));
            let beyond = |bytes: u32, headers: u32| f64::from(bytes.saturating_sub(headers));
            let headers = if tbs_bytes(mcs, blocks) > HEADERS { HEADERS } else { BARE };
            let (more, less) =
                (beyond(tbs_bytes(mcs, blocks), headers) / f64::from(needed), beyond(alone, HEADERS));
            assert!(more > less, "{level} dB: {blocks} blocks {more} B, at once {less} B");
            repeated += 1;
        }
        assert!(repeated > 20 && at_once > 20, "{repeated} {at_once}");
    }
}
