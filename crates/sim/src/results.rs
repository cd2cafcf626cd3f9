//! The results of a run: a complete folder, or the same in memory.

mod flows;

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use lasthop_capture::pcapng::{CaptureFile, FinishedCapture};
use lasthop_capture::{FinishedTable, TableData};
use serde_json::{Value, json};

use crate::error::Error;
use crate::sink::{Folder, MANIFEST, Sink, file_name};
use crate::spec::{Placed, Scenario};
use crate::world::World;

/// The manifest: the scenario, and the hash of all results. It does not depend on the machine or
/// the day: the same scenario and seed give the same bytes.
fn manifest(scenario: &Scenario, tables: &[FinishedTable], capture: Option<&FinishedCapture>) -> Value {
    let tables: serde_json::Map<String, Value> = tables
        .iter()
        .map(|t| (t.def.name.to_owned(), json!({"rows": t.rows, "blake3": t.content_hash})))
        .collect();
    let tcp: serde_json::Map<String, Value> = scenario
        .spec()
        .flow
        .iter()
        .filter_map(|(name, f)| {
            let config = f.over_tcp()?.resolve_with(scenario.extensions().controls()).ok()?;
            Some((name.clone(), resolved_tcp(&config)))
        })
        .collect();
    let own: serde_json::Map<String, Value> =
        scenario.own_policies().into_iter().map(|(name, version)| (name, json!(version))).collect();
    let effective = scenario.to_toml();
    let hash = scenario.hash_with(&effective);
    let mut manifest = json!({
        "format": 1,
        "lasthop": env!("CARGO_PKG_VERSION"),
        "name": scenario.spec().scenario.name,
        "seed": scenario.spec().scenario.seed,
    });
    // Moved: `json!` serializes its values, which copies them.
    manifest["scenario"] = Value::String(effective);
    manifest["scenario_hash"] = Value::String(hash);
    manifest["resolved_tcp"] = Value::Object(tcp);
    manifest["tables"] = Value::Object(tables);
    if !own.is_empty() {
        manifest["own_policies"] = Value::Object(own);
    }
    let placed = scenario.spec().places();
    if !placed.is_empty() {
        manifest["places"] = placed.iter().map(place).collect();
    }
    if let Some(capture) = capture {
        let file = |f: &CaptureFile| {
            let name = f.path.file_name().map(|n| n.to_string_lossy().into_owned());
            json!({"name": name, "bytes": f.bytes, "frames": f.frames, "blake3": f.file_hash})
        };
        let files: Vec<Value> = capture.files.iter().map(file).collect();
        manifest["capture"] = json!({"frames": capture.frames, "removed": capture.removed, "files": files});
    }
    manifest
}

/// The entry of something that a layout or a random draw has placed.
fn place(of: &Placed) -> Value {
    let [x, y, _] = of.position;
    let mut place = json!({"kind": of.kind, "name": of.name, "x_m": x.0, "y_m": y.0});
    if let Some(azimuth) = of.azimuth {
        place["azimuth_deg"] = json!(azimuth);
    }
    place
}

/// The TCP parameters of a flow, by key of `[flow.NAME.tcp]`: words, numbers and booleans as in
/// JSON, quantities as text.
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

/// The results of a run.
#[derive(Debug)]
pub struct RunOutput {
    manifest: Value,
    summary: Value,
    tables: Vec<FinishedTable>,
}

impl RunOutput {
    /// Ends a run: writes the last tables, summary and manifest; then the folder gets its final
    /// name.
    pub(crate) fn close(sink: Sink, scenario: &Scenario, world: World) -> Result<RunOutput, Error> {
        RunOutput::close_with(sink, scenario, world, None)
    }

    /// As [`RunOutput::close`], with a further entry in the summary.
    pub(crate) fn close_with(
        sink: Sink,
        scenario: &Scenario,
        world: World,
        entry: Option<(&str, Value)>,
    ) -> Result<RunOutput, Error> {
        let mut ended = world.close();
        flows::settle_statistics(&mut ended);
        let mut tables = flows::write_tables(&ended, &sink)?;
        let mut summary = flows::summary(&mut ended, scenario);
        if let Some((key, value)) = entry {
            summary[key] = value;
        }
        let capture = ended.observer.map(|observer| observer.finish(ended.now)).transpose()?;
        tables.extend(ended.probes.finish()?);
        let manifest = manifest(scenario, &tables, capture.as_ref());
        let mut output = RunOutput { manifest, summary, tables };
        if let Sink::Folder(folder) = sink {
            let path = output.publish(folder)?;
            output.moved_to(&path);
        }
        Ok(output)
    }

    /// Writes summary and manifest, the manifest last: a folder without one is not complete.
    fn publish(&self, folder: Folder) -> Result<PathBuf, Error> {
        folder.write("scenario.toml", self.manifest["scenario"].as_str().unwrap_or_default())?;
        folder.write("summary.json", &pretty(&self.summary))?;
        folder.write(MANIFEST, &pretty(&self.manifest))?;
        folder.publish()
    }

    /// The manifest: version, effective scenario, seed, hashes.
    pub fn manifest(&self) -> &Value {
        &self.manifest
    }
    /// The summary: flows in short, the conservation account, event counts.
    pub fn summary(&self) -> &Value {
        &self.summary
    }
    /// Names of the tables.
    pub fn table_names(&self) -> impl Iterator<Item = &'static str> {
        self.tables.iter().map(|t| t.def.name)
    }
    /// The rows of a table; those of a folder are read from its file.
    ///
    /// # Errors
    /// The table does not exist, or its file cannot be read.
    pub fn table(&self, name: &str) -> Result<(Vec<RecordBatch>, SchemaRef), Error> {
        let Some(table) = self.tables.iter().find(|t| t.def.name == name) else {
            let known: Vec<&str> = self.table_names().collect();
            return Err(Error::input(format!(
                "this run wrote no table `{name}`; it wrote {}. `[output]` in the scenario selects the tables",
                known.join(", ")
            )));
        };
        let batches = match &table.data {
            TableData::Memory(batches) => batches.clone(),
            TableData::File { path, .. } => lasthop_capture::read_parquet(path)?.batches,
        };
        Ok((batches, table.schema.clone()))
    }
    /// As [`RunOutput::table`], with the columns of these names alone, in the table's order; names
    /// that the table does not have are left out.
    ///
    /// # Errors
    /// As [`RunOutput::table`].
    pub fn columns(&self, name: &str, names: &[String]) -> Result<(Vec<RecordBatch>, SchemaRef), Error> {
        let (batches, schema) = self.table(name)?;
        let wanted = |i: &usize| names.contains(schema.field(*i).name());
        let chosen: Vec<usize> = (0..schema.fields().len()).filter(wanted).collect();
        let input_error = |e: ArrowError| Error::input(e.to_string());
        let parts = batches.iter().map(|batch| batch.project(&chosen)).collect::<Result<_, _>>();
        Ok((parts.map_err(input_error)?, Arc::new(schema.project(&chosen).map_err(input_error)?)))
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

    /// Reads tables from the folder, which has its final name now.
    fn moved_to(&mut self, folder: &std::path::Path) {
        for t in &mut self.tables {
            if let TableData::File { path, .. } = &mut t.data {
                *path = folder.join(file_name(t.def));
            }
        }
    }
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
