//! The names of congestion controls and stacks as a scenario writes them: the built-in ones, and
//! any other word for a control of the caller's own.

use std::fmt;

use lasthop_engine::custom;
use schemars::JsonSchema;
use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! names {
    (
        () $(
            $(#[$attr:meta])* $Name:ident $word:tt $_row:path
            $(=> $($_variant:ident($_ty:ty)),+)? = $_make:expr;
        )*
    ) => {
        /// The algorithms' names as a scenario writes them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema)]
        pub enum CcName {
            $($(#[$attr])* #[schemars(rename = $word)] $Name,)*
            /// One of the caller's own, by the name it was registered under.
            #[schemars(skip)]
            Custom(CustomName),
        }

        /// The built-in algorithms, in the order of their list.
        pub(crate) const BUILT_IN: &[(CcName, &str)] = &[$((CcName::$Name, $word)),*];
    };
}
built_in_controls!(names);

/// The algorithms that the documentation and error messages begin with: those of most users. The
/// others follow in the order of their list.
const FIRST: [&str; 4] = ["reno", "vegas", "bbr", "bbr3"];

/// Places in [`BUILT_IN`], in the order of the documentation.
pub(crate) const DOCUMENTED: [usize; BUILT_IN.len()] = {
    let mut places = [0; BUILT_IN.len()];
    let mut n = 0;
    while n < FIRST.len() {
        places[n] = place_of(FIRST[n]);
        n += 1;
    }
    let mut i = 0;
    while i < BUILT_IN.len() {
        if !contains(&FIRST, BUILT_IN[i].1) {
            places[n] = i;
            n += 1;
        }
        i += 1;
    }
    places
};

const fn place_of(name: &str) -> usize {
    let mut i = 0;
    while !equal(BUILT_IN[i].1, name) {
        i += 1;
    }
    i
}

const fn contains(names: &[&str], name: &str) -> bool {
    let mut i = 0;
    while i < names.len() {
        if equal(names[i], name) {
            return true;
        }
        i += 1;
    }
    false
}

const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl CcName {
    /// The name in scenarios.
    pub fn name(&self) -> &str {
        match self {
            CcName::Custom(name) => name.as_str(),
            built_in => BUILT_IN.iter().find(|(id, _)| id == built_in).map_or("reno", |(_, name)| name),
        }
    }
}

impl std::str::FromStr for CcName {
    type Err = String;
    /// A built-in algorithm; for one of the caller's own see [`CustomName::new`].
    fn from_str(s: &str) -> Result<CcName, String> {
        let known = || NAMES.join(", ");
        BUILT_IN
            .iter()
            .find(|(_, name)| *name == s)
            .map(|(id, _)| *id)
            .ok_or_else(|| format!("`{s}` is no congestion control; there are: {}", known()))
    }
}

/// The name of a congestion control of the caller's own: 1 to 31 lower-case letters, digits, `-`,
/// `_` and `.`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CustomName {
    text: [u8; CustomName::LONGEST],
    len: u8,
}

impl CustomName {
    /// Octets of the longest name.
    pub const LONGEST: usize = custom::LONGEST_NAME;

    /// `None` if this cannot be a name, or is a built-in algorithm's.
    pub fn new(name: &str) -> Option<CustomName> {
        if !custom::is_name(name) || name.parse::<CcName>().is_ok() {
            return None;
        }
        let mut text = [0; CustomName::LONGEST];
        text[..name.len()].copy_from_slice(name.as_bytes());
        Some(CustomName { text, len: name.len() as u8 })
    }
    /// As a scenario writes it.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl fmt::Debug for CustomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl Serialize for CcName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The built-in names, in the order of the documentation.
const NAMES: &[&str] = &{
    let mut names = [""; BUILT_IN.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = BUILT_IN[DOCUMENTED[i]].1;
        i += 1;
    }
    names
};

/// An enum to the deserializer, so that it is written and complained about like every other one;
/// only that a word which is no built-in name is kept, for
/// [`Options::resolve_with`](crate::Options::resolve_with) to look up.
impl<'de> Deserialize<'de> for CcName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CcName, D::Error> {
        deserializer.deserialize_enum("CcName", NAMES, Word)
    }
}

struct Word;

impl<'de> Visitor<'de> for Word {
    type Value = CcName;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a congestion control")
    }
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<CcName, A::Error> {
        let (name, rest) = access.variant_seed(Word)?;
        rest.unit_variant()?;
        Ok(name)
    }
    fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<CcName, E> {
        s.parse()
            .ok()
            .or_else(|| CustomName::new(s).map(CcName::Custom))
            .ok_or_else(|| E::unknown_variant(s, NAMES))
    }
}

impl<'de> DeserializeSeed<'de> for Word {
    type Value = CcName;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<CcName, D::Error> {
        deserializer.deserialize_str(self)
    }
}

/// A stack profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The standards: RFC 9293, 5681, 6298, 6582, 6675, 6928, 7323.
    #[default]
    Rfc,
    /// The one-way agents of ns-2 2.26 and 2.27 (2003-04), counting packets.
    Ns2,
    /// Linux 6.1 as it comes, over a device without segmentation offload.
    #[serde(rename = "linux-6")]
    Linux6,
    /// Linux 2.6.26 (2008): CUBIC without HyStart, FACK, rate halving, F-RTO.
    #[serde(rename = "linux-2.6.26")]
    Linux2626,
    /// ns-3 3.28 (2018): NewReno, 536 octets, initial window of one segment.
    #[serde(rename = "ns3-3.28")]
    Ns3328,
    /// ns-3 3.44 (2025): CUBIC, initial window of ten segments.
    #[serde(rename = "ns3-3.44")]
    Ns3344,
    /// INET 2.x and 3.x (about 2015): Reno, 536 octets, no options.
    Inet,
}
