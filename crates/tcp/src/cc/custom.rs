//! A congestion control of the caller's own, without a change in this crate.
//!
//! A [`Definition`] says what the registry says of a built-in one (name, documentation, parameters with defaults) and
//! how to make one; [`Controls`] is the set of them that a run knows. Nothing is global: whoever resolves
//! [`Options`](crate::Options) hands the set in. A built-in algorithm costs no more for it, one from here is called
//! through a pointer.
//!
//! ```
//! use lasthop_tcp::cc::*;
//! use lasthop_tcp::{CcName, Options};
//!
//! #[derive(Clone, Debug)]
//! struct Fixed(f64);
//! impl CongestionControl for Fixed {
//!     fn cwnd(&self) -> f64 { self.0 }
//!     fn ssthresh(&self) -> f64 { f64::INFINITY }
//!     fn on_established(&mut self, _: &Established) {}
//!     fn on_ack(&mut self, _: &AckSample) {}
//!     fn on_congestion(&mut self, _: &Congestion) {}
//!     fn on_timeout(&mut self, _: &Congestion) {}
//!     fn set_cwnd(&mut self, _: f64) {}
//! }
//!
//! let fixed = Definition::new("fixed", |setup| Ok(Box::new(Fixed(setup.parameter("window")))))
//!     .summary("the same window for ever")
//!     .parameter("window", 10.0, "segments", "this example");
//! let mut controls = Controls::default();
//! controls.add(fixed).unwrap();
//! let options: Options = toml::from_str("cc = 'fixed'\ncc_parameters = { window = 4 }").unwrap();
//! let config = options.resolve_with(&controls).unwrap();
//! assert_eq!(config.cc.name(), "fixed");
//! let cc = controls.build(&config, &options.cc_parameters, Place::default()).unwrap();
//! assert_eq!(cc.cwnd(), 4.0);
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::name::{CcName, CustomName};
use super::{Cc, CongestionControl};
use crate::config::Config;

/// What [`Cc`] holds of an algorithm from outside: any [`CongestionControl`] that can be copied and shown.
pub trait CustomControl: CongestionControl + fmt::Debug + Send {
    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn CustomControl>;
}

impl<T: CongestionControl + Clone + fmt::Debug + Send + 'static> CustomControl for T {
    fn boxed_clone(&self) -> Box<dyn CustomControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CustomControl> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

/// What went wrong in the algorithm's code.
#[derive(Clone, Debug)]
pub struct Fault {
    /// In words: whose code, where.
    pub message: String,
    /// The error behind it, if there is one.
    pub cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Fault { message, cause: None }
    }
}

/// Where an algorithm is put to work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The flow's name.
    pub flow: &'a str,
    /// The end that opened the connection.
    pub opener: bool,
}

/// What a constructor may look at.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The stack it will work in.
    pub config: &'a Config,
    /// Where.
    pub place: Place<'a>,
    parameters: &'a BTreeMap<String, f64>,
    defaults: &'a [OwnParameter],
}

impl Setup<'_> {
    /// The value of a parameter: the scenario's, else the default; 0 for one that the definition does not list.
    pub fn parameter(&self, name: &str) -> f64 {
        let default = || self.defaults.iter().find(|p| p.name == name).map_or(0.0, |p| p.default);
        self.parameters.get(name).copied().unwrap_or_else(default)
    }
    /// The parameters that the scenario sets.
    pub fn given(&self) -> &BTreeMap<String, f64> {
        self.parameters
    }
}

/// A parameter of an algorithm of the caller's own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnParameter {
    /// Key under `[flow.<name>.tcp.cc_parameters]`.
    pub name: String,
    /// Default.
    pub default: f64,
    /// Unit.
    pub unit: String,
    /// Where the default comes from.
    pub source: String,
}

type Build = dyn Fn(&Setup<'_>) -> Result<Box<dyn CustomControl>, Fault> + Send + Sync;

/// An algorithm of the caller's own: what the registry says of it, and how to make one.
#[derive(Clone)]
pub struct Definition {
    name: String,
    summary: String,
    source: String,
    version: String,
    parameters: Vec<OwnParameter>,
    /// Parameters are what the constructor says they are.
    any_parameter: bool,
    build: Arc<Build>,
}

impl Definition {
    /// An algorithm that a scenario calls `name` and `build` makes, once for each end of each flow.
    pub fn new(
        name: &str,
        build: impl Fn(&Setup<'_>) -> Result<Box<dyn CustomControl>, Fault> + Send + Sync + 'static,
    ) -> Definition {
        Definition {
            name: name.to_owned(),
            summary: String::new(),
            source: String::new(),
            version: String::new(),
            parameters: Vec::new(),
            any_parameter: false,
            build: Arc::new(build),
        }
    }
    /// One line for a list.
    #[must_use]
    pub fn summary(mut self, text: &str) -> Definition {
        text.clone_into(&mut self.summary);
        self
    }
    /// Paper or standard.
    #[must_use]
    pub fn source(mut self, text: &str) -> Definition {
        text.clone_into(&mut self.source);
        self
    }
    /// What changes when the algorithm does: it is part of the scenario's hash.
    #[must_use]
    pub fn version(mut self, text: &str) -> Definition {
        text.clone_into(&mut self.version);
        self
    }
    /// One more parameter.
    #[must_use]
    pub fn parameter(mut self, name: &str, default: f64, unit: &str, source: &str) -> Definition {
        let [name, unit, source] = [name, unit, source].map(str::to_owned);
        self.parameters.push(OwnParameter { name, default, unit, source });
        self
    }
    /// Takes any parameter; the constructor complains.
    #[must_use]
    pub fn any_parameter(mut self) -> Definition {
        self.any_parameter = true;
        self
    }

    /// The name in scenarios.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// What identifies the algorithm's code.
    pub fn code_version(&self) -> &str {
        &self.version
    }
    /// The parameters.
    pub fn parameters(&self) -> &[OwnParameter] {
        &self.parameters
    }
    /// What `describe` says of a built-in one, under the same keys.
    pub fn info(&self) -> OwnAlgorithmInfo<'_> {
        OwnAlgorithmInfo {
            name: &self.name,
            summary: &self.summary,
            source: &self.source,
            version: &self.version,
            parameters: &self.parameters,
        }
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info().fmt(f)
    }
}

/// An algorithm of the caller's own, for the documentation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OwnAlgorithmInfo<'a> {
    /// The name in scenarios.
    pub name: &'a str,
    /// One line.
    pub summary: &'a str,
    /// Paper or standard.
    pub source: &'a str,
    /// What identifies the code.
    pub version: &'a str,
    /// Parameters.
    pub parameters: &'a [OwnParameter],
}

/// Why a definition is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// Not a name.
    #[error("`{0}` cannot name a congestion control: 1 to 31 lower-case letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// A built-in algorithm has this name.
    #[error("`{0}` is a built-in congestion control: choose another name")]
    BuiltIn(String),
    /// Two definitions of one name.
    #[error("`{0}` is defined twice")]
    Twice(String),
}

/// The algorithms of the caller's own, by name.
#[derive(Clone, Debug, Default)]
pub struct Controls(BTreeMap<String, Definition>);

impl Controls {
    /// One more.
    ///
    /// # Errors
    /// A name that cannot be one, or is taken.
    pub fn add(&mut self, definition: Definition) -> Result<(), DefinitionError> {
        let name = definition.name.clone();
        if name.parse::<CcName>().is_ok() {
            return Err(DefinitionError::BuiltIn(name));
        }
        if CustomName::new(&name).is_none() {
            return Err(DefinitionError::Name(name));
        }
        if self.0.contains_key(&name) {
            return Err(DefinitionError::Twice(name));
        }
        self.0.insert(name, definition);
        Ok(())
    }
    /// The definition of this name.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.0.get(name)
    }
    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.0.values()
    }

    /// The algorithm that `config` names, built in or one of these.
    ///
    /// # Errors
    /// What the constructor says; a name that is not here.
    pub fn build(
        &self,
        config: &Config,
        parameters: &BTreeMap<String, f64>,
        place: Place<'_>,
    ) -> Result<Cc, Fault> {
        let CcName::Custom(name) = config.cc else { return Ok(Cc::new(config)) };
        let definition = self.get(name.as_str());
        let definition = definition.ok_or_else(|| format!("no congestion control `{}`", name.as_str()))?;
        let setup = Setup { config, place, parameters, defaults: &definition.parameters };
        (definition.build)(&setup).map(Cc::Custom)
    }

    /// The first parameter that the algorithm `cc` does not have, and those it has.
    pub fn unknown_parameter<'a>(
        &self,
        cc: CcName,
        given: &'a BTreeMap<String, f64>,
    ) -> Option<(&'a str, Vec<String>)> {
        let definition = match cc {
            CcName::Custom(name) => self.get(name.as_str()),
            _ => None,
        };
        if definition.is_some_and(|d| d.any_parameter) {
            return None;
        }
        let known: Vec<String> =
            definition.map_or(Vec::new(), |d| d.parameters.iter().map(|p| p.name.clone()).collect());
        given.keys().find(|k| !known.contains(k)).map(|k| (k.as_str(), known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Reno;
    use crate::{Options, Profile};

    fn mine() -> Definition {
        Definition::new("mine", |s| {
            let mut reno = Reno::new(s.config);
            reno.set_cwnd(s.parameter("start"));
            Ok(Box::new(reno))
        })
        .parameter("start", 7.0, "segments", "this test")
    }

    fn controls() -> Controls {
        let mut controls = Controls::default();
        controls.add(mine()).unwrap();
        controls
    }

    #[test]
    fn names_that_are_taken_or_no_names_are_refused() {
        let mut c = controls();
        assert_eq!(c.add(mine()), Err(DefinitionError::Twice("mine".into())));
        let named = |n| Definition::new(n, |s| Ok(Box::new(Reno::new(s.config))));
        assert_eq!(c.add(named("reno")), Err(DefinitionError::BuiltIn("reno".into())));
        for wrong in ["", "Mine", "a b", &"x".repeat(32)] {
            assert_eq!(c.add(named(wrong)), Err(DefinitionError::Name(wrong.into())));
        }
    }

    #[test]
    fn an_unregistered_name_or_parameter_is_refused_with_the_near_ones() {
        let o = |text: &str| toml::from_str::<Options>(text).unwrap();
        assert_eq!(o("cc = 'mine'").resolve().unwrap_err().key, "cc");
        assert!(o("cc = 'mine'").resolve_with(&controls()).is_ok());
        let e = o("cc = 'mine'\ncc_parameters.strat = 3").resolve_with(&controls()).unwrap_err();
        assert_eq!((e.key, e.known), ("cc_parameters", vec!["start".to_owned()]));
        let e = o("cc = 'reno'\ncc_parameters.start = 3").resolve_with(&controls()).unwrap_err();
        assert!(e.problem.contains("`reno` is built in"), "{e}");
    }

    #[test]
    fn what_is_built_has_the_scenarios_parameters_and_copies_keep_their_state() {
        let o = Options { cc: CustomName::new("mine").map(CcName::Custom), ..Options::default() };
        let config = o.resolve_with(&controls()).unwrap();
        let build = |p: &[(&str, f64)]| {
            let p = p.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
            controls().build(&config, &p, Place::default()).unwrap()
        };
        assert_eq!((build(&[]).cwnd(), build(&[("start", 3.0)]).cwnd()), (7.0, 3.0));
        let mut cc = build(&[]);
        let before = cc.clone();
        cc.set_cwnd(2.0);
        assert_eq!((before.cwnd(), cc.cwnd()), (7.0, 2.0));
        assert_eq!(Profile::Rfc.config().cc.name(), "reno");
    }
}
