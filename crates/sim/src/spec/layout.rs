//! Layouts: one cell table for many cells, with UEs at places in the layout.

use lasthop_bearer::ConfigError;
use lasthop_engine::{Draw, Purpose, Stream, math};
use lasthop_lte::network::CellConfig;
use lasthop_radio::bounds::AZIMUTH;
use lasthop_radio::layout::{Ground, WrapAround, grid, hexagonal, in_sector};
use lasthop_radio::{Indoor, Wall};
use lasthop_units::{Metres, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of sites of one layout.
const MOST_SITES: usize = 400;
/// Number of draws of a place that is too near to a site.
const TRIES: usize = 1000;

/// Where the cells of the cell table with the same name stand. They are named `<name>-<site>` with
/// one sector and `<name>-<site>-<sector>` with three, numbered from 1. Links lead to one eNB node,
/// that of the table; with `[handover]` they lead to the gateway, and each site is an eNB of its
/// own with X2 to the others, unless the table names one for all (`enb`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayoutSpec {
    /// Where the sites stand.
    pub sites: Sites,
    /// Cells of a site, 1 to 6. Their antennas are the table's, turned by equal angles.
    #[serde(default = "three")]
    pub sectors: u32,
    /// Where the first sector points [degree, counter-clockwise from the x axis], -360 to 360. Only
    /// with several sectors.
    #[serde(default = "thirty")]
    #[schemars(range(min = -360, max = 360))]
    pub azimuth: f64,
    /// The area is repeated around the layout: UEs receive the nearest copy of each site, and no UE
    /// is at an edge of the network. Hexagonal layouts only.
    #[serde(default)]
    pub wrap_around: bool,
    /// Frequency reuse between the sectors of a site. The first sector has the cell table's own
    /// blocks (`downlink.blocks`, or those of the edge in `downlink.reuse`); each further sector
    /// has as many blocks, which follow those of the sector before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocks_by_sector: bool,
}

const fn three() -> u32 {
    3
}
const fn thirty() -> f64 {
    30.0
}

/// Where sites stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Sites {
    /// One at the origin and hexagonal rings around it; neighbours lie at 0, 60, ... degrees.
    Hex {
        /// Rings: 0, 1, 2 and 3 make 1, 7, 19 and 37 sites.
        #[serde(default = "two")]
        rings: u32,
        /// Inter-site distance.
        isd: Metres,
    },
    /// Rows and columns in the middle of a hall around the origin: an indoor hotspot.
    Hall {
        /// Sites in a row, along x.
        columns: u32,
        /// Rows.
        #[serde(default = "one")]
        rows: u32,
        /// Distance of neighbours in a row and of rows.
        isd: Metres,
        /// Length (x) and width (y) of the hall.
        size: [Metres; 2],
    },
    /// Named places.
    List {
        /// x and y of each.
        at: Vec<[Metres; 2]>,
    },
}

const fn one() -> u32 {
    1
}
const fn two() -> u32 {
    2
}

/// Where UEs stand, each at a place of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum UeDrop {
    /// Uniform over the ground of a layout: its hexagons, its hall, or the rectangle around a list
    /// of sites.
    Layout {
        /// No nearer to a site than this on the ground.
        #[serde(default)]
        min_distance: Metres,
    },
    /// As many in each sector of a hexagonal layout: the first in the first sector, the second in
    /// the second, and so on.
    Sector {
        /// No nearer to a site than this on the ground.
        #[serde(default)]
        min_distance: Metres,
    },
    /// Uniform over a disc.
    Disc {
        /// x and y of its middle.
        #[serde(default)]
        centre: [Metres; 2],
        /// Radius.
        radius: Metres,
        /// No nearer to the middle than this.
        #[serde(default)]
        min_distance: Metres,
    },
    /// Uniform over a rectangle.
    Rectangle {
        /// x and y of the lower left corner.
        from: [Metres; 2],
        /// x and y of the upper right corner.
        to: [Metres; 2],
    },
}

impl LayoutSpec {
    /// The positions of the sites [m].
    pub fn places(&self) -> Vec<Ground> {
        match &self.sites {
            Sites::Hex { rings, isd } => hexagonal(*rings, isd.0),
            Sites::Hall { columns, rows, isd, .. } => grid(*columns, *rows, isd.0),
            Sites::List { at } => at.iter().map(|place| place.map(|m| m.0)).collect(),
        }
    }

    /// The wrap-around, if the layout has it.
    pub fn wrap(&self) -> Option<WrapAround> {
        match self.sites {
            Sites::Hex { rings, isd } if self.wrap_around => Some(WrapAround::hexagonal(rings, isd.0)),
            _ => None,
        }
    }

    /// Azimuth of sector number `i` [degree].
    fn angle(&self, i: u32) -> f64 {
        self.azimuth + 360.0 * f64::from(i) / f64::from(self.sectors)
    }

    /// Gives `cell` the resource blocks of sector number `i`.
    fn shift_blocks(&self, cell: &mut CellConfig, i: u32) {
        if self.blocks_by_sector {
            let own = cell.downlink.blocks.iter_mut().chain(cell.downlink.reuse.as_mut().map(|r| r.edge()));
            for range in own {
                range.first = range.first.saturating_add(i.saturating_mul(range.count));
            }
        }
    }

    /// The last sector's cell: it is valid if the blocks of all sectors fit into the carrier.
    pub fn last_sector(&self, cell: &CellConfig) -> CellConfig {
        let mut last = cell.clone();
        self.shift_blocks(&mut last, self.sectors.saturating_sub(1));
        last
    }

    /// The cells of the cell table `name`, with the suffixes of their names; sites are numbered
    /// from `site` on.
    pub fn cells(&self, name: &str, cell: &CellConfig, site: u32) -> Vec<(String, CellConfig)> {
        let mut all = Vec::new();
        for (i, place) in self.places().iter().enumerate() {
            for sector in 0..self.sectors {
                let mut cell = cell.clone();
                let height = cell.radio.position[2];
                cell.radio.position = [Metres(place[0]), Metres(place[1]), height];
                cell.radio.site = Some(site + i as u32);
                cell.enb.get_or_insert_with(|| format!("{name}-{}", i + 1));
                self.shift_blocks(&mut cell, sector);
                let name = if self.sectors > 1 {
                    cell.radio.antenna = cell.radio.antenna.turned(self.angle(sector));
                    format!("{}-{}", i + 1, sector + 1)
                } else {
                    (i + 1).to_string()
                };
                all.push((name, cell));
            }
        }
        all
    }

    /// Refuses an invalid layout; the key is relative to its table.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key: &str, message: &str| Err(ConfigError { key: key.into(), message: message.into() });
        let apart = |isd: Metres| isd.0 >= 1.0 && isd.0 <= 1e6;
        match &self.sites {
            Sites::Hex { rings, isd } => {
                if *rings > 10 {
                    return wrong("sites.rings", "at most 10 rings (331 sites)");
                }
                if !apart(*isd) {
                    return wrong("sites.isd", "an inter-site distance of 1 m to 1000 km");
                }
            }
            Sites::Hall { columns, rows, isd, size } => {
                let sites = u64::from(*columns) * u64::from(*rows);
                if sites == 0 || sites > MOST_SITES as u64 {
                    return wrong("sites.columns", "1 to 400 sites in all");
                }
                if !apart(*isd) {
                    return wrong("sites.isd", "an inter-site distance of 1 m to 1000 km");
                }
                let needs = |n: u32| isd.0 * (f64::from(n) - 1.0);
                if size[0].0 <= 0.0 || size[1].0 <= 0.0 {
                    return wrong("sites.size", "a hall is longer and wider than 0 m");
                }
                if needs(*columns) > size[0].0 || needs(*rows) > size[1].0 {
                    return wrong(
                        "sites.size",
                        "the sites do not fit into the hall: enlarge it, or lower `isd`",
                    );
                }
            }
            Sites::List { at } => {
                if at.is_empty() || at.len() > MOST_SITES {
                    return wrong(
                        "sites.at",
                        "1 to 400 places, such as [[\"0 m\", \"0 m\"], [\"500 m\", \"0 m\"]]",
                    );
                }
            }
        }
        if let Err((key, text)) = AZIMUTH.check("azimuth", self.azimuth) {
            return wrong(key, text);
        }
        if !(1..=6).contains(&self.sectors) {
            return wrong("sectors", "1 to 6 sectors a site");
        }
        if self.wrap_around && !matches!(self.sites, Sites::Hex { .. }) {
            return wrong("wrap_around", "only a hexagonal layout can be repeated over the plane");
        }
        Ok(())
    }
}

impl UeDrop {
    /// True if the drop needs a layout.
    pub const fn needs_layout(&self) -> bool {
        matches!(self, UeDrop::Layout { .. } | UeDrop::Sector { .. })
    }

    /// Refuses an invalid drop; the key is relative to the UE's table.
    pub fn validate(&self, layout: Option<&LayoutSpec>) -> Result<(), ConfigError> {
        let wrong = |key: &str, message: &str| Err(ConfigError { key: key.into(), message: message.into() });
        let nearest = match *self {
            UeDrop::Disc { radius, min_distance, .. } => {
                if !(radius.0 > 0.0 && radius.0 <= 1e6) {
                    return wrong("drop.radius", "a radius of more than 0 m, at most 1000 km");
                }
                if !(0.0..radius.0).contains(&min_distance.0) {
                    return wrong("drop.min_distance", "less than the radius");
                }
                return Ok(());
            }
            UeDrop::Rectangle { from, to } => {
                if !(0..2).all(|i| from[i].0 < to[i].0) {
                    return wrong("drop.to", "it must be to the right of `from` and above it");
                }
                return Ok(());
            }
            UeDrop::Layout { min_distance } | UeDrop::Sector { min_distance } => min_distance.0,
        };
        let Some(layout) = layout else {
            return wrong(
                "drop",
                "no layout: which area is meant? Add a `[layout.<cell>]` table, or name it in `cell`",
            );
        };
        let hexagon = match layout.sites {
            Sites::Hex { isd, .. } => Some(isd.0),
            Sites::Hall { .. } | Sites::List { .. } => None,
        };
        if matches!(self, UeDrop::Sector { .. }) && (hexagon.is_none() || !corners(layout)) {
            return wrong(
                "drop",
                "only a hexagonal layout with 1 sector, or 3 that point to 30 + n 60 degrees, has such sectors: use \
                 `drop = \"layout\"`",
            );
        }
        if nearest < 0.0 || hexagon.is_some_and(|isd| nearest >= isd / 2.0) {
            return wrong("drop.min_distance", "0 m or more, and less than half the inter-site distance");
        }
        Ok(())
    }

    /// The place of UE number `i` of a group, whose draws are `stream`.
    pub fn place(&self, layout: Option<&LayoutSpec>, i: u32, stream: &mut Stream) -> Ground {
        let anywhere = |from: Ground, to: Ground, stream: &mut Stream| {
            [0, 1].map(|i| from[i] + (to[i] - from[i]) * stream.uniform())
        };
        match (*self, layout) {
            (UeDrop::Disc { centre, radius, min_distance }, _) => {
                let (a, b) = (min_distance.0 * min_distance.0, radius.0 * radius.0);
                let radius = math::sqrt(a + (b - a) * stream.uniform());
                let angle = std::f64::consts::TAU * stream.uniform();
                [centre[0].0 + radius * math::cos(angle), centre[1].0 + radius * math::sin(angle)]
            }
            (UeDrop::Rectangle { from, to }, _) => anywhere(from.map(|m| m.0), to.map(|m| m.0), stream),
            (UeDrop::Layout { min_distance }, Some(layout)) => {
                let sites = layout.places();
                far_from(&sites, min_distance.0, || match &layout.sites {
                    Sites::Hex { isd, .. } => {
                        let site = sites[stream.below(sites.len() as u64) as usize];
                        let third = 30.0 + 120.0 * stream.below(3) as f64;
                        moved(in_sector(third, isd.0, stream), site)
                    }
                    Sites::Hall { size, .. } => {
                        anywhere(size.map(|m| -m.0 / 2.0), size.map(|m| m.0 / 2.0), stream)
                    }
                    Sites::List { .. } => {
                        let (from, to) = around(&sites);
                        anywhere(from, to, stream)
                    }
                })
            }
            (UeDrop::Sector { min_distance }, Some(layout)) => {
                let sites = layout.places();
                let (Sites::Hex { isd, .. }, sectors) = (&layout.sites, layout.sectors) else {
                    return [0.0; 2];
                };
                let cell = i % (sites.len() as u32 * sectors);
                let site = sites[(cell / sectors) as usize];
                far_from(&[site], min_distance.0, || {
                    let third = if sectors == 3 {
                        layout.angle(cell % 3)
                    } else {
                        30.0 + 120.0 * stream.below(3) as f64
                    };
                    moved(in_sector(third, isd.0, stream), site)
                })
            }
            (UeDrop::Layout { .. } | UeDrop::Sector { .. }, None) => [0.0; 2],
        }
    }
}

/// Buildings that some of the UEs of a group are in, each on a floor of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Buildings {
    /// Share of the UEs that are indoors (TR 36.873 table 6-1: 80 %).
    pub share: Ratio,
    /// Fewest and most floors of a building, uniform; the floor of a UE is uniform over those of
    /// its building. Its height is 1.5 m, and 3 m more for each floor below.
    pub floors: [u32; 2],
    /// Largest depth indoors.
    pub depth: Metres,
    /// Model of the walls: that of TR 36.873, with a uniform depth, or that of TR 38.901, with the
    /// smaller of two uniform depths.
    pub walls: Walls,
    /// Share of TR 38.901's buildings with high loss. Its rural macro cells (clause 7.4.3.1) have
    /// none: set 0 %.
    pub high_loss: Ratio,
}

impl Default for Buildings {
    fn default() -> Self {
        Buildings {
            share: Ratio(0.8),
            floors: [4, 8],
            depth: Metres(25.0),
            walls: Walls::default(),
            high_loss: Ratio(0.5),
        }
    }
}

/// Model of the walls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Walls {
    /// 20 dB.
    #[default]
    #[serde(rename = "tr36873")]
    Tr36873,
    /// Low and high loss by frequency.
    #[serde(rename = "tr38901")]
    Tr38901,
}

impl Buildings {
    /// Refuses invalid buildings.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key: &str, message: &str| {
            Err(ConfigError { key: format!("buildings.{key}"), message: message.into() })
        };
        if self.floors[0] == 0 || self.floors[1] < self.floors[0] || self.floors[1] > 200 {
            return wrong("floors", "1 <= fewest <= most <= 200");
        }
        if !(0.0..=1000.0).contains(&self.depth.0) {
            return wrong("depth", "0 m to 1 km");
        }
        Ok(())
    }

    /// The place indoors of UE number `i` of the group `name`, and its height; None: it is
    /// outdoors.
    pub fn draw(&self, seed: u64, name: &str, i: u32) -> Option<(Indoor, Metres)> {
        let entity = crate::names::name_key(&format!("building/{name}"));
        let mut stream = Draw::new(seed, Purpose::Mobility, entity).stream(u64::from(i));
        if stream.uniform() >= self.share.0 {
            return None;
        }
        let [least, most] = self.floors.map(u64::from);
        let floors = least + stream.below(most - least + 1);
        let floor = stream.below(floors);
        let depth = self.depth.0 * stream.uniform();
        let (depth, wall) = match self.walls {
            Walls::Tr36873 => (depth, Wall::Plain),
            Walls::Tr38901 => {
                let high = stream.uniform() < self.high_loss.0;
                (
                    depth.min(self.depth.0 * stream.uniform()),
                    if high { Wall::HighLoss } else { Wall::LowLoss },
                )
            }
        };
        let indoor = Indoor { depth: Metres(depth), wall, deviation: stream.normal() };
        Some((indoor, Metres(3.0 * floor as f64 + 1.5)))
    }
}

/// The draws of the place of UE number `i` of the group `name`, which do not depend on other groups
/// and UEs.
pub fn draws_of_place(seed: u64, name: &str, i: u32) -> Stream {
    Draw::new(seed, Purpose::Mobility, crate::names::name_key(&format!("ue/{name}"))).stream(u64::from(i))
}

/// True if the sectors of `layout` are its hexagons, or point to their corners.
fn corners(layout: &LayoutSpec) -> bool {
    let turned = (layout.azimuth - 30.0) / 60.0;
    layout.sectors == 1 || (layout.sectors == 3 && turned == turned.round())
}

/// The first of the places of `draw` that is at least `least` away from all `sites`; or the last
/// one of [`TRIES`].
fn far_from(sites: &[Ground], least: f64, mut draw: impl FnMut() -> Ground) -> Ground {
    let near = |p: &Ground| {
        sites.iter().any(|s| (s[0] - p[0]) * (s[0] - p[0]) + (s[1] - p[1]) * (s[1] - p[1]) < least * least)
    };
    let mut place = draw();
    for _ in 0..TRIES {
        if !near(&place) {
            break;
        }
        place = draw();
    }
    place
}

fn moved(place: Ground, by: Ground) -> Ground {
    [place[0] + by[0], place[1] + by[1]]
}

/// The rectangle around all `sites`, with a margin of a tenth of its length on every side, at least
/// 100 m.
fn around(sites: &[Ground]) -> (Ground, Ground) {
    let least = |i: usize| sites.iter().map(|s| s[i]).fold(f64::INFINITY, f64::min);
    let most = |i: usize| sites.iter().map(|s| s[i]).fold(f64::NEG_INFINITY, f64::max);
    let margin = [0, 1].map(|i| (most(i) - least(i)) / 10.0).into_iter().fold(100.0, f64::max);
    ([0, 1].map(|i| least(i) - margin), [0, 1].map(|i| most(i) + margin))
}
