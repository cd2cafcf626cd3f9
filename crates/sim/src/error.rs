//! Errors of runs, with messages for users.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::config::{self, Diagnostics};

/// The reason why there is no result.
#[derive(Debug)]
pub enum Error {
    /// Mistakes in an input: each with its place and, where there is one, the remedy.
    Input(Diagnostics),
    /// A file could not be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// The operation: "read", "write", "create".
        doing: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The result folder is not empty, or another run is writing it.
    InUse(String),
    /// A policy of the caller's own failed; its error is the source.
    Policy(lasthop_tcp::cc::Fault),
    /// The caller stopped the run.
    Stopped,
}

impl Error {
    /// A mistake without a place in a file.
    pub fn input(message: impl Into<String>) -> Error {
        Error::Input(Diagnostics(vec![config::Diagnostic::error("", message)]))
    }
    /// A failed file operation.
    pub fn file(doing: &'static str, path: &Path, source: std::io::Error) -> Error {
        Error::File { path: path.to_owned(), doing, source }
    }
    /// The message without places and source lines, for a message that adds its own.
    pub fn message(&self) -> String {
        match self {
            Error::Input(d) => d.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; "),
            Error::Policy(fault) => fault.message.clone(),
            Error::InUse(message) => message.clone(),
            other => other.to_string(),
        }
    }
    /// The diagnostics as a JSON list.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Error::Input(d) => d.to_json(),
            other => Error::input(other.message()).to_json(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input(d) => d.fmt(f),
            Error::File { path, doing, source } => write!(f, "cannot {doing} {}: {source}", path.display()),
            Error::Policy(fault) => write!(f, "error: {}", fault.message),
            Error::InUse(message) => write!(f, "error: {message}"),
            Error::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Error {}

impl From<config::Diagnostic> for Error {
    fn from(d: config::Diagnostic) -> Error {
        Error::Input(d.into())
    }
}

impl From<lasthop_capture::CaptureError> for Error {
    fn from(e: lasthop_capture::CaptureError) -> Error {
        Error::input(e.to_string())
    }
}

impl From<Diagnostics> for Error {
    fn from(d: Diagnostics) -> Error {
        Error::Input(d)
    }
}
