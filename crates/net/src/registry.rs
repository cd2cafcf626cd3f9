//! The descriptions of plug-ins by name: one table per kind of plug-in, from which everything else
//! is derived.

use thiserror::Error;

/// One plug-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in scenario files.
    pub name: &'static str,
    /// Its function, in one line.
    pub summary: &'static str,
    /// Its source: a paper, an RFC, a simulator.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

/// One parameter of a plug-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The key in scenario files.
    pub name: &'static str,
    /// The default as a scenario would write it, or words.
    pub default: &'static str,
    /// Its meaning, with its unit if it has one.
    pub summary: &'static str,
}

/// A parameter, for the table of a kind of plug-in.
pub(crate) const fn parameter(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, default, summary }
}

/// A key that is wrong, and the reason.
pub(crate) type Wrong = (&'static str, String);

/// A name that is in no table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no {what} `{name}` (known: {known})")]
pub struct UnknownName {
    /// The kind of plug-in.
    pub what: &'static str,
    /// The name as written.
    pub name: String,
    /// The names that exist.
    pub known: String,
}

/// The entry called `name`.
pub(crate) fn find(
    what: &'static str,
    table: &'static [Entry],
    name: &str,
) -> Result<&'static Entry, UnknownName> {
    table.iter().find(|e| e.name == name).ok_or_else(|| UnknownName {
        what,
        name: name.to_owned(),
        known: table.iter().map(|e| e.name).collect::<Vec<_>>().join(", "),
    })
}
