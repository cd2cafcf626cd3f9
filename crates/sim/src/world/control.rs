//! The table `cc`: variables of a sender and its congestion control.
//!
//! A control gives all its variables at each reading. The stored earlier values determine which of
//! them are written.

use lasthop_net::app::App;
use lasthop_units::Instant;

use crate::event::End;
use crate::probe::{Probes, tables};
use crate::sink::Table;
use crate::spec::{ControlSampling, ROUND, matches_pattern};
use crate::transport::{Observation, Observed, Observer, Transport};

/// The occasion of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// `output.interval` has passed.
    Sample,
    /// It has processed a packet, and sent nothing yet.
    Arrival,
    /// A timer of it has expired, or it has sent all that it may.
    Other,
}

/// State of the table `cc` for a sender.
#[derive(Debug, Default)]
pub struct ControlWatch {
    /// The variables in the order in which they are given.
    known: Vec<Known>,
    rounds: Rounds,
}

/// Round trips of the data: one ends with the first ACK of data that was sent after its start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    count: u64,
    /// The first octet that was not sent when the current round began; 0: none has begun.
    ends_at: u64,
}

impl Rounds {
    /// Starts a round now.
    pub fn begin(seen: Seen<'_>) -> Rounds {
        let ends_at = seen.transport.stream_octets_sent(seen.end).map_or(0, |[_, nxt]| nxt);
        Rounds { count: 0, ends_at }
    }
    /// The number of rounds that have ended; `None`: this transport has no stream.
    pub fn look(&mut self, seen: Seen<'_>, moment: Moment) -> Option<u64> {
        let [una, nxt] = seen.transport.stream_octets_sent(seen.end)?;
        if moment == Moment::Arrival && una > self.ends_at {
            self.count += u64::from(self.ends_at > 0);
            self.ends_at = nxt;
        }
        Some(self.count)
    }
}

/// The last value of a variable.
#[derive(Debug)]
struct Known {
    name: Box<str>,
    value: Last,
    /// True if it is written (`output.cc_variables`).
    wanted: bool,
}

#[derive(Debug, PartialEq)]
enum Last {
    Nothing,
    /// Its bits; `None`: empty.
    Number(Option<u64>),
    Text(Box<str>),
    /// Number of changes of a state that were written.
    Changes(u64),
}

/// A sender: the name of its flow, its transport, its application and its end.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub name: &'a str,
    pub transport: &'a Transport,
    pub app: &'a App,
    pub end: End,
}

impl Seen<'_> {
    /// Gives `o` its variables: those of the transport, or of media's rate control.
    pub fn observe(self, o: &mut Observer<'_>) {
        self.transport.observe(self.end, o);
        self.app.observe(o);
    }
}

impl ControlWatch {
    /// Writes rows of the table `cc` for a sender.
    pub(super) fn note(&mut self, seen: Seen<'_>, probes: &mut Probes, now: Instant, moment: Moment) {
        let every = match (probes.sampling.control, moment) {
            (ControlSampling::Interval, Moment::Sample) | (ControlSampling::Ack, Moment::Arrival) => true,
            (ControlSampling::Off | ControlSampling::Interval, _) | (_, Moment::Sample) => return,
            (ControlSampling::Ack | ControlSampling::Change, _) => false,
        };
        let Some(table) = &mut probes.cc else { return };
        let steps = moment != Moment::Sample;
        let round = steps.then(|| self.rounds.look(seen, moment)).flatten();
        let time_s = now.as_secs_f64();
        let mut writer = Writer {
            table,
            time_s,
            flow: seen.name,
            known: &mut self.known,
            filter: &probes.sampling.control_variables,
            next: 0,
            every,
            steps,
        };
        if let Some(round) = round {
            let [name, unit, about] = ROUND;
            let value = Observed::Number(Some(round as f64));
            writer.take(&Observation { name, unit, about, states: &[], value });
        }
        seen.observe(&mut Observer::new(&mut |o| writer.take(o)));
    }
}

/// Writes the rows of one reading of a sender.
struct Writer<'a> {
    table: &'a mut Table<tables::Cc<'static>>,
    time_s: f64,
    flow: &'a str,
    known: &'a mut Vec<Known>,
    /// Patterns of the variables that are written; none: all.
    filter: &'a [String],
    /// Index at which the next variable is expected.
    next: usize,
    /// True if all variables have a row, otherwise those that have changed.
    every: bool,
    /// True if changes since the last reading have a row each.
    steps: bool,
}

impl Writer<'_> {
    fn take(&mut self, o: &Observation<'_>) {
        if !self.filter.is_empty() && !self.is_wanted(o.name) {
            return;
        }
        match o.value {
            Observed::Number(value) => {
                let bits = value.map(f64::to_bits);
                let last = self.last(o.name);
                if std::mem::replace(last, Last::Number(bits)) != Last::Number(bits) || self.every {
                    self.row(o, value, None);
                }
            }
            Observed::Text(text) => self.take_text(o, text),
            Observed::Trail { changes, latest } => self.take_trail(o, changes, latest),
            Observed::NotedNumber(value) if self.steps => {
                *self.noted(o.name) = Last::Number(Some(value.to_bits()));
                self.row(o, Some(value), None);
            }
            Observed::NotedText(text) if self.steps => {
                *self.noted(o.name) = Last::Text(text.into());
                self.row(o, None, Some(text));
            }
            Observed::NotedNumber(_) | Observed::NotedText(_) => {}
        }
    }

    fn take_text(&mut self, o: &Observation<'_>, text: &str) {
        let last = self.last(o.name);
        let changed = !matches!(last, Last::Text(before) if **before == *text);
        if changed {
            *last = Last::Text(text.into());
        }
        if changed || self.every {
            self.row(o, None, Some(text));
        }
    }

    /// Writes a row for each change since the last reading. A control of the caller's own may have
    /// no state yet, and may count from 0 again.
    fn take_trail(&mut self, o: &Observation<'_>, changes: u64, latest: &[&str]) {
        let last = self.last(o.name);
        let before = if let Last::Changes(n) = *last { n } else { 0 };
        *last = Last::Changes(changes);
        let fresh = (changes.saturating_sub(before) as usize).min(latest.len());
        let wanted = if self.steps { fresh.max(usize::from(self.every)) } else { 1 };
        if wanted > latest.len() {
            return self.row(o, None, None);
        }
        for text in &latest[latest.len() - wanted..] {
            self.row(o, None, Some(text));
        }
    }

    fn row(&mut self, o: &Observation<'_>, value: Option<f64>, text: Option<&str>) {
        let (time_s, flow) = (self.time_s, self.flow);
        self.table.push(&tables::Cc { time_s, flow, variable: o.name, value, text, unit: o.unit });
    }

    fn is_wanted(&mut self, name: &str) -> bool {
        let i = self.expect(name);
        if !self.known[i].wanted {
            self.next = i + 1;
        }
        self.known[i].wanted
    }
    /// The index of the next variable: mostly after the previous one.
    fn expect(&mut self, name: &str) -> usize {
        let expected = self.known.get(self.next).is_some_and(|k| *k.name == *name);
        if expected { self.next } else { self.place(name) }
    }
    /// The last value of the next variable.
    fn last(&mut self, name: &str) -> &mut Last {
        let i = self.expect(name);
        self.next = i + 1;
        &mut self.known[i].value
    }
    /// The last value of a variable that may be given later.
    fn noted(&mut self, name: &str) -> &mut Last {
        let i = self.place(name);
        &mut self.known[i].value
    }
    fn place(&mut self, name: &str) -> usize {
        self.known.iter().position(|k| *k.name == *name).unwrap_or_else(|| {
            let wanted = self.filter.is_empty() || self.filter.iter().any(|p| matches_pattern(p, name));
            self.known.push(Known { name: name.into(), value: Last::Nothing, wanted });
            self.known.len() - 1
        })
    }
}
