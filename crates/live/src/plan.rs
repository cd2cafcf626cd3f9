//! The programs to run, and their nodes.

use serde::Deserialize;

/// The programs and devices of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// Node and command for the shell, in the order in which they start.
    pub programs: Vec<(String, String)>,
    /// A node in which the user's shell runs.
    pub shell: Option<String>,
    /// Node and TUN device that exists: no namespace is made for it.
    pub devices: Vec<(String, String)>,
    /// How late something may be [s].
    pub late_limit: f64,
    /// Real-time priority.
    pub real_time: bool,
    /// Standard output of programs is sent to standard error.
    pub quiet: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            programs: Vec::new(),
            shell: None,
            devices: Vec::new(),
            late_limit: 1e-3,
            real_time: false,
            quiet: false,
        }
    }
}
