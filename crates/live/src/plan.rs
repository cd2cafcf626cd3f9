//! The programs to run, and their nodes.

use serde::Deserialize;

/// The programs and devices of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// Node and command for the shell, in the order in which they start.
    pub programs: Vec<(String, String)>,
    /// A node in which the user's shell runs.
    pub shell: Option<String>,
    /// Node and TUN device that exists: no namespace is made for it.
    pub devices: Vec<(String, String)>,
    /// Real-time priority.
    pub real_time: bool,
    /// Standard output of programs is sent to standard error.
    pub quiet: bool,
}
