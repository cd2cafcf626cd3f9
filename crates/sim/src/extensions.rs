//! Policies of the caller's own, by the names that a scenario uses.
//!
//! There is one set of definitions per kind of policy. A definition has a name, documentation,
//! parameters with defaults, a version that goes into the scenario's hash, and a constructor; a
//! scenario is read with the set, refuses names that are neither built in nor in it, and passes it
//! to its runs. Kinds are congestion controls, rate controls of media, and schedulers of cells.

use std::sync::Arc;

use lasthop_engine::custom;
use lasthop_lte::mac::scheduler;
use lasthop_lte::mac::scheduler::Schedulers;
use lasthop_net::app::media_variables;
use lasthop_net::media::{self, RateControlName, RateControls};
use lasthop_tcp::Options;
use lasthop_tcp::cc::{CongestionControl, ControlContext, Controls, Definition, variables};
use serde_json::{Value, json};

use crate::error::Error;

/// The caller's own policies. Cheap to clone; never changed once a scenario has it.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    controls: Arc<Controls>,
    rate_controls: Arc<RateControls>,
    schedulers: Arc<Schedulers>,
}

impl Extensions {
    /// Creates an empty set.
    pub fn new() -> Extensions {
        Extensions::default()
    }

    /// Adds a congestion control.
    ///
    /// # Errors
    /// The name is invalid or already defined.
    pub fn with_cc(mut self, definition: Definition) -> Result<Extensions, Error> {
        let controls = Arc::make_mut(&mut self.controls);
        controls.add(definition).map_err(|e| Error::input(e.to_string()))?;
        Ok(self)
    }

    /// Adds a rate control of media flows.
    ///
    /// # Errors
    /// The name is invalid or already defined.
    pub fn with_rate_control(mut self, definition: media::Definition) -> Result<Extensions, Error> {
        let controls = Arc::make_mut(&mut self.rate_controls);
        controls.add(definition).map_err(|e| Error::input(e.to_string()))?;
        Ok(self)
    }

    /// Adds a scheduler of cells.
    ///
    /// # Errors
    /// The name is invalid or already defined.
    pub fn with_scheduler(mut self, definition: scheduler::Definition) -> Result<Extensions, Error> {
        let schedulers = Arc::make_mut(&mut self.schedulers);
        schedulers.add(definition).map_err(|e| Error::input(e.to_string()))?;
        Ok(self)
    }

    /// The congestion controls.
    pub fn controls(&self) -> &Controls {
        &self.controls
    }

    /// The rate controls of media flows.
    pub fn rate_controls(&self) -> &RateControls {
        &self.rate_controls
    }

    /// The schedulers of cells.
    pub fn schedulers(&self) -> &Schedulers {
        &self.schedulers
    }

    /// The same JSON that [`describe`](crate::describe()) has for built-in policies.
    pub fn describe(&self) -> Value {
        json!({
            "cc": self.controls.iter().map(|d| self.control(d)).collect::<Vec<_>>(),
            "rate-control": self.rate_controls.iter().map(|d| self.rate_control(d)).collect::<Vec<_>>(),
            "scheduler": self.schedulers.iter().map(info).collect::<Vec<_>>(),
        })
    }

    /// The description of a congestion control, with the variables that it exposes when its
    /// parameters have their defaults.
    fn control(&self, definition: &Definition) -> Value {
        let options: Options = serde_json::from_value(json!({"profile": "linux-6", "cc": definition.name()}))
            .unwrap_or_default();
        let made = options.resolve_with(&self.controls).ok().and_then(|config| {
            let place = ControlContext { observed: true, ..ControlContext::default() };
            self.controls.build(&config, &options.cc_parameters, place).ok()
        });
        let mut found = info(definition);
        found["variables"] = json!(made.map(|cc| variables(|o| cc.observe(o))).unwrap_or_default());
        found
    }

    /// The description of a rate control.
    fn rate_control(&self, definition: &media::Definition) -> Value {
        let name = RateControlName::named(definition.name());
        let mut found = info(definition);
        found["variables"] =
            json!(name.map(|name| media_variables(name, &self.rate_controls)).unwrap_or_default());
        found
    }

    /// Name and version of the policies in this set that `cc`, `rate_control` or `scheduler` names;
    /// the latter two as `rate-control.<name>` and `scheduler.<name>`, because a congestion control
    /// may have the same name.
    pub(crate) fn identity(
        &self,
        cc: impl Fn(&str) -> bool,
        rate_control: impl Fn(&str) -> bool,
        scheduler: impl Fn(&str) -> bool,
    ) -> Vec<(String, String)> {
        let mut found: Vec<_> = self.controls.iter().filter(|d| cc(d.name())).map(version).collect();
        let rates = self.rate_controls.iter().filter(|d| rate_control(d.name())).map(version);
        found.extend(rates.map(|(name, version)| (format!("rate-control.{name}"), version)));
        let schedulers = self.schedulers.iter().filter(|d| scheduler(d.name())).map(version);
        found.extend(schedulers.map(|(name, version)| (format!("scheduler.{name}"), version)));
        found
    }
}

fn version<K: custom::PolicyKind>(d: &custom::Definition<K>) -> (String, String) {
    (d.name().to_owned(), d.code_version().to_owned())
}

fn info<K: custom::PolicyKind>(d: &custom::Definition<K>) -> Value {
    let parameter = |p: &custom::CustomParameter| json!({"name": p.name, "default": p.default, "unit": p.unit, "source": p.source});
    json!({
        "name": d.name(),
        "summary": d.about(),
        "source": d.origin(),
        "version": d.code_version(),
        "l4s": d.is_l4s(),
        "parameters": d.parameters().iter().map(parameter).collect::<Vec<_>>(),
    })
}
