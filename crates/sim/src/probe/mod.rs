//! Probes: the tables that a run writes while it goes on. A probe that is off is `None` and costs
//! one comparison.

mod table;
pub mod tables;

use lasthop_capture::{FinishedTable, TableDef};
use lasthop_units::Duration;

use crate::error::Error;
use crate::results::Sink;
use crate::spec::{Spec, TcpSampling};
pub use table::Table;

/// The tables in writing.
pub struct Probes {
    pub(crate) tcp: Option<Table>,
    pub(crate) packets: Option<Table>,
    pub(crate) steps: Option<Table>,
    pub(crate) rlc: Option<Table>,
    pub(crate) mac: Option<Table>,
    pub(crate) radio: Option<Table>,
    pub(crate) measurements: Option<Table>,
    pub(crate) positions: Option<Table>,
    pub(crate) hints: Option<Table>,
    pub(crate) wifi: Option<Table>,
    pub(crate) queues: Option<Table>,
    pub(crate) events: Table,
    pub(crate) drops: Table,
    pub(crate) sampling: TcpSampling,
    pub(crate) interval: Duration,
}

impl Probes {
    /// Opens the tables that the scenario asks for.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn open(spec: &Spec, sink: &Sink) -> Result<Probes, Error> {
        let wanted = |want: bool, def: &'static TableDef| match want {
            true => sink.table(def).map(Some),
            false => Ok(None),
        };
        let o = &spec.output;
        let radio = o.radio && !(spec.bearer.is_empty() && spec.ue.is_empty());
        Ok(Probes {
            tcp: wanted(o.tcp != TcpSampling::Off, &tables::TCP)?,
            packets: wanted(o.packets, &tables::PACKETS)?,
            steps: wanted(o.steps && !spec.ue.is_empty(), &tables::STEPS)?,
            rlc: wanted(radio, &tables::RLC)?,
            mac: wanted(radio && !spec.bearer.is_empty(), &tables::MAC)?,
            radio: wanted(radio && !spec.ue.is_empty(), &tables::RADIO)?,
            measurements: wanted(o.measurements && spec.handover.is_some(), &tables::MEASUREMENTS)?,
            positions: wanted(o.positions && !spec.ue.is_empty(), &tables::POSITIONS)?,
            hints: wanted(spec.hint.values().any(|h| h.record), &tables::HINTS)?,
            wifi: wanted(o.radio && !spec.station.is_empty(), &tables::WIFI)?,
            queues: wanted(o.queues && !spec.link.is_empty(), &tables::QUEUES)?,
            events: sink.table(&tables::EVENTS)?,
            drops: sink.table(&tables::DROPS)?,
            sampling: o.tcp,
            interval: o.interval,
        })
    }

    /// True when something is sampled at fixed times.
    pub fn samples(&self) -> bool {
        let tcp = self.tcp.is_some() && self.sampling == TcpSampling::Interval;
        let places = self.measurements.is_some() || self.positions.is_some();
        tcp || places || self.rlc.is_some() || self.wifi.is_some() || self.queues.is_some()
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        let Probes {
            tcp, packets, steps, rlc, mac, radio, measurements, positions, hints, wifi, queues, ..
        } = self;
        [tcp, packets, steps, rlc, mac, radio, measurements, positions, hints, wifi, queues]
            .into_iter()
            .flatten()
            .chain([&mut self.events, &mut self.drops])
    }

    /// The first write error, if there was one.
    pub fn take_error(&mut self) -> Option<Error> {
        self.all_mut().find_map(Table::take_error).map(Error::from)
    }

    /// Ends all tables.
    ///
    /// # Errors
    /// A table that could not be written.
    pub fn finish(self) -> Result<Vec<FinishedTable>, Error> {
        let Probes { tcp, packets, steps, rlc, mac, radio, .. } = self;
        let Probes { measurements, positions, hints, wifi, queues, events, drops, .. } = self;
        let always = [Some(events), Some(drops)];
        [tcp, packets, steps, rlc, mac, radio, measurements, positions, hints, wifi, queues]
            .into_iter()
            .chain(always)
            .flatten()
            .map(|t| t.finish().map_err(Error::from))
            .collect()
    }
}
