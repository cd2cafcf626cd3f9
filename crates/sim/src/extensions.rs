//! What a caller brings along: policies of their own, by the names that a scenario uses.
//!
//! One set of definitions per kind of policy. A definition has a name, documentation, parameters with defaults, a
//! version that goes into the scenario's hash, and a constructor; a scenario is read with the set, refuses names that
//! are neither built in nor in it, and carries it to its runs. Congestion controls are the first kind; a scheduler
//! would be the second, with the same life.

use std::sync::Arc;

use lasthop_tcp::cc::{Controls, Definition};
use serde_json::{Value, json};

use crate::error::Error;

/// The caller's own policies. Cheap to clone; never changed once a scenario has it.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    controls: Arc<Controls>,
}

impl Extensions {
    /// None.
    pub fn new() -> Extensions {
        Extensions::default()
    }

    /// These and one more congestion control.
    ///
    /// # Errors
    /// A name that cannot be one, or is taken.
    pub fn with_cc(mut self, definition: Definition) -> Result<Extensions, Error> {
        let controls = Arc::make_mut(&mut self.controls);
        controls.add(definition).map_err(|e| Error::input(e.to_string()))?;
        Ok(self)
    }

    /// The congestion controls.
    pub fn controls(&self) -> &Controls {
        &self.controls
    }

    /// The same JSON that [`describe`](crate::describe()) has for what is built in.
    pub fn describe(&self) -> Value {
        let cc: Vec<_> = self.controls.iter().map(|d| json!(d.info())).collect();
        json!({ "cc": cc })
    }

    /// Name and version of everything in here that `used` names.
    pub(crate) fn identity(&self, used: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let named = |d: &Definition| (d.name().to_owned(), d.code_version().to_owned());
        self.controls.iter().filter(|d| used(d.name())).map(named).collect()
    }
}
