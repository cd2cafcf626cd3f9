//! What a run leaves behind: a folder that is whole or not there, or the same in memory.

mod flows;
mod folder;
mod owner;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lasthop_capture::{FinishedTable, Record, TableData, TableDef};
use serde_json::{Value, json};

use crate::error::Error;
use crate::probe::Table;
use crate::spec::Scenario;
use crate::world::World;
pub use folder::{Folder, MANIFEST, clear_stale};

/// Where a run's tables go.
pub enum Sink {
    /// They stay in memory.
    Memory,
    /// They stream to a folder that gets its name when it is whole.
    Folder(Folder),
}

impl Sink {
    /// Memory, or a new folder at `out`.
    ///
    /// # Errors
    /// `out` exists already and holds something, or cannot be made.
    pub fn open(out: Option<&std::path::Path>) -> Result<Sink, Error> {
        out.map_or(Ok(Sink::Memory), |path| Folder::create(path, None).map(Sink::Folder))
    }

    /// A new folder at `out`, in the place of an earlier run's if there is one.
    ///
    /// # Errors
    /// `out` holds something else than results, or cannot be made.
    pub fn replacing(out: &std::path::Path) -> Result<Sink, Error> {
        Folder::create(out, Some(MANIFEST)).map(Sink::Folder)
    }

    /// Whether this process may write to it: a forked child may not write its parent's folder.
    pub fn is_mine(&self) -> bool {
        matches!(self, Sink::Folder(f) if f.is_mine()) || matches!(self, Sink::Memory)
    }

    /// A table of the run.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn table<R: Record>(&self) -> Result<Table<R>, Error> {
        match self {
            Sink::Memory => Ok(Table::new(lasthop_capture::Sink::Memory)?),
            Sink::Folder(f) => {
                let path = f.partial().join(file_name(R::TABLE));
                Ok(Table::new(lasthop_capture::Sink::Parquet(path))?)
            }
        }
    }

    /// Ends a run: the last tables, summary, manifest; then the folder gets its name.
    pub(crate) fn close(self, scenario: &Scenario, mut world: World) -> Result<RunOutput, Error> {
        world.settle_statistics();
        let mut flows = self.table()?;
        world.write_flows(&mut flows);
        let summary = world.summary(scenario);
        let mut tables = vec![flows.finish()?];
        if world.has_requests() {
            let mut applications = self.table()?;
            world.write_applications(&mut applications);
            tables.push(applications.finish()?);
        }
        if world.judges_quality() {
            let mut quality = self.table()?;
            world.write_quality(&mut quality);
            tables.push(quality.finish()?);
        }
        tables.extend(world.into_probes().finish()?);
        let manifest = manifest(scenario, &tables);
        let mut output = RunOutput { manifest, summary, tables };
        if let Sink::Folder(folder) = self {
            let path = folder.publish_run(&output)?;
            output.moved_to(&path);
        }
        Ok(output)
    }
}

fn file_name(def: &TableDef) -> String {
    format!("{}.parquet", def.name)
}

/// What was run, and the hash of everything that came out. Nothing in it depends on the machine or
/// the day: the same scenario and seed give the same bytes.
fn manifest(scenario: &Scenario, tables: &[FinishedTable]) -> Value {
    let tables: serde_json::Map<String, Value> = tables
        .iter()
        .map(|t| (t.def.name.to_owned(), json!({"rows": t.rows, "blake3": t.content_hash})))
        .collect();
    let tcp: serde_json::Map<String, Value> = scenario
        .spec()
        .flow
        .iter()
        .filter(|(_, f)| f.transport == crate::spec::Transport::Tcp)
        .filter_map(|(name, f)| {
            f.tcp
                .resolve_with(scenario.extensions().controls())
                .ok()
                .map(|c| (name.clone(), resolved_tcp(&c)))
        })
        .collect();
    let own: serde_json::Map<String, Value> =
        scenario.own_policies().into_iter().map(|(name, version)| (name, json!(version))).collect();
    let mut manifest = json!({
        "format": 1,
        "lasthop": env!("CARGO_PKG_VERSION"),
        "name": scenario.spec().scenario.name,
        "seed": scenario.spec().scenario.seed,
        "scenario": scenario.to_toml(),
        "scenario_hash": scenario.hash(),
        "resolved_tcp": tcp,
        "tables": tables,
    });
    if !own.is_empty() {
        manifest["own_policies"] = Value::Object(own);
    }
    manifest
}

/// The values a flow ran on, by key of `[flow.NAME.tcp]`: words, numbers and truths as JSON has
/// them, quantities as text.
fn resolved_tcp(config: &lasthop_tcp::Config) -> Value {
    let value = |text: String| match text.as_str() {
        "true" => json!(true),
        "false" => json!(false),
        _ => match text.parse::<f64>() {
            Ok(n) if n.is_finite() && n.fract() == 0.0 && n.abs() < 9e15 => json!(n as i64),
            Ok(n) if n.is_finite() => json!(n),
            _ => json!(text),
        },
    };
    Value::Object(lasthop_tcp::resolved(config).map(|(key, text)| (key.to_owned(), value(text))).collect())
}

/// What a run left behind.
#[derive(Debug)]
pub struct RunOutput {
    manifest: Value,
    summary: Value,
    tables: Vec<FinishedTable>,
}

impl RunOutput {
    /// Version, effective scenario, seed, hashes.
    pub fn manifest(&self) -> &Value {
        &self.manifest
    }
    /// Flows in short, the conservation account, event counts.
    pub fn summary(&self) -> &Value {
        &self.summary
    }
    /// Names of the tables.
    pub fn table_names(&self) -> impl Iterator<Item = &'static str> {
        self.tables.iter().map(|t| t.def.name)
    }
    /// The rows of a table; from a folder they are read.
    ///
    /// # Errors
    /// No such table; a file that cannot be read.
    pub fn table(&self, name: &str) -> Result<(Vec<RecordBatch>, SchemaRef), Error> {
        let Some(table) = self.tables.iter().find(|t| t.def.name == name) else {
            let known: Vec<&str> = self.table_names().collect();
            return Err(Error::input(format!(
                "this run wrote no table `{name}`; it wrote {}. `[output]` in the scenario says which",
                known.join(", ")
            )));
        };
        let batches = match &table.data {
            TableData::Memory(batches) => batches.clone(),
            TableData::File { path, .. } => lasthop_capture::read_parquet(path)?.batches,
        };
        Ok((batches, table.schema.clone()))
    }
    /// One hash over all tables, as hex: equal for equal runs.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for t in &self.tables {
            hasher.update(t.def.name.as_bytes());
            hasher.update(t.content_hash.as_bytes());
        }
        hasher.update(self.summary.to_string().as_bytes());
        hasher.finalize().to_hex().to_string()
    }

    /// The folder has its name now: tables are read from there.
    fn moved_to(&mut self, folder: &std::path::Path) {
        for t in &mut self.tables {
            if let TableData::File { path, .. } = &mut t.data {
                *path = folder.join(file_name(t.def));
            }
        }
    }
}
