//! What the network knows of a cell, a UE and a bearer.

use lasthop_units::{BearerId, CellId, Instant, UeId};

use super::config::{CellConfig, UeConfig};
use crate::mac::lte::harq::Processes;
use crate::pdcp::lte::LteBearer;

/// A cell.
#[derive(Debug)]
pub(super) struct Cell {
    pub config: CellConfig,
    /// UEs with something to send or a HARQ process in use, in the order of their ids, by direction.
    pub active: [Vec<UeId>; 2],
}

impl Cell {
    pub fn new(config: &CellConfig) -> Cell {
        Cell { config: config.clone(), active: [Vec::new(), Vec::new()] }
    }
    /// True while the cell has something to schedule.
    pub fn is_active(&self) -> bool {
        self.active.iter().any(|ues| !ues.is_empty())
    }
}

/// A UE, and what its cell knows of it.
#[derive(Debug)]
pub(super) struct Ue {
    pub serving: CellId,
    /// Its bearers in the order of their logical channels.
    pub drbs: Vec<BearerId>,
    /// It is in its cell's active list, by direction.
    pub active: [bool; 2],
    pub downlink: DownlinkUe,
}

impl Ue {
    pub fn new(config: &UeConfig) -> Ue {
        Ue { serving: config.serving, drbs: Vec::new(), active: [false; 2], downlink: DownlinkUe::default() }
    }
}

/// The downlink of a UE.
#[derive(Debug, Default)]
pub(super) struct DownlinkUe {
    pub harq: Processes,
}

/// A data radio bearer in the network.
#[derive(Debug)]
pub(super) struct Drb {
    pub ue: UeId,
    pub layers: LteBearer,
    /// The earliest wake-up that is noted for its timers.
    pub wake: Option<Instant>,
}
