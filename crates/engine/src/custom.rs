//! Policies of the caller's own, of any kind (congestion controls, schedulers): their definitions,
//! and the set of them that a run has. The crate that calls a policy defines input and result of
//! its constructor: a [`PolicyKind`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, Error, VariantAccess, Visitor};

/// A kind of policy that a caller may add.
pub trait PolicyKind: 'static {
    /// The name of the kind in messages: "congestion control".
    const WHAT: &'static str;
    /// The input of a constructor.
    type Setup<'a>;
    /// The result of a constructor.
    type Made;
    /// True for the name of a built-in policy.
    fn is_built_in(name: &str) -> bool;
}

/// An error in a policy's code.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The message, with the policy and the place.
    pub message: String,
    /// The error behind it, if there is one.
    pub cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Fault { message, cause: None }
    }
}

/// A parameter of a policy of the caller's own.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomParameter {
    /// Its key in scenarios.
    pub name: String,
    /// Default.
    pub default: f64,
    /// Unit.
    pub unit: String,
    /// The source of the default.
    pub source: String,
}

/// The parameters of a policy at its construction: the scenario's, and the definition's defaults.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    given: &'a BTreeMap<String, f64>,
    defaults: &'a [CustomParameter],
}

impl<'a> Parameters<'a> {
    /// The value of a parameter: the scenario's, else the default; 0 for one that the definition
    /// does not list.
    pub fn get(&self, name: &str) -> f64 {
        let default = || self.defaults.iter().find(|p| p.name == name).map_or(0.0, |p| p.default);
        self.given.get(name).copied().unwrap_or_else(default)
    }
    /// The parameters that the scenario sets.
    pub const fn given(&self) -> &'a BTreeMap<String, f64> {
        self.given
    }
}

type Build<K> = dyn for<'a, 'b> Fn(&'b <K as PolicyKind>::Setup<'a>) -> Result<<K as PolicyKind>::Made, Fault>
    + Send
    + Sync;

/// A policy of the caller's own: the entry that a built-in one has in the registry, and its
/// constructor.
pub struct Definition<K: PolicyKind> {
    name: String,
    summary: String,
    source: String,
    version: String,
    parameters: Vec<CustomParameter>,
    /// True if the constructor checks the names of parameters.
    any_parameter: bool,
    l4s: bool,
    build: Arc<Build<K>>,
}

impl<K: PolicyKind> Definition<K> {
    /// Creates the definition of a policy with the name `name` in scenarios, made by `build`.
    pub fn new(
        name: &str,
        build: impl for<'a, 'b> Fn(&'b K::Setup<'a>) -> Result<K::Made, Fault> + Send + Sync + 'static,
    ) -> Definition<K> {
        Definition {
            name: name.to_owned(),
            summary: String::new(),
            source: String::new(),
            version: String::new(),
            parameters: Vec::new(),
            any_parameter: false,
            l4s: false,
            build: Arc::new(build),
        }
    }
    /// Sets the line of text for lists.
    #[must_use]
    pub fn summary(mut self, text: &str) -> Self {
        text.clone_into(&mut self.summary);
        self
    }
    /// Sets the paper or standard.
    #[must_use]
    pub fn source(mut self, text: &str) -> Self {
        text.clone_into(&mut self.source);
        self
    }
    /// Sets the version, which must change with the policy's code: it is part of the scenario's
    /// hash.
    #[must_use]
    pub fn version(mut self, text: &str) -> Self {
        text.clone_into(&mut self.version);
        self
    }
    /// Adds a parameter.
    #[must_use]
    pub fn parameter(mut self, name: &str, default: f64, unit: &str, source: &str) -> Self {
        let [name, unit, source] = [name, unit, source].map(str::to_owned);
        self.parameters.push(CustomParameter { name, default, unit, source });
        self
    }
    /// Accepts any parameter; the constructor refuses unknown ones.
    #[must_use]
    pub fn any_parameter(mut self) -> Self {
        self.any_parameter = true;
        self
    }

    /// Marks a control for packets with ECT(1) (RFC 9331): test cases send its packets so.
    #[must_use]
    pub fn l4s(mut self) -> Self {
        self.l4s = true;
        self
    }

    /// The name in scenarios.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The line of text for lists.
    pub fn about(&self) -> &str {
        &self.summary
    }
    /// Paper or standard.
    pub fn origin(&self) -> &str {
        &self.source
    }
    /// The version of the code.
    pub fn code_version(&self) -> &str {
        &self.version
    }
    /// The parameters.
    pub fn parameters(&self) -> &[CustomParameter] {
        &self.parameters
    }
    /// True for a control for packets with ECT(1).
    pub const fn is_l4s(&self) -> bool {
        self.l4s
    }
    /// The values that a constructor gets when the scenario sets `given`.
    pub fn values<'a>(&'a self, given: &'a BTreeMap<String, f64>) -> Parameters<'a> {
        Parameters { given, defaults: &self.parameters }
    }
    /// Makes a policy.
    ///
    /// # Errors
    /// The error of the constructor.
    pub fn build(&self, setup: &K::Setup<'_>) -> Result<K::Made, Fault> {
        (self.build)(setup)
    }
    /// The first parameter in `given` that the definition does not have.
    pub fn unknown_parameter<'a>(&self, given: &'a BTreeMap<String, f64>) -> Option<&'a str> {
        let known = |name: &String| self.any_parameter || self.parameters.iter().any(|p| p.name == *name);
        given.keys().find(|name| !known(name)).map(String::as_str)
    }
}

impl<K: PolicyKind> Clone for Definition<K> {
    fn clone(&self) -> Self {
        Definition {
            name: self.name.clone(),
            summary: self.summary.clone(),
            source: self.source.clone(),
            version: self.version.clone(),
            parameters: self.parameters.clone(),
            any_parameter: self.any_parameter,
            l4s: self.l4s,
            build: Arc::clone(&self.build),
        }
    }
}

impl<K: PolicyKind> fmt::Debug for Definition<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(K::WHAT).field("name", &self.name).field("version", &self.version).finish()
    }
}

/// The reason for which a definition is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionError {
    /// The name is invalid for this kind of policy.
    Name(&'static str, String),
    /// A built-in policy of this kind has this name.
    BuiltIn(&'static str, String),
    /// Two definitions of one name.
    Twice(String),
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefinitionError::Name(what, name) => {
                write!(
                    f,
                    "`{name}` cannot name a {what}: 1 to 31 lower-case letters, digits, `-`, `_` and `.`"
                )
            }
            DefinitionError::BuiltIn(what, name) => {
                write!(f, "`{name}` is a built-in {what}: choose another name")
            }
            DefinitionError::Twice(name) => write!(f, "`{name}` is defined twice"),
        }
    }
}

impl std::error::Error for DefinitionError {}

/// Octets of the longest name.
pub const LONGEST_NAME: usize = 31;

/// True for a valid name of a policy: 1 to 31 lower-case letters, digits, `-`, `_` and `.`.
pub fn is_name(name: &str) -> bool {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.');
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(good)
}

/// The name of a policy of the caller's own, without an allocation: 1 to 31 lower-case letters,
/// digits, `-`, `_` and `.`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CustomName {
    text: [u8; LONGEST_NAME],
    len: u8,
}

impl CustomName {
    /// `None` if `name` is not a valid name.
    pub fn new(name: &str) -> Option<CustomName> {
        if !is_name(name) {
            return None;
        }
        let mut text = [0; LONGEST_NAME];
        text[..name.len()].copy_from_slice(name.as_bytes());
        Some(CustomName { text, len: name.len() as u8 })
    }
    /// The name as in a scenario.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl fmt::Debug for CustomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Reads the name of a policy like an enum, so that its syntax and its errors are the same. A word
/// that is no built-in name is kept, to be looked up among the caller's own policies.
///
/// # Errors
/// `named` returns none for the word.
pub fn deserialize_name<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    what: &'static str,
    built_in: &'static [&'static str],
    named: impl Fn(&str) -> Option<T>,
) -> Result<T, D::Error> {
    deserializer.deserialize_enum(what, built_in, Word { what, built_in, named })
}

struct Word<F> {
    what: &'static str,
    built_in: &'static [&'static str],
    named: F,
}

impl<'de, T, F: Fn(&str) -> Option<T>> Visitor<'de> for Word<F> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name of a {}", self.what)
    }
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<T, A::Error> {
        let (name, rest) = access.variant_seed(self)?;
        rest.unit_variant()?;
        Ok(name)
    }
    fn visit_str<E: Error>(self, s: &str) -> Result<T, E> {
        (self.named)(s).ok_or_else(|| E::unknown_variant(s, self.built_in))
    }
}

impl<'de, T, F: Fn(&str) -> Option<T>> DeserializeSeed<'de> for Word<F> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

/// The caller's own policies of one kind, by name.
#[derive(Debug)]
pub struct Definitions<K: PolicyKind>(BTreeMap<String, Definition<K>>);

impl<K: PolicyKind> Default for Definitions<K> {
    fn default() -> Self {
        Definitions(BTreeMap::new())
    }
}

impl<K: PolicyKind> Clone for Definitions<K> {
    fn clone(&self) -> Self {
        Definitions(self.0.clone())
    }
}

impl<K: PolicyKind> Definitions<K> {
    /// Adds a definition.
    ///
    /// # Errors
    /// The name is invalid or already defined.
    pub fn add(&mut self, definition: Definition<K>) -> Result<(), DefinitionError> {
        let name = definition.name.clone();
        if K::is_built_in(&name) {
            return Err(DefinitionError::BuiltIn(K::WHAT, name));
        }
        if !is_name(&name) {
            return Err(DefinitionError::Name(K::WHAT, name));
        }
        if self.0.contains_key(&name) {
            return Err(DefinitionError::Twice(name));
        }
        self.0.insert(name, definition);
        Ok(())
    }
    /// The definition of this name.
    pub fn get(&self, name: &str) -> Option<&Definition<K>> {
        self.0.get(name)
    }
    /// All definitions, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Definition<K>> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sums;
    struct Setup<'a> {
        add: f64,
        parameters: Parameters<'a>,
    }
    impl PolicyKind for Sums {
        const WHAT: &'static str = "sum";
        type Setup<'a> = Setup<'a>;
        type Made = f64;
        fn is_built_in(name: &str) -> bool {
            name == "zero"
        }
    }

    fn plus() -> Definition<Sums> {
        Definition::new("plus", |s: &Setup<'_>| match s.parameters.get("by") {
            by if by < 0.0 => Err("by must not be negative".to_owned().into()),
            by => Ok(s.add + by),
        })
        .parameter("by", 2.0, "", "this test")
    }

    #[test]
    fn names_that_are_taken_or_no_names_are_refused() {
        let mut sums = Definitions::<Sums>::default();
        sums.add(plus()).unwrap();
        assert_eq!(sums.add(plus()), Err(DefinitionError::Twice("plus".into())));
        let named = |n| Definition::<Sums>::new(n, |s: &Setup<'_>| Ok(s.add));
        assert_eq!(sums.add(named("zero")), Err(DefinitionError::BuiltIn("sum", "zero".into())));
        for wrong in ["", "Mine", "a b", &"x".repeat(32)] {
            let error = sums.add(named(wrong)).unwrap_err();
            assert_eq!(error, DefinitionError::Name("sum", wrong.into()));
            assert!(error.to_string().contains("cannot name a sum"), "{error}");
        }
    }

    #[test]
    fn a_constructor_gets_the_scenarios_values_before_the_defaults() {
        let made = |given: &[(&str, f64)]| {
            let given = given.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
            let d = plus();
            assert_eq!(d.unknown_parameter(&given).is_some(), given.contains_key("bye"));
            d.build(&Setup { add: 1.0, parameters: d.values(&given) }).map_err(|f| f.message)
        };
        assert_eq!(made(&[]), Ok(3.0));
        assert_eq!(made(&[("by", 5.0), ("bye", 1.0)]), Ok(6.0));
        assert_eq!(made(&[("by", -1.0)]), Err("by must not be negative".to_owned()));
    }
}
