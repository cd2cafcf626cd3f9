//! Probes: the tables that a run writes during the run. A probe that is off is `None` and takes one
//! comparison.

#[macro_use]
pub mod tables;

use lasthop_capture::FinishedTable;
use lasthop_units::{Duration, Instant};

use crate::error::Error;
use crate::sink::{Sink, Table};
use crate::spec::{ControlSampling, Scenario, Spec, TcpSampling};
use tables::{Events, RlcPdus, Steps};

/// Sampling besides that of the sampled tables.
pub(crate) struct Sampling {
    pub tcp: TcpSampling,
    pub control: ControlSampling,
    /// Patterns of the variables of controls that are written; none: all.
    pub control_variables: Vec<String>,
    /// True if senders are sampled after each packet and timer.
    pub senders: bool,
    /// True if the outcome of each packet is recorded.
    pub packets: bool,
    pub interval: Duration,
}

impl Sampling {
    fn of(spec: &Spec) -> Sampling {
        let output = &spec.output;
        Sampling {
            tcp: output.tcp,
            control: output.cc,
            control_variables: output.cc_variables.clone(),
            senders: output.cc != ControlSampling::Off || spec.waits_for_senders(),
            packets: output.packets || output.explain || output.windows.is_some(),
            interval: output.interval,
        }
    }
}

macro_rules! probes {
    ($($field:ident: $Row:ident, $($sampled:ident,)? |$spec:ident| $wanted:expr;)*) => {
        /// The tables of a run.
        pub struct Probes {
            $(pub(crate) $field: Option<Table<tables::$Row<'static>>>,)*
            pub(crate) sampling: Sampling,
        }

        /// The tables that runs of a scenario write during the run. The state at the end of a run
        /// determines which of `flows`, `applications` and `quality` it adds.
        pub fn recorded(scenario: &Scenario) -> Vec<&'static str> {
            let mut found = Vec::new();
            $({
                let $spec = scenario.spec();
                if $wanted {
                    found.push(tables::$Row::TABLE.name);
                }
            })*
            found
        }

        impl Probes {
            /// Opens the tables that the scenario selects.
            ///
            /// # Errors
            /// A file that cannot be created.
            pub fn open(spec: &Spec, sink: &Sink) -> Result<Probes, Error> {
                $(
                    let $spec = spec;
                    let $field = if $wanted { Some(sink.table()?) } else { None };
                )*
                Ok(Probes { $($field,)* sampling: Sampling::of(spec) })
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

            /// True if a table is sampled every `output.interval`.
            pub fn samples(&self) -> bool {
                let tcp = self.tcp.is_some() && self.sampling.tcp == TcpSampling::Interval;
                let control = self.sampling.control == ControlSampling::Interval;
                tcp || control $($(|| {
                    // Expands only if the entry is marked.
                    const _: &str = stringify!($sampled);
                    self.$field.is_some()
                })?)*
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

tables_during_a_run!(probes);

impl Probes {
    /// Writes a row of the table `events`; an empty `detail` becomes null.
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

    /// Writes a row of the table `rlc_pdus`.
    pub fn rlc_pdu(&mut self, row: RlcPdus<'_>) {
        if let Some(table) = &mut self.rlc_pdus {
            table.push(&row);
        }
    }

    /// Writes a row of the table `steps`.
    pub fn step(&mut self, row: Steps<'_>) {
        if let Some(table) = &mut self.steps {
            table.push(&row);
        }
    }
}
