//! The names of congestion controls and stacks in a scenario: the built-in ones, and any other word
//! for a caller's own control.

use lasthop_engine::custom;
pub use lasthop_engine::custom::CustomName;
use schemars::JsonSchema;
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
    /// A built-in algorithm; for a caller's own see [`CustomName::new`].
    fn from_str(s: &str) -> Result<CcName, String> {
        let known = || NAMES.join(", ");
        BUILT_IN
            .iter()
            .find(|(_, name)| *name == s)
            .map(|(id, _)| *id)
            .ok_or_else(|| format!("`{s}` is no congestion control; there are: {}", known()))
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

/// A word that is no built-in name is kept, for
/// [`Options::resolve_with`](crate::Options::resolve_with) to look up.
impl<'de> Deserialize<'de> for CcName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CcName, D::Error> {
        custom::deserialize_name(deserializer, "congestion control", NAMES, |word| {
            word.parse().ok().or_else(|| CustomName::new(word).map(CcName::Custom))
        })
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
    /// Linux 6.1 with its default settings, over a device without segmentation offload.
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
