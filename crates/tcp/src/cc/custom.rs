//! A caller's own congestion control, without a change in this crate.
//!
//! A [`Definition`] has the data that the registry has of a built-in control (name, documentation,
//! parameters with defaults), and a constructor; [`Controls`] is the set of definitions of a run.
//! Nothing is global: the caller that resolves [`Options`](crate::Options) passes the set. Built-in
//! algorithms are still called without a pointer; a control from here is called through a pointer.
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
//! let cc = controls.build(&config, &options.cc_parameters, ControlContext::default()).unwrap();
//! assert_eq!(cc.cwnd(), 4.0);
//! ```

use std::collections::BTreeMap;
use std::fmt;

use lasthop_engine::custom::{self, DefinitionError, Fault, Parameters, PolicyKind};

use super::{CcName, CongestionControl, CustomName};
use crate::config::Config;

/// The type of an external algorithm in [`Cc`](super::Cc): any [`CongestionControl`] that can be
/// copied and printed.
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

/// The connection of an algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlContext<'a> {
    /// The flow's name.
    pub flow: &'a str,
    /// The end that opened the connection.
    pub opener: bool,
    /// Its variables are recorded: changes while it is in use may be noted for
    /// [`CongestionControl::observe`].
    pub observed: bool,
}

/// The inputs of a constructor.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The stack it will work in.
    pub config: &'a Config,
    /// The connection it will control.
    pub place: ControlContext<'a>,
    parameters: Parameters<'a>,
}

impl Setup<'_> {
    /// The value of a parameter: the scenario's, else the default; 0 for one that the definition
    /// does not list.
    pub fn parameter(&self, name: &str) -> f64 {
        self.parameters.get(name)
    }
    /// The parameters that the scenario sets.
    pub fn given(&self) -> &BTreeMap<String, f64> {
        self.parameters.given()
    }
}

/// Congestion controls as a kind of policy.
#[derive(Clone, Copy, Debug)]
pub struct ControlKind;

impl PolicyKind for ControlKind {
    const WHAT: &'static str = "congestion control";
    type Setup<'a> = Setup<'a>;
    type Made = Box<dyn CustomControl>;
    fn is_built_in(name: &str) -> bool {
        name.parse::<CcName>().is_ok()
    }
}

/// A caller's own algorithm: its registry data, and its constructor, called once for each end of
/// each flow.
pub type Definition = custom::Definition<ControlKind>;

/// The caller's own algorithms, by name.
#[derive(Clone, Debug, Default)]
pub struct Controls(custom::Definitions<ControlKind>);

impl Controls {
    /// Adds a definition.
    ///
    /// # Errors
    /// The name is invalid or already defined.
    pub fn add(&mut self, definition: Definition) -> Result<(), DefinitionError> {
        self.0.add(definition)
    }
    /// The definition of this name.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.0.get(name)
    }
    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.0.iter()
    }

    /// The algorithm of this name.
    ///
    /// # Errors
    /// The error of the constructor; a name that is not registered.
    pub(super) fn make(
        &self,
        name: CustomName,
        config: &Config,
        parameters: &BTreeMap<String, f64>,
        place: ControlContext<'_>,
    ) -> Result<Box<dyn CustomControl>, Fault> {
        let definition = self.get(name.as_str());
        let definition = definition.ok_or_else(|| format!("no congestion control `{}`", name.as_str()))?;
        definition.build(&Setup { config, place, parameters: definition.values(parameters) })
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
        let unknown = match definition {
            Some(d) => d.unknown_parameter(given),
            None => given.keys().next().map(String::as_str),
        };
        let known =
            || definition.map_or(Vec::new(), |d| d.parameters().iter().map(|p| p.name.clone()).collect());
        unknown.map(|name| (name, known()))
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
    fn a_built_in_name_is_refused() {
        let named = |n| Definition::new(n, |s| Ok(Box::new(Reno::new(s.config))));
        let refused = DefinitionError::BuiltIn("congestion control", "reno".into());
        assert_eq!(controls().add(named("reno")), Err(refused));
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
            controls().build(&config, &p, ControlContext::default()).unwrap()
        };
        assert_eq!((build(&[]).cwnd(), build(&[("start", 3.0)]).cwnd()), (7.0, 3.0));
        let mut cc = build(&[]);
        let before = cc.clone();
        cc.set_cwnd(2.0);
        assert_eq!((before.cwnd(), cc.cwnd()), (7.0, 2.0));
        assert_eq!(Profile::Rfc.config().cc.name(), "reno");
    }
}
