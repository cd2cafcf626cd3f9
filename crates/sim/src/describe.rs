//! Descriptions of scenario keys, plug-ins and tables, made from the types and tables that the
//! program uses.

use lasthop_capture::{ColumnType, TableDef};
use lasthop_lte::mac::scheduler::SCHEDULERS;
use lasthop_net::app::{APPS, media_variables};
use lasthop_net::media::{RATE_CONTROLS, RateControlName, RateControls, RateMutant};
use lasthop_net::{Entry, QUEUES, trace::FORMATS};
use lasthop_tcp::AlgorithmInfo;
use lasthop_tcp::cc::Variable;
use serde_json::{Value, json};

use crate::config;
use crate::probe::tables;
use crate::spec::{ROUND, Spec, describe_cell_profiles, describe_runtime_keys, describe_scenario_profiles};

/// JSON Schema of a scenario file.
pub fn json_schema() -> Value {
    config::schema::<Spec>()
}

/// Describes by name: scenario keys, congestion controls, rate controls of media, profiles of
/// stacks and cells, queues, applications, trace formats, runtime keys, tables.
pub fn describe() -> Value {
    let tcp = lasthop_tcp::registry();
    json!({
        "keys": config::reference::<Spec>(),
        "cc": tcp.algorithms.iter().map(control).collect::<Vec<_>>(),
        "profile": tcp.profiles,
        "cell-profile": describe_cell_profiles(),
        "scenario-profile": describe_scenario_profiles(),
        "rate-control": RATE_CONTROLS.iter().map(rate_control).collect::<Vec<_>>(),
        "queue": entries(QUEUES),
        "scheduler": entries(SCHEDULERS),
        "app": entries(APPS),
        "trace-format": entries(FORMATS),
        "runtime": describe_runtime_keys(),
        "tables": tables().collect::<Vec<_>>(),
    })
}

/// A congestion control, with its variables in the table `cc` and those of every sender.
fn control(algorithm: &AlgorithmInfo) -> Value {
    let mut all = algorithm.variables.clone();
    all.extend(lasthop_tcp::sender_variables());
    all.push(Variable::new(ROUND));
    json!(AlgorithmInfo { variables: all, ..algorithm.clone() })
}

/// A rate control of media, with its variables in the table `cc` and those of every sender.
fn rate_control(entry: &Entry) -> Value {
    let mut found = entries(std::slice::from_ref(entry))[0].take();
    let name = RateControlName::named(entry.name).unwrap_or_default();
    let variables = media_variables(name, &RateControls::default());
    found["variables"] = json!(variables);
    let mutants: Vec<RateMutant> = RateMutant::of(name).collect();
    if !mutants.is_empty() {
        found["mutants"] = json!(mutants);
    }
    found
}

fn entries(table: &[Entry]) -> Value {
    table
        .iter()
        .map(|e| {
            let parameters: Vec<Value> = e
                .parameters
                .iter()
                .map(|p| json!({"name": p.name, "default": p.default, "summary": p.summary}))
                .collect();
            json!({"name": e.name, "summary": e.summary, "source": e.source, "parameters": parameters})
        })
        .collect()
}

fn tables() -> impl Iterator<Item = Value> {
    let of = |tables: &'static [&TableDef], of| tables.iter().map(move |t| table(t, of));
    of(tables::ALL, "run").chain(of(tables::SURVEYS, "survey"))
}

/// A table and its origin: a run or a survey.
fn table(t: &TableDef, of: &str) -> Value {
    let columns: Vec<Value> = t
        .columns
        .iter()
        .map(|c| {
            let kind = match c.kind {
                ColumnType::F64 => "float64",
                ColumnType::I64 => "int64",
                ColumnType::U64 => "uint64",
                ColumnType::Bool => "bool",
                ColumnType::Text | ColumnType::Name => "string",
            };
            json!({
                "name": c.name, "type": kind, "unit": c.unit, "description": c.description, "nullable": c.nullable,
            })
        })
        .collect();
    json!({
        "name": t.name, "of": of, "description": t.description, "columns": columns, "series": t.series,
        "rows": t.rows.word(),
    })
}
