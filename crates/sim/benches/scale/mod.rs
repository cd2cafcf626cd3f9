//! Cost of a network by its size: instructions and memory against the number of cells, of active
//! and of idle UEs, and against the offered load (`cargo bench --profile dist -p lasthop-sim
//! --bench scenarios -- scale`). Written to `docs/data/network-cost.json`, which
//! `docs/draw_network_cost.py` draws.

use std::path::Path;

use lasthop_sim::{Error, Scenario};
use serde_json::{Value, json};

/// A network.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// The quantity that varies.
    pub series: &'static str,
    /// Rings of sites around the first, and sectors of a site.
    rings: u32,
    sectors: u32,
    active: u32,
    idle: u32,
    /// Load of each active UE \[kbit/s\].
    load_kbps: u32,
}

const fn network(series: &'static str, layout: [u32; 2], ues: [u32; 2], load_kbps: u32) -> Network {
    let ([rings, sectors], [active, idle]) = (layout, ues);
    Network { series, rings, sectors, active, idle, load_kbps }
}

/// Ten active UEs a cell at 500 kbit/s, with one quantity varied at a time from 21 cells on.
pub const NETWORKS: &[Network] = &[
    network("cells", [0, 1], [10, 0], 500),
    network("cells", [0, 3], [30, 0], 500),
    network("cells", [1, 1], [70, 0], 500),
    network("cells", [1, 3], [210, 0], 500),
    network("cells", [2, 3], [570, 0], 500),
    network("active UEs", [1, 3], [21, 0], 500),
    network("active UEs", [1, 3], [105, 0], 500),
    network("active UEs", [1, 3], [210, 0], 500),
    network("active UEs", [1, 3], [420, 0], 500),
    network("idle UEs", [1, 3], [210, 0], 500),
    network("idle UEs", [1, 3], [210, 1000], 500),
    network("idle UEs", [1, 3], [210, 4000], 500),
    network("load", [1, 3], [210, 0], 50),
    network("load", [1, 3], [210, 0], 200),
    network("load", [1, 3], [210, 0], 500),
    network("load", [1, 3], [210, 0], 1000),
    network("load", [1, 3], [210, 0], 2000),
];

impl Network {
    /// The scenario with a duration of `ms` milliseconds.
    pub fn scenario(self, ms: u32) -> Result<Vec<Scenario>, Error> {
        let Network { rings, sectors, active, idle, load_kbps, .. } = self;
        let mut sets = vec![
            format!("scenario.duration=\"{ms} ms\""),
            format!("layout.macro.sites={{ kind = \"hex\", rings = {rings}, isd = \"500 m\" }}"),
            format!("layout.macro.sectors={sectors}"),
            format!("ue.phone.count={active}"),
            format!(
                "flow.download.app={{ kind = \"cbr\", rate = \"{load_kbps} kbit/s\", size = \"1000 B\" }}"
            ),
        ];
        if idle > 0 {
            sets.push(format!("ue.idle.count={idle}"));
            sets.push("ue.idle.drop={ kind = \"sector\", min_distance = \"35 m\" }".to_owned());
        }
        Scenario::parse(include_str!("../sectors57.toml"), "sectors57.toml", Path::new(""), &sets)
            .map(|s| vec![s])
    }

    /// The figures of the network as JSON.
    pub fn figures(self, instructions_per_s: f64, rss_mib: f64) -> Value {
        let Network { series, rings, sectors, active, idle, load_kbps } = self;
        json!({
            "series": series,
            "cells": (1 + 3 * rings * (rings + 1)) * sectors,
            "active": active,
            "idle": idle,
            "load_kbps": load_kbps,
            "instructions_per_s": instructions_per_s.round(),
            "peak_rss_mib": rss_mib,
        })
    }
}
