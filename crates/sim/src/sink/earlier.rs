//! Earlier results that a new folder may replace.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::MANIFEST;

/// Description of an earlier result. A folder is one if `file` in it is a JSON object with all of
/// `keys`, and if it contains only that file, `names` and the tables and captures that the file
/// lists.
#[derive(Clone, Debug)]
pub struct Earlier {
    file: String,
    keys: Vec<String>,
    names: Vec<String>,
}

impl Earlier {
    /// Describes a result of another kind than a run's.
    pub fn new(file: String, keys: Vec<String>, names: Vec<String>) -> Earlier {
        Earlier { file, keys, names }
    }

    /// Describes the results of a run, with the report that `lasthop report` adds to them.
    pub fn run() -> Earlier {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        Earlier {
            file: MANIFEST.to_owned(),
            keys: texts(&["lasthop", "scenario", "scenario_hash", "tables"]),
            names: texts(&["scenario.toml", "summary.json", "report.html"]),
        }
    }

    /// The reason for which the folder `path` must not be replaced; None if it contains such a
    /// result and nothing else.
    pub fn refusal(&self, path: &Path) -> Option<String> {
        const SHOWN: usize = 3;
        let Some(known) = self.read(path) else {
            return Some(match fs::symlink_metadata(path.join(&self.file)) {
                Ok(_) => format!("its {} is not that of a result", self.file),
                Err(_) => format!("it has no {} and so is no result", self.file),
            });
        };
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()),
            Err(e) => return Some(format!("it cannot be read: {e}")),
        };
        let table = |name: &str| {
            let tables = known.get("tables").and_then(Value::as_object);
            name.strip_suffix(".parquet").is_some_and(|n| tables.is_some_and(|t| t.contains_key(n)))
        };
        let captured = |name: &str| {
            let files = known.pointer("/capture/files").and_then(Value::as_array);
            files.is_some_and(|all| all.iter().any(|f| f.get("name").and_then(Value::as_str) == Some(name)))
        };
        let ours =
            |name: &String| *name == self.file || self.names.contains(name) || table(name) || captured(name);
        let mut foreign: Vec<String> = entries.filter(|name| !ours(name)).collect();
        foreign.sort();
        let more = foreign.len().saturating_sub(SHOWN);
        foreign.truncate(SHOWN);
        let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!foreign.is_empty())
            .then(|| format!("it holds files that are not of the result: {}{and_more}", foreign.join(", ")))
    }

    /// The content of the file, if it is valid.
    fn read(&self, path: &Path) -> Option<Value> {
        let text = fs::read_to_string(path.join(&self.file)).ok()?;
        let value: Value = serde_json::from_str(&text).ok()?;
        self.keys.iter().all(|key| value.get(key).is_some()).then_some(value)
    }
}
