//! A caller's own rate control, without a change in this crate.
//!
//! A [`Definition`] has the data that the registry has of a built-in control, and a constructor;
//! [`RateControls`] is the set of definitions of a run. Nothing is global: the code that creates an
//! application passes the set in.
//!
//! ```
//! use lasthop_net::media::*;
//!
//! /// Half of the encoder's highest rate, whatever the reports say.
//! #[derive(Clone, Debug)]
//! struct Half(f64);
//! impl RateControl for Half {
//!     fn on_feedback(&mut self, _: &Feedback<'_>) {}
//!     fn target(&self, _: u64) -> f64 { self.0 }
//! }
//!
//! let half = Definition::new("half", |s: &Setup<'_>| Ok(Box::new(Half(s.parameter("share") * s.rate.max))))
//!     .parameter("share", 0.5, "1", "this example");
//! let mut controls = RateControls::default();
//! controls.add(half).unwrap();
//! assert_eq!(controls.get("half").unwrap().parameters()[0].default, 0.5);
//! ```

use std::collections::BTreeMap;

use lasthop_engine::custom::{self, DefinitionError, Fault, Parameters, PolicyKind};

use super::control::{BoxedRateControl, RateSetup};
use super::mutant::Mutated;
use super::nada::Nada;
use super::name::RateControlName;
use super::{MediaControl, RateMutant};

/// The place of a rate control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateContext<'a> {
    /// The flow's name.
    pub flow: &'a str,
    /// For rate controls that draw: it depends on the run's seed and on the flow.
    pub seed: u64,
    /// Its variables are recorded: changes while it is in use may be noted for
    /// [`RateControl::observe`](super::RateControl::observe).
    pub observed: bool,
}

/// The inputs of a constructor.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The encoder and the packets that it will control.
    pub rate: RateSetup,
    /// The flow that it will control.
    pub place: RateContext<'a>,
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

/// Rate controls as a kind of policy.
#[derive(Clone, Copy, Debug)]
pub struct RateControlKind;

impl PolicyKind for RateControlKind {
    const WHAT: &'static str = "rate control";
    type Setup<'a> = Setup<'a>;
    type Made = Box<dyn BoxedRateControl>;
    fn is_built_in(name: &str) -> bool {
        name.parse::<RateControlName>().is_ok()
    }
}

/// A caller's own rate control: its registry data, and its constructor, called once for each media
/// flow.
pub type Definition = custom::Definition<RateControlKind>;

/// The caller's own rate controls, by name.
#[derive(Clone, Debug, Default)]
pub struct RateControls(custom::Definitions<RateControlKind>);

impl RateControls {
    /// One more.
    ///
    /// # Errors
    /// A name that cannot be one, or is taken.
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

    /// The rate control that a flow selects, built in or one of these.
    ///
    /// # Errors
    /// The error of the constructor; a name that is not registered.
    pub(crate) fn build(
        &self,
        control: &MediaControl<'_>,
        rate: RateSetup,
        place: RateContext<'_>,
    ) -> Result<Box<dyn BoxedRateControl>, Fault> {
        if let RateControlName::Custom(name) = control.name {
            let name = name.as_str();
            let definition = self.get(name).ok_or_else(|| format!("no rate control `{name}`"))?;
            return definition.build(&Setup {
                rate,
                place,
                parameters: definition.values(control.parameters),
            });
        }
        Ok(match control.mutant {
            None => control.name.build(&rate),
            Some(RateMutant::NeverSlower) => Box::new(Mutated::new(control.name.build(&rate))),
            Some(RateMutant::FixedReferenceDelay) => Box::new(Nada::with_fixed_reference(&rate)),
        })
    }

    /// The mistake in the name, the parameters or the mutant of a flow's control: the key, and the
    /// words that it may have.
    pub fn mistake(&self, control: &MediaControl<'_>) -> Option<ControlMistake> {
        let own = match control.name {
            RateControlName::Custom(name) => {
                let name = name.as_str();
                let Some(own) = self.get(name) else {
                    let built_in = super::RATE_CONTROLS.iter().map(|e| e.name.to_owned());
                    return Some(ControlMistake {
                        key: "control",
                        word: name.to_owned(),
                        message: format!("there is no rate control `{name}`"),
                        known: built_in.chain(self.iter().map(|d| d.name().to_owned())).collect(),
                    });
                };
                Some(own)
            }
            _ => None,
        };
        let unknown = match own {
            Some(own) => own.unknown_parameter(control.parameters),
            None => control.parameters.keys().next().map(String::as_str),
        };
        if let Some(word) = unknown {
            let name = control.name.name();
            let message = match own {
                Some(_) => format!("`{name}` has no parameter `{word}`"),
                None => format!("`{name}` is built in and has no parameters here"),
            };
            let known = own.map_or(Vec::new(), |d| d.parameters().iter().map(|p| p.name.clone()).collect());
            return Some(ControlMistake { key: "control_parameters", word: word.to_owned(), message, known });
        }
        let mutant = control.mutant.filter(|mutant| !mutant.fits(control.name))?;
        Some(ControlMistake {
            key: "mutant",
            word: mutant.name().to_owned(),
            message: format!("`{}` has no switch `{}`", control.name.name(), mutant.name()),
            known: RateMutant::of(control.name).map(|m| m.name().to_owned()).collect(),
        })
    }
}

/// A mistake in a flow's control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlMistake {
    /// The key of the application.
    pub key: &'static str,
    /// The word that is wrong.
    pub word: String,
    /// The mistake.
    pub message: String,
    /// The valid words; none: no word may be set.
    pub known: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::super::control::testing::setup;
    use super::super::{Feedback, RateControl};
    use super::*;

    #[derive(Clone, Debug)]
    struct Half(f64);
    impl RateControl for Half {
        fn on_feedback(&mut self, _: &Feedback<'_>) {}
        fn target(&self, _: u64) -> f64 {
            self.0
        }
    }

    fn controls() -> RateControls {
        let half =
            Definition::new("half", |s: &Setup<'_>| Ok(Box::new(Half(s.parameter("share") * s.rate.max))))
                .parameter("share", 0.5, "1", "this test");
        let mut controls = RateControls::default();
        controls.add(half).unwrap();
        controls
    }

    fn control<'a>(name: &str, parameters: &'a BTreeMap<String, f64>) -> MediaControl<'a> {
        MediaControl { name: RateControlName::named(name).unwrap(), parameters, mutant: None }
    }

    #[test]
    fn a_name_or_parameter_that_is_not_there_comes_back_with_those_that_are() {
        let none = BTreeMap::new();
        let given = BTreeMap::from([("shear".to_owned(), 0.3)]);
        assert_eq!(controls().mistake(&control("half", &none)), None);
        let wrong = controls().mistake(&control("halv", &none)).unwrap();
        assert_eq!((wrong.key, wrong.known.last().map(String::as_str)), ("control", Some("half")));
        let wrong = controls().mistake(&control("half", &given)).unwrap();
        assert_eq!((wrong.key, wrong.known), ("control_parameters", vec!["share".to_owned()]));
        let wrong = controls().mistake(&control("nada", &given)).unwrap();
        assert_eq!((wrong.key, wrong.known.len()), ("control_parameters", 0));
        let mutant = Some(RateMutant::FixedReferenceDelay);
        let wrong = controls().mistake(&MediaControl { mutant, ..control("gcc", &none) }).unwrap();
        assert_eq!((wrong.key, wrong.known), ("mutant", vec!["never-slower".to_owned()]));
        assert_eq!(controls().mistake(&MediaControl { mutant, ..control("nada", &none) }), None);
    }

    #[test]
    fn what_is_built_has_the_scenarios_parameters() {
        let (none, given) = (BTreeMap::new(), BTreeMap::from([("share".to_owned(), 0.2)]));
        let target = |parameters| {
            let made = controls().build(&control("half", parameters), setup(), RateContext::default());
            made.unwrap().target(0)
        };
        // Half and a fifth of the 1.5 Mbit/s of `setup`.
        assert_eq!((target(&none), target(&given)), (750e3, 300e3));
        let gone = RateControls::default().build(&control("half", &none), setup(), RateContext::default());
        assert!(gone.unwrap_err().message.contains("no rate control `half`"));
    }
}
