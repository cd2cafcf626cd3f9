//! The file of a campaign: many runs of one scenario, over axes and seeds.
//!
//! Types and places are read here; the caller (the Python package) checks the combination of
//! values, and reports mistakes at their places.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::config::{self, Diagnostic, Diagnostics, Document, dotted};
use crate::error::Error;
use crate::spec::Scalar;

/// Everything a campaign file may hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Campaign")]
pub struct CampaignSpec {
    /// The campaign itself: name, base scenario, seeds.
    pub campaign: Head,
    /// Scenario keys and their values in every run: `"flow.ftp.tcp.cc" = "cubic"`. The key stands
    /// in quotes.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub set: IndexMap<String, Scalar>,
    /// The parameters that are varied, by name: a letter or `_`, then letters, digits and `_`. The
    /// name is a column of the results. Every combination of the axes is a point; the last axis
    /// varies fastest.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub axis: IndexMap<String, AxisSpec>,
    /// Congestion controls of your own by the name that `tcp.cc` uses: `mine = "cc.py:Mine"`. The
    /// file is looked for beside the campaign.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub cc: IndexMap<String, String>,
    /// Schedulers of your own by the name that a cell's `downlink.scheduler` or `uplink.scheduler`
    /// uses: `mine = "mac.py:Mine"`. The file is looked for beside the campaign.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub scheduler: IndexMap<String, String>,
    /// What is kept of each run, by name: an expression over its tables, such as `goodput =
    /// 'flow("ftp").goodput_bps in Mbit/s'`, or a Python function. The name is a column of the
    /// results.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metric: IndexMap<String, MetricSpec>,
    /// Figures by name; their keys are those of `lasthop.campaign.figures`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub figure: IndexMap<String, IndexMap<String, Scalar>>,
}

/// The tables of a campaign file. No table of a scenario has one of these names.
pub const TABLES: [&str; 7] = ["campaign", "set", "axis", "cc", "scheduler", "metric", "figure"];

/// The campaign itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CampaignHead")]
pub struct Head {
    /// Name of the campaign: letters, digits, `-`, `_` and `.`. Names the result folder.
    pub name: String,
    /// One sentence on what the campaign shows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The scenario that is varied: a file, looked for beside the campaign, or the name of a
    /// bundled scenario.
    pub base: String,
    /// Seeds of each point, the same at every one (common random numbers): a number of seeds from 1
    /// on, `{ first = 1, count = 5 }`, or a list. With `until`, the number of seeds before the
    /// first look. Without it 5, or with `until` its `min`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
    /// When a point has enough seeds: `"ci95(goodput) < 2 %"`, with limits `"ci95(goodput) < 2 %,
    /// min 10, max 200"`. Seeds are added until the half-width of the confidence interval of the
    /// mean is below the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Tables that are kept whole for every run, such as `["flows"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Conditions on the labels of the axes; a point that does not meet all of them is left out:
    /// `"not (aqm == 'none' and buffer > 100 kB)"`.
    #[serde(default, rename = "where", skip_serializing_if = "Texts::is_empty")]
    pub filters: Texts,
    /// A campaign with more runs than this is refused.
    #[serde(default = "most_runs")]
    pub limit: u64,
}

const MOST_RUNS: u64 = 100_000;

fn most_runs() -> u64 {
    MOST_RUNS
}

/// One axis. Exactly one of `values`, `range`, `zip` and `options` gives its values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CampaignAxis")]
pub struct AxisSpec {
    /// The scenario key of `values` and `range`, or a list of keys that take the same value.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub key: Texts,
    /// The values in order. Quantities of one kind become numbers in the unit of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Scalar>>,
    /// Values at equal steps or factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<RangeSpec>,
    /// Keys that change together, each with a list of values; all lists are equally long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip: Option<IndexMap<String, Vec<Scalar>>>,
    /// Settings by label: each is a table of scenario keys and values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<IndexMap<String, IndexMap<String, Scalar>>>,
    /// A label for each value, in place of the value itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<Scalar>>,
}

/// Values from `from` to `to`. Exactly one of `step`, `count` and `factor` determines the values
/// between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CampaignRange")]
pub struct RangeSpec {
    /// The first value: a number, or a quantity with its unit.
    pub from: Scalar,
    /// The last value. With `step` or `factor` it is included only if the steps reach it exactly.
    pub to: Scalar,
    /// The difference of two values: a number, or a quantity with its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Scalar>,
    /// The number of values, at equal steps from `from` to `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The ratio of two values, above 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
}

/// Seeds of each point.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Seeds {
    /// This number of seeds, from 1 on.
    Count(u64),
    /// A number of seeds, from a first one on.
    From(SeedRange),
    /// The listed seeds.
    List(Vec<u64>),
}

/// Consecutive seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedRange {
    /// The first seed.
    #[serde(default = "one")]
    pub first: u64,
    /// How many.
    pub count: u64,
}

fn one() -> u64 {
    1
}

// Derived code would report every mistake with serde's message about untagged enums.
impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Seeds, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = Seeds;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seeds, a list of them, or `{ first = 1, count = 5 }`")
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Seeds, E> {
                Ok(Seeds::Count(count))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Seeds, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(Seeds::List)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Seeds, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(Seeds::From)
            }
        }
        d.deserialize_any(Forms)
    }
}

impl JsonSchema for Seeds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Seeds".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let range = generator.subschema_for::<SeedRange>();
        let seed = generator.subschema_for::<u64>();
        json_schema!({
            "x-type": "number of seeds, list of them, or table",
            "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "array", "items": seed }, range],
        })
    }
}

/// A text, or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Texts(pub Vec<String>);

impl Texts {
    /// True without a text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Texts, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = Texts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, or a list of texts")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_owned()]))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Texts, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(Texts)
            }
        }
        d.deserialize_any(Forms)
    }
}

impl JsonSchema for Texts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Texts".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-type": "text, or list of texts",
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
        })
    }
}

/// What is kept of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MetricSpec {
    /// An expression over its tables.
    Expression(String),
    /// A Python function of its results.
    Function(FunctionSpec),
}

/// A Python function of a run's results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionSpec {
    /// File and function: `"metrics.py:stalls"`. The file is looked for beside the campaign. The
    /// function takes the run's results (`lasthop.Results`) and returns a number, or None where the
    /// run has none.
    pub python: String,
    /// The unit of the returned number; `1` for a number without unit.
    #[serde(default = "plain_number")]
    pub unit: String,
    /// The tables that it reads.
    #[serde(default)]
    pub tables: Vec<String>,
}

fn plain_number() -> String {
    "1".to_owned()
}

impl<'de> Deserialize<'de> for MetricSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<MetricSpec, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = MetricSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression as text, or `{ python = \"FILE.py:FUNCTION\", unit = \"s\" }`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<MetricSpec, E> {
                Ok(MetricSpec::Expression(text.to_owned()))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<MetricSpec, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(MetricSpec::Function)
            }
        }
        d.deserialize_any(Forms)
    }
}

impl JsonSchema for MetricSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metric".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let function = generator.subschema_for::<FunctionSpec>();
        json_schema!({
            "x-type": "expression as text, or table of a Python function",
            "anyOf": [{ "type": "string" }, function],
        })
    }
}

/// JSON Schema of a campaign file.
pub fn campaign_schema() -> Value {
    config::schema::<CampaignSpec>()
}

/// Every key of a campaign file, as a JSON list.
pub fn describe_campaign() -> Value {
    serde_json::to_value(config::reference::<CampaignSpec>()).unwrap_or_default()
}

/// A place in a campaign file at which there is a mistake.
#[derive(Clone, Debug, Default)]
pub struct KeyPlace {
    /// The key, part by part; elements of lists are numbered from 0. Empty: the whole file.
    pub key: Vec<String>,
    /// True if the mistake is in the key itself, and not in its value.
    pub at_key: bool,
    /// The characters of a text with the mistake.
    pub within: Option<Range<usize>>,
}

/// A campaign file whose keys and types are right.
#[derive(Clone, Debug)]
pub struct CampaignFile {
    document: Document,
    spec: CampaignSpec,
    folder: PathBuf,
}

impl CampaignFile {
    /// Reads the file at `path`. `sets` are `key=value`: keys of the campaign's own tables change
    /// the file, all others are keys of the scenario and change each run.
    ///
    /// # Errors
    /// Every mistake in keys and types, with file, line, column and remedy.
    pub fn load(path: &Path, sets: &[String]) -> Result<CampaignFile, Error> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        CampaignFile::read(config::load_file(path)?, folder, sets)
    }

    /// As [`CampaignFile::load`], from text. `name` stands for the file in messages, relative paths
    /// start at `folder`.
    ///
    /// # Errors
    /// As [`CampaignFile::load`].
    pub fn parse(text: &str, name: &str, folder: &Path, sets: &[String]) -> Result<CampaignFile, Error> {
        CampaignFile::read(Document::parse(text, name)?, folder.to_owned(), sets)
    }

    fn read(mut document: Document, folder: PathBuf, sets: &[String]) -> Result<CampaignFile, Error> {
        if document.get("campaign").is_none() && document.get("scenario").is_some() {
            let help = "run it with `lasthop run`, or vary it: `lasthop sweep --base FILE --axis KEY=A,B`";
            let found = document.error_at_key("scenario", "this is a scenario, not a campaign");
            return Err(found.help(help).into());
        }
        for set in sets {
            let own = TABLES.iter().any(|t| config::first_of(set).as_deref() == Some(t));
            if own { document.apply_set(set)? } else { document.apply_set_in("set", set)? }
        }
        let spec = document.read()?;
        Ok(CampaignFile { document, spec, folder })
    }

    /// The contents of the file, with every default.
    pub fn spec(&self) -> &CampaignSpec {
        &self.spec
    }

    /// The folder at which relative paths in it start; empty: the current folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The document that was read, with the overrides.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The file as TOML with the overrides applied; comments are not kept.
    pub fn to_toml(&self) -> String {
        self.document.to_toml()
    }

    /// A diagnostic at a place of the file, or of a `--set`.
    pub fn error_at(&self, place: &KeyPlace, message: &str, help: Option<&str>) -> Diagnostic {
        let path = dotted(&place.key);
        let found = match &place.within {
            Some(within) => self.document.error_within(&path, within.clone(), message),
            None if place.at_key => self.document.error_at_key(&path, message),
            None => self.document.error_at(&path, message),
        };
        found.help_opt(help)
    }

    /// Several mistakes as one error, in the order of the file.
    pub fn errors(&self, found: impl IntoIterator<Item = Diagnostic>) -> Error {
        Error::Input(Diagnostics(found.into_iter().collect()).sorted())
    }
}

#[cfg(test)]
mod tests;
