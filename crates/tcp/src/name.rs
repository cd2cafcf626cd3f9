//! The names of congestion controls and stacks as a scenario writes them: the built-in ones, and any
//! other word for a control of the caller's own.

use std::fmt;

use lasthop_engine::own;
use schemars::JsonSchema;
use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The algorithms' names as a scenario writes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum CcName {
    /// Accelerate and brake by marks of the last hop (Goyal and others 2020).
    Abc,
    /// BBR version 1 (Cardwell and others 2016), as Linux has it.
    Bbr,
    /// BBR version 3 (draft-ietf-ccwg-bbr).
    Bbr3,
    /// Binary search for the window of the last loss (Xu and others 2004).
    Bic,
    /// Delay gradient (Hayes and Armitage 2011).
    Cdg,
    /// A cubic function of the time since the last loss (RFC 9438).
    Cubic,
    /// Cut by the share of marked octets (RFC 8257).
    Dctcp,
    /// A base algorithm under a ceiling from the radio network's hints
    /// (draft-flinck-mobile-throughput-guidance).
    Guided,
    /// HighSpeed TCP (RFC 3649).
    #[schemars(rename = "highspeed")]
    HighSpeed,
    /// Growth by the time since the last loss (Leith and Shorten 2004).
    Htcp,
    /// Growth independent of the round trip (Caini and Firrincieli 2004).
    Hybla,
    /// Growth and cut by the queueing delay (Liu and others 2008).
    Illinois,
    /// A scavenger with a delay target (RFC 6817).
    Ledbat,
    /// A scavenger by early congestion inference (Kuzmanovic and Knightly 2003).
    Lp,
    /// Vegas for data centres (Brakmo 2010).
    Nv,
    /// No congestion control: the peer's window is the limit.
    None,
    /// Cut by the share of marked octets, for L4S (draft-briscoe-iccrg-prague-congestion-control).
    Prague,
    /// The window that the radio network's hints give (TR 36.933).
    RadioAware,
    /// Additive increase, multiplicative decrease (RFC 5681).
    #[default]
    Reno,
    /// A fixed number of ACKs per segment of growth (Kelly 2003).
    Scalable,
    /// Delay-based (Brakmo and Peterson 1995), as ns-2 or as Linux implements it.
    Vegas,
    /// Reno that tells random losses by Vegas' estimate (Fu and Liew 2003).
    Veno,
    /// Cut to the estimated rate (Mascolo and others 2001).
    Westwood,
    /// Westwood with one sample per round trip (Grieco and Mascolo 2004).
    WestwoodPlus,
    /// Scalable's growth with Reno's manners (Baiocchi and others 2007).
    Yeah,
    /// One of the caller's own, by the name it was registered under.
    #[schemars(skip)]
    Custom(CustomName),
}

/// The built-in algorithms, in the order of the documentation.
pub(crate) const BUILT_IN: &[(CcName, &str)] = &[
    (CcName::Reno, "reno"),
    (CcName::Vegas, "vegas"),
    (CcName::Bbr, "bbr"),
    (CcName::Bbr3, "bbr3"),
    (CcName::Abc, "abc"),
    (CcName::Bic, "bic"),
    (CcName::Cdg, "cdg"),
    (CcName::Cubic, "cubic"),
    (CcName::Dctcp, "dctcp"),
    (CcName::Guided, "guided"),
    (CcName::HighSpeed, "highspeed"),
    (CcName::Htcp, "htcp"),
    (CcName::Hybla, "hybla"),
    (CcName::Illinois, "illinois"),
    (CcName::Ledbat, "ledbat"),
    (CcName::Lp, "lp"),
    (CcName::Nv, "nv"),
    (CcName::None, "none"),
    (CcName::Prague, "prague"),
    (CcName::RadioAware, "radio-aware"),
    (CcName::Scalable, "scalable"),
    (CcName::Veno, "veno"),
    (CcName::Westwood, "westwood"),
    (CcName::WestwoodPlus, "westwood-plus"),
    (CcName::Yeah, "yeah"),
];

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
        let known = || BUILT_IN.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
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
    pub const LONGEST: usize = own::LONGEST_NAME;

    /// `None` if this cannot be a name, or is a built-in algorithm's.
    pub fn new(name: &str) -> Option<CustomName> {
        if !own::is_name(name) || name.parse::<CcName>().is_ok() {
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

/// The built-in names, for the messages of a deserializer.
const NAMES: &[&str] = &{
    let mut names = [""; BUILT_IN.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = BUILT_IN[i].1;
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
