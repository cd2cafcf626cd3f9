//! Tables about cells and UEs that are sampled: `rlc`, `radio`, `measurements`, `positions`.

use lasthop_bearer::Direction;
use lasthop_lte::mac::downlink::LinkStats;
use lasthop_units::Instant;

use super::LteAccess;
use crate::access::bearer::rlc_row;
use crate::probe::{Probes, tables};
use crate::sink::Table;

impl LteAccess {
    /// Writes rows of all sampled tables.
    pub(super) fn write_rows(&mut self, now: Instant, probes: &mut Probes) {
        if let Some(table) = &mut probes.rlc {
            for (id, (name, _)) in self.bearers.enumerate() {
                for direction in Direction::BOTH {
                    rlc_row(table, now, name, direction, |end| self.network.view().rlc_stats(id, end));
                }
            }
        }
        if let Some(table) = &mut probes.radio {
            self.sample_links(now, table);
        }
        if let Some(table) = &mut probes.measurements {
            self.sample_measurements(now, table);
        }
        if let Some(table) = &mut probes.positions {
            self.sample_positions(now, table);
        }
    }

    /// Writes rows for the UEs and destinations that had transport blocks since the last sample.
    fn sample_links(&mut self, now: Instant, table: &mut Table<tables::Radio<'static>>) {
        let LteAccess { network, ues, cells, sampled, sampled_destinations, .. } = self;
        for (id, ue) in ues.enumerate() {
            for direction in Direction::BOTH {
                let stats = network.view().link_stats(id, direction);
                let last = std::mem::replace(&mut sampled[id][direction.index()], *stats);
                if stats.ttis > last.ttis || stats.requests + stats.preambles > last.requests + last.preambles
                {
                    let names = [&*ue.name, &cells[network.view().serving(id)], direction.name()];
                    radio_row(table, now, names, [&last, stats]);
                }
            }
        }
        for (destination, tx, _) in network.view().sidelinks().destinations() {
            let Some(stats) = network.view().sidelinks().stats(destination) else { continue };
            let last = std::mem::replace(&mut sampled_destinations[destination as usize], *stats);
            if stats.ttis > last.ttis {
                let names = [&*ues[tx].name, &cells[network.view().serving(tx)], "sidelink"];
                radio_row(table, now, names, [&last, stats]);
            }
        }
    }

    fn sample_measurements(&self, now: Instant, table: &mut Table<tables::Measurements<'static>>) {
        for (id, ue) in self.ues.enumerate() {
            for (cell, name) in self.cells.enumerate() {
                let Some(measured) = self.network.view().measured(id, cell) else { continue };
                table.push(&tables::Measurements {
                    time_s: now.as_secs_f64(),
                    ue: &ue.name,
                    cell: name,
                    serving: self.network.view().serving(id) == cell,
                    rsrp_dbm: measured.rsrp_dbm,
                    rsrq_db: measured.rsrq_db,
                });
            }
        }
    }

    fn sample_positions(&mut self, now: Instant, table: &mut Table<tables::Positions<'static>>) {
        for (id, ue) in self.ues.enumerate() {
            let [x, y, z] = self.network.reading(now, id).position();
            table.push(&tables::Positions {
                time_s: now.as_secs_f64(),
                ue: &ue.name,
                cell: &self.cells[self.network.view().serving(id)],
                x_m: x,
                y_m: y,
                z_m: z,
            });
        }
    }
}

/// The differences between two readings of the counters, the older first.
fn radio_row(
    table: &mut Table<tables::Radio<'static>>,
    now: Instant,
    [ue, cell, direction]: [&str; 3],
    [a, b]: [&LinkStats; 2],
) {
    let mean = |sum: f64, n: u64| (n > 0).then(|| sum / n as f64);
    let blocks = b.blocks - a.blocks;
    let uplink = direction == Direction::Uplink.name();
    table.push(&tables::Radio {
        time_s: now.as_secs_f64(),
        ue,
        cell,
        direction,
        ttis: b.ttis - a.ttis,
        blocks,
        retransmissions: b.retransmissions - a.retransmissions,
        errors: b.errors - a.errors,
        lost: b.lost - a.lost,
        bytes: b.bytes - a.bytes,
        resource_blocks: b.resource_blocks - a.resource_blocks,
        mcs: mean((b.mcs_sum - a.mcs_sum) as f64, blocks),
        cqi: mean((b.cqi_sum - a.cqi_sum) as f64, b.reports - a.reports),
        sinr_db: mean(b.sinr_db_sum - a.sinr_db_sum, b.sinr_count - a.sinr_count),
        requests: uplink.then(|| b.requests - a.requests),
        preambles: uplink.then(|| b.preambles - a.preambles),
        padding_bytes: uplink.then(|| b.padding_bytes - a.padding_bytes),
        power_dbm: mean(b.power_dbm_sum - a.power_dbm_sum, b.power_count - a.power_count),
    });
}
