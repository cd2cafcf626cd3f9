//! Probes: the tables that a run writes while it goes on. A probe that is off is `None` and costs
//! one comparison.

pub mod tables;

use lasthop_capture::{FinishedTable, TableDef};
use lasthop_units::{Duration, Instant};

use crate::error::Error;
use crate::sink::{Sink, Table};
use crate::spec::{Scenario, Spec, TcpSampling};
use tables::{
    Drops, Events, Hints, Mac, Measurements, Packets, Positions, Queues, Radio, Rlc, Steps, Tcp, Wifi,
};

/// The tables that are written during a run, in the order of the documentation: the field of
/// [`Probes`], the row, and when a scenario wants the table.
macro_rules! probes {
    ($($field:ident: $Row:ident, |$spec:ident| $wanted:expr;)*) => {
        /// The tables in writing.
        pub struct Probes {
            $(pub(crate) $field: Option<Table<$Row<'static>>>,)*
            pub(crate) sampling: TcpSampling,
            pub(crate) interval: Duration,
        }

        /// The declarations.
        const DURING: &[&TableDef] = &[$($Row::TABLE,)*];

        /// The tables that runs of a scenario write while they go on. How a run ends decides which
        /// of `flows`, `applications` and `quality` it adds.
        pub fn recorded(scenario: &Scenario) -> Vec<&'static str> {
            let mut found = Vec::new();
            $({
                let $spec = scenario.spec();
                if $wanted {
                    found.push($Row::TABLE.name);
                }
            })*
            found
        }

        impl Probes {
            /// Opens the tables that the scenario asks for.
            ///
            /// # Errors
            /// A file that cannot be created.
            pub fn open(spec: &Spec, sink: &Sink) -> Result<Probes, Error> {
                $(
                    let $spec = spec;
                    let $field = if $wanted { Some(sink.table()?) } else { None };
                )*
                let (sampling, interval) = (spec.output.tcp, spec.output.interval);
                Ok(Probes { $($field,)* sampling, interval })
            }

            /// The first write error, if there was one.
            pub fn take_error(&mut self) -> Option<Error> {
                $(
                    if let Some(error) = self.$field.as_mut().and_then(Table::take_error) {
                        return Some(error.into());
                    }
                )*
                None
            }

            /// Ends all tables.
            ///
            /// # Errors
            /// A table that could not be written.
            pub fn finish(self) -> Result<Vec<FinishedTable>, Error> {
                let mut finished = Vec::new();
                $(
                    if let Some(table) = self.$field {
                        finished.push(table.finish()?);
                    }
                )*
                Ok(finished)
            }
        }
    };
}

probes! {
    tcp: Tcp, |s| s.output.tcp != TcpSampling::Off;
    packets: Packets, |s| s.output.packets;
    steps: Steps, |s| s.output.steps && !s.ue.is_empty();
    rlc: Rlc, |s| s.output.radio && !(s.bearer.is_empty() && s.ue.is_empty());
    mac: Mac, |s| s.output.radio && !s.bearer.is_empty();
    radio: Radio, |s| s.output.radio && !s.ue.is_empty();
    measurements: Measurements, |s| s.output.measurements && s.handover.is_some();
    positions: Positions, |s| s.output.positions && !s.ue.is_empty();
    hints: Hints, |s| s.hint.values().any(|h| h.record);
    wifi: Wifi, |s| s.output.radio && !s.station.is_empty();
    queues: Queues, |s| s.output.queues && !s.link.is_empty();
    events: Events, |_s| true;
    drops: Drops, |_s| true;
}

impl Probes {
    /// A row of the table `events`; an empty `detail` is none.
    #[cold]
    pub fn event(&mut self, now: Instant, source: &str, kind: &str, value: Option<f64>, detail: &str) {
        let Some(table) = &mut self.events else { return };
        table.push(&Events {
            time_s: now.as_secs_f64(),
            source,
            kind,
            value,
            detail: (!detail.is_empty()).then_some(detail),
        });
    }

    /// A row of the table `steps`.
    pub fn step(&mut self, row: Steps<'_>) {
        if let Some(table) = &mut self.steps {
            table.push(&row);
        }
    }

    /// True when something is sampled at fixed times.
    pub fn samples(&self) -> bool {
        let tcp = self.tcp.is_some() && self.sampling == TcpSampling::Interval;
        let places = self.measurements.is_some() || self.positions.is_some();
        tcp || places || self.rlc.is_some() || self.wifi.is_some() || self.queues.is_some()
    }
}
