//! Fractional frequency reuse in the downlink: UEs at the edge of a cell have blocks of their own,
//! on which the neighbours do not transmit (strict) or transmit with less power (soft). (M. Rahman,
//! H. Yanikomeroglu, 2010; TS 36.300 clause 16.1.5 calls it inter-cell interference coordination.)
//! Hard reuse, where all UEs of a cell share its blocks, is `downlink.blocks`.

use lasthop_units::Db;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allocation::{Band, Groups};
use crate::phy::RbSet;
use lasthop_bearer::{ConfigError, check};

/// Neighbouring resource blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockRange {
    /// The first, from 0.
    pub first: u32,
    /// Number of blocks, at least 1.
    pub count: u32,
}

/// Blocks and powers for UEs in the centre and at the edge of the cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseConfig {
    /// The centres of all cells share some blocks; each edge has blocks of its own; the cell does
    /// not use the others, which are those of the neighbours' edges.
    Strict(StrictReuse),
    /// The whole carrier is used: some blocks for the edge at full power, the others for the centre
    /// with less power.
    Soft(SoftReuse),
}

/// Strict frequency reuse.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StrictReuse {
    /// Blocks for the centre, the same in all cells.
    pub common: BlockRange,
    /// Blocks for the edge, different from the neighbours'.
    pub edge: BlockRange,
    /// UEs whose geometry is below this are at the edge: the SINR at large scale with all cells at
    /// full power.
    #[serde(default = "threshold")]
    pub threshold: Db,
    /// Instead of `threshold`: UEs whose RSRQ is below this are at the edge. It is the RSRQ that a
    /// UE reports (TS 36.214 clause 5.1.3) when every cell is loaded. The value must be below -10.8
    /// dB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsrq: Option<Db>,
    /// P_A of UEs in the centre, added to each UE's own [dB].
    #[serde(default = "equal")]
    pub centre_p_a: Db,
    /// P_A of UEs at the edge, added to each UE's own [dB].
    #[serde(default = "equal")]
    pub edge_p_a: Db,
}

/// Soft frequency reuse.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftReuse {
    /// Blocks for the edge, different from the neighbours'.
    pub edge: BlockRange,
    /// The centre may use blocks of the edge, too.
    #[serde(default)]
    pub centre_everywhere: bool,
    /// UEs whose geometry is below this are at the edge: the SINR at large scale with all cells at
    /// full power.
    #[serde(default = "threshold")]
    pub threshold: Db,
    /// Instead of `threshold`: UEs whose RSRQ is below this are at the edge. It is the RSRQ that a
    /// UE reports (TS 36.214 clause 5.1.3) when every cell is loaded. The value must be below -10.8
    /// dB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsrq: Option<Db>,
    /// P_A of UEs in the centre, added to each UE's own [dB].
    #[serde(default = "quieter")]
    pub centre_p_a: Db,
    /// P_A of UEs at the edge, added to each UE's own [dB].
    #[serde(default = "equal")]
    pub edge_p_a: Db,
}

const fn threshold() -> Db {
    Db(3.0)
}
const fn equal() -> Db {
    Db(0.0)
}
const fn quieter() -> Db {
    Db(-6.0)
}

/// Zone of a UE in its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zone {
    /// At or above the threshold.
    #[default]
    Centre,
    /// Below the threshold.
    Edge,
}

/// Groups and powers of the zones on a band.
#[derive(Clone, Copy, Debug)]
pub struct Reuse {
    /// Geometry below which a UE is at the edge.
    pub threshold: Db,
    /// Groups by zone.
    groups: [Groups; 2],
    /// P_A by zone.
    p_a: [Db; 2],
}

/// The geometry g whose RSRQ is `rsrq`, every cell loaded: RSRQ = N RSRP / RSSI = S / (12 (S + I +
/// N)) = g / (12 (1 + g)), because a resource block has 12 subcarriers and RSRP is the power of
/// one. None where no geometry has this RSRQ.
pub fn geometry_of_rsrq(rsrq: Db) -> Option<Db> {
    let share = 12.0 * lasthop_radio::linear(rsrq);
    (share > 0.0 && share < 1.0).then(|| lasthop_radio::decibels(share / (1.0 - share)))
}

/// Groups of `band` that are entirely within `range`.
pub fn groups_within(band: &Band, range: BlockRange) -> Groups {
    let allowed = RbSet::range(range.first, range.count);
    let inside = |g: &u32| band.blocks(1 << g).without(allowed).is_empty();
    (0..band.groups()).filter(inside).fold(0, |set, g| set | 1 << g)
}

impl ReuseConfig {
    /// Refuses invalid values; keys are relative to this table.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (ranges, threshold, rsrq, p_a) = match self {
            ReuseConfig::Strict(s) => {
                let (c, e) = (s.common, s.edge);
                let apart =
                    c.first.saturating_add(c.count) <= e.first || e.first.saturating_add(e.count) <= c.first;
                check(apart, "edge", "blocks beside those of `common`")?;
                (vec![("common", c), ("edge", e)], s.threshold, s.rsrq, [s.centre_p_a, s.edge_p_a])
            }
            ReuseConfig::Soft(s) => (vec![("edge", s.edge)], s.threshold, s.rsrq, [s.centre_p_a, s.edge_p_a]),
        };
        for (key, r) in ranges {
            let end = r.first.saturating_add(r.count);
            check(r.count > 0 && end <= 110, key, "at least one block, within the carrier")?;
        }
        check((-100.0..=100.0).contains(&threshold.0), "threshold", "-100 dB to 100 dB")?;
        check(
            rsrq.is_none_or(|r| geometry_of_rsrq(r).is_some()),
            "rsrq",
            "below -10.8 dB: -10.8 dB (1/12) is the value of a cell without interference with every block in use",
        )?;
        for (key, p) in ["centre_p_a", "edge_p_a"].iter().zip(p_a) {
            check((-20.0..=10.0).contains(&p.0), key, "-20 to 10 dB")?;
        }
        Ok(())
    }

    /// Geometry below which a UE is at the edge.
    fn limit(&self) -> Db {
        let (threshold, rsrq) = match self {
            ReuseConfig::Strict(s) => (s.threshold, s.rsrq),
            ReuseConfig::Soft(s) => (s.threshold, s.rsrq),
        };
        rsrq.and_then(geometry_of_rsrq).unwrap_or(threshold)
    }

    /// Blocks for the edge.
    pub const fn edge(&mut self) -> &mut BlockRange {
        match self {
            ReuseConfig::Strict(s) => &mut s.edge,
            ReuseConfig::Soft(s) => &mut s.edge,
        }
    }

    /// The zones on `band`, of which the cell has `usable`; None where a zone would have no whole
    /// group.
    pub fn on(&self, band: &Band, usable: Groups) -> Option<Reuse> {
        let within = |range| groups_within(band, range) & usable;
        let reuse = match self {
            ReuseConfig::Strict(s) => Reuse {
                threshold: self.limit(),
                groups: [within(s.common), within(s.edge)],
                p_a: [s.centre_p_a, s.edge_p_a],
            },
            ReuseConfig::Soft(s) => {
                let edge = within(s.edge);
                let centre = if s.centre_everywhere { usable } else { usable & !edge };
                Reuse { threshold: self.limit(), groups: [centre, edge], p_a: [s.centre_p_a, s.edge_p_a] }
            }
        };
        reuse.groups.iter().all(|g| *g != 0).then_some(reuse)
    }
}

impl Reuse {
    /// Groups that UEs of `zone` may have.
    pub const fn groups(&self, zone: Zone) -> Groups {
        self.groups[zone as usize]
    }
    /// P_A of UEs of `zone`.
    pub const fn p_a(&self, zone: Zone) -> Db {
        self.p_a[zone as usize]
    }
    /// Groups for a retransmission of a block that was on `sent`: those of the zone, or those of
    /// the other zone if the UE was in it at the first transmission.
    pub fn groups_again(&self, zone: Zone, band: &Band, sent: RbSet) -> Groups {
        let here = self.groups(zone);
        let other = self.groups[1 - zone as usize];
        let fits = |groups| sent.without(band.blocks(groups)).is_empty();
        if !fits(here) && fits(other) { other } else { here }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: fn(u32, u32) -> BlockRange = |first, count| BlockRange { first, count };

    fn soft(edge: BlockRange, centre_everywhere: bool) -> ReuseConfig {
        let (threshold, centre_p_a, edge_p_a) = (threshold(), quieter(), equal());
        ReuseConfig::Soft(SoftReuse { edge, centre_everywhere, threshold, rsrq: None, centre_p_a, edge_p_a })
    }

    fn strict(common: BlockRange, edge: BlockRange) -> ReuseConfig {
        let (threshold, centre_p_a, edge_p_a) = (threshold(), equal(), equal());
        ReuseConfig::Strict(StrictReuse { common, edge, threshold, rsrq: None, centre_p_a, edge_p_a })
    }

    /// 25 blocks in groups of 2, the last one of one block: blocks 0 to 12 contain groups 0 to 5,
    /// 13 to 24 groups 7 to 12.
    #[test]
    fn zones_have_whole_groups() {
        let band = Band::new(25, 2, false);
        let reuse = strict(RANGE(0, 13), RANGE(13, 12)).on(&band, band.all()).unwrap();
        assert_eq!((reuse.groups(Zone::Centre), reuse.groups(Zone::Edge)), (0b11_1111, 0b1_1111_1000_0000));
        let reuse = soft(RANGE(0, 4), false).on(&band, band.all()).unwrap();
        assert_eq!((reuse.groups(Zone::Centre), reuse.groups(Zone::Edge)), (band.all() & !0b11, 0b11));
        assert_eq!(soft(RANGE(0, 4), true).on(&band, band.all()).unwrap().groups(Zone::Centre), band.all());
        assert!(soft(RANGE(1, 2), false).on(&band, band.all()).is_none(), "half of two groups");
        assert!(soft(RANGE(0, 25), false).on(&band, band.all()).is_none(), "nothing for the centre");
    }

    /// g = 2 (3.01 dB): 2 / (12 * 3) = 1/18 = -12.55 dB; g = 1: 1/24 = -13.80 dB. 1/12 = -10.79 dB
    /// is the limit without interference and noise.
    #[test]
    fn an_rsrq_is_a_geometry_where_every_cell_is_loaded() {
        for (rsrq, geometry) in [(-12.552_7, 3.010_3), (-13.802_1, 0.0), (-20.0, -8.653_0)] {
            let found = geometry_of_rsrq(Db(rsrq)).unwrap().0;
            assert!((found - geometry).abs() < 1e-3, "{rsrq}: {found}");
        }
        assert_eq!(geometry_of_rsrq(Db(-10.79)), None);
        let ReuseConfig::Soft(config) = soft(RANGE(0, 12), false) else { panic!() };
        let config = ReuseConfig::Soft(SoftReuse { rsrq: Some(Db(-13.802_1)), ..config });
        assert!(config.limit().0.abs() < 1e-3, "it counts instead of the threshold");
        let wrong = ReuseConfig::Soft(SoftReuse {
            rsrq: Some(Db(-3.0)),
            ..match config {
                ReuseConfig::Soft(s) => s,
                ReuseConfig::Strict(_) => panic!(),
            }
        });
        assert_eq!(wrong.validate().unwrap_err().key, "rsrq");
    }

    #[test]
    fn a_retransmission_stays_where_the_block_began() {
        let band = Band::new(100, 4, false);
        let reuse = strict(RANGE(0, 64), RANGE(64, 12)).on(&band, band.all()).unwrap();
        let again = |zone, first| reuse.groups_again(zone, &band, RbSet::range(first, 8));
        assert_eq!(again(Zone::Edge, 64), reuse.groups(Zone::Edge));
        assert_eq!(again(Zone::Edge, 0), reuse.groups(Zone::Centre), "sent before it came to the edge");
        assert_eq!(again(Zone::Centre, 64), reuse.groups(Zone::Edge));
    }

    #[test]
    fn mistakes_name_their_key() {
        let key = |c: ReuseConfig| c.validate().map_err(|e| e.key);
        assert_eq!(key(strict(RANGE(0, 10), RANGE(10, 5))), Ok(()));
        assert_eq!(key(strict(RANGE(0, 10), RANGE(9, 5))), Err("edge".to_owned()));
        assert_eq!(key(strict(RANGE(0, 0), RANGE(9, 5))), Err("common".to_owned()));
        assert_eq!(key(soft(RANGE(108, 5), false)), Err("edge".to_owned()));
    }
}
