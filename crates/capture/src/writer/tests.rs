//! Tables in memory and on file: same rows, same bytes, errors instead of panics.

use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int32Type};

use super::*;
use crate::{ColumnDef, Row, Rows, Text, read_parquet, table};

table! {
    "test", "one row a sample";
    pub struct Samples<'a> {
        time_s: f64, "s", "moment of the sample";
        flow: &'a str, "", "the flow";
        bytes: u64, "B", "bytes so far";
        ssthresh: Option<i64>, "packets", "-1: infinite";
        retransmission: bool, "", "sent again";
        detail: Option<Text<'a>>, "", "more in words";
        place as "where": Option<&'a str>, "", "of a drop";
    }
}

const TABLE: &TableDef = Samples::TABLE;

#[test]
fn the_fields_of_the_row_are_the_columns() {
    let columns = [
        ColumnDef::f64("time_s", "s", "moment of the sample"),
        ColumnDef::name("flow", "", "the flow"),
        ColumnDef::u64("bytes", "B", "bytes so far"),
        ColumnDef::i64("ssthresh", "packets", "-1: infinite").nullable(),
        ColumnDef::bool("retransmission", "", "sent again"),
        ColumnDef::text("detail", "", "more in words").nullable(),
        ColumnDef::name("where", "", "of a drop").nullable(),
    ];
    assert_eq!((TABLE.name, TABLE.description), ("test", "one row a sample"));
    assert_eq!(TABLE.columns, columns);
}

/// A folder of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("lasthop-capture-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fill(sink: Sink, rows: u64) -> FinishedTable {
    let mut t = TableWriter::new(TABLE, sink).unwrap();
    let flows = ["ftp", "video", "voip"];
    for n in 0..rows {
        let detail = format!("row {n}");
        let row = Samples {
            time_s: n as f64 * 0.001,
            flow: flows[(n % 3) as usize],
            bytes: n * 1500,
            ssthresh: (n % 7 != 0).then_some(n as i64 - 10),
            retransmission: n % 11 == 0,
            detail: (n % 2 == 0).then_some(Text(&detail)),
            // The last name is added late: dictionaries grow over batches.
            place: (n % 5 == 0).then_some(if n > 70_000 { "loss" } else { "queue-full" }),
        };
        row.append(&mut t).unwrap();
    }
    t.finish().unwrap()
}

fn batches(table: &FinishedTable) -> &[RecordBatch] {
    match &table.data {
        TableData::Memory(batches) => batches,
        TableData::File { .. } => panic!("a table in memory was expected"),
    }
}

#[test]
fn a_file_reads_back_as_the_batches_in_memory() {
    let folder = Folder::new("roundtrip");
    for rows in [0, 1, 65_536, 140_000] {
        let (memory, file) = (fill(Sink::Memory, rows), fill(Sink::Parquet(folder.file("t.parquet")), rows));
        assert_eq!((memory.rows, &memory.content_hash), (rows, &file.content_hash));
        let back = read_parquet(&folder.file("t.parquet")).unwrap();
        assert_eq!(back.rows() as u64, rows);
        assert_eq!(back.schema.fields(), memory.schema.fields());
        for (ours, theirs) in batches(&memory).iter().zip(&back.batches) {
            let key = |b: &RecordBatch| {
                let names =
                    b.column(6).as_dictionary::<Int32Type>().downcast_dict::<arrow::array::StringArray>();
                names.unwrap().into_iter().map(|n| n.map(str::to_owned)).collect::<Vec<_>>()
            };
            assert_eq!(key(ours), key(theirs));
            for i in [0, 2, 3, 4, 5] {
                assert_eq!(ours.column(i), theirs.column(i));
            }
        }
    }
}

#[test]
fn units_and_descriptions_are_in_the_file() {
    let folder = Folder::new("metadata");
    fill(Sink::Parquet(folder.file("t.parquet")), 3);
    let schema = read_parquet(&folder.file("t.parquet")).unwrap().schema;
    let time = schema.field_with_name("time_s").unwrap().metadata();
    assert_eq!((time["unit"].as_str(), time["description"].as_str()), ("s", "moment of the sample"));
    assert_eq!(schema.metadata()["description"], "one row a sample");
    assert_eq!(schema.metadata()["table"], "test");
}

#[test]
fn identical_rows_give_identical_bytes() {
    let folder = Folder::new("bytes");
    let file = |n: usize| folder.file(&format!("{n}.parquet"));
    let first = fill(Sink::Parquet(file(0)), 70_001);
    let bytes = std::fs::read(file(0)).unwrap();
    let TableData::File { file_hash, bytes: size, .. } = &first.data else { panic!() };
    assert_eq!(*file_hash, blake3::hash(&bytes).to_hex().to_string());
    assert_eq!(*size, bytes.len() as u64);
    for n in 1..8 {
        fill(Sink::Parquet(file(n)), 70_001);
        assert!(std::fs::read(file(n)).unwrap() == bytes, "run {n} differs");
    }
    assert_ne!(fill(Sink::Memory, 70_000).content_hash, first.content_hash);
}

const HASHED: &[ColumnDef] = &[
    ColumnDef::f64("f64", "s", "").nullable(),
    ColumnDef::i64("i64", "", ""),
    ColumnDef::u64("u64", "B", ""),
    ColumnDef::bool("bool", "", ""),
    ColumnDef::text("text", "", "").nullable(),
    ColumnDef::name("name", "", ""),
];

fn hash_of(columns: Vec<ColumnDef>, cells: &[[Value<'_>; 6]]) -> String {
    let def = TableDef {
        name: "hashed",
        description: "",
        columns: columns.leak(),
        series: &[],
        rows: Rows::Moment,
    };
    let mut table = TableWriter::new(Box::leak(Box::new(def)), Sink::Memory).unwrap();
    assert_eq!((table.intern("ftp"), table.intern("video")), (NameId(0), NameId(1)));
    for row in cells {
        table.row(row).unwrap();
    }
    table.finish().unwrap().content_hash
}

#[test]
fn every_cell_counts_in_the_hash() {
    let row = [
        Value::F64(0.0),
        Value::I64(-1),
        Value::U64(1),
        Value::Bool(false),
        Value::Text("a"),
        Value::Name(NameId(0)),
    ];
    let rows = [row; 3];
    let same = hash_of(HASHED.to_vec(), &rows);
    assert_eq!(hash_of(HASHED.to_vec(), &rows), same);
    // The smallest change of a value of each type: one unit of the last place, the sign of zero, no
    // value.
    let changes = [
        (0, Value::F64(f64::from_bits(1))),
        (0, Value::F64(-0.0)),
        (0, Value::Null),
        (1, Value::I64(0)),
        (2, Value::U64(2)),
        (3, Value::Bool(true)),
        (4, Value::Text("b")),
        (4, Value::Text("")),
        (4, Value::Null),
        (5, Value::Name(NameId(1))),
    ];
    for (column, value) in changes {
        for at in 0..rows.len() {
            let mut changed = rows;
            changed[at][column] = value;
            assert_ne!(hash_of(HASHED.to_vec(), &changed), same, "{value:?} in row {at}");
        }
    }
    assert_ne!(hash_of(HASHED.to_vec(), &rows[1..]), same);
}

#[test]
fn name_type_unit_and_order_of_columns_count_in_the_hash_and_descriptions_do_not() {
    let same = hash_of(HASHED.to_vec(), &[]);
    let with = |at: usize, column: ColumnDef| {
        let mut columns = HASHED.to_vec();
        columns[at] = column;
        hash_of(columns, &[])
    };
    assert_ne!(with(2, ColumnDef { name: "other", ..HASHED[2] }), same);
    assert_ne!(with(2, ColumnDef { unit: "KiB", ..HASHED[2] }), same);
    assert_ne!(with(2, ColumnDef { kind: ColumnType::I64, ..HASHED[2] }), same);
    assert_ne!(with(2, ColumnDef { nullable: true, ..HASHED[2] }), same);
    assert_ne!(hash_of(HASHED.iter().rev().copied().collect(), &[]), same);
    assert_eq!(with(2, ColumnDef { description: "in other words", ..HASHED[2] }), same);
}

#[test]
fn batches_in_memory_share_one_dictionary() {
    let table = fill(Sink::Memory, 140_000);
    let b = batches(&table);
    assert_eq!(b.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [65_536, 65_536, 8_928]);
    let names = |b: &RecordBatch| b.column(6).as_dictionary::<Int32Type>().values().to_data();
    assert!(b.iter().all(|x| names(x) == names(&b[0])) && names(&b[0]).len() == 2);
    assert_eq!(b[1].column(0).as_primitive::<Float64Type>().value(0), 65.536);
}

#[test]
fn rows_that_do_not_fit_are_refused_and_change_nothing() {
    let mut t = TableWriter::new(TABLE, Sink::Memory).unwrap();
    let flow = t.intern("ftp");
    let good = [
        Value::F64(0.0),
        Value::Name(flow),
        Value::U64(0),
        Value::Null,
        Value::Bool(false),
        Value::Null,
        Value::Null,
    ];
    let mut wrong = good;
    wrong[2] = Value::I64(1);
    let mut null = good;
    null[0] = Value::Null;
    let mut foreign = good;
    foreign[1] = Value::Name(NameId(9));
    for (row, what) in [
        (&good[..3], "a row of 3 values for 7 columns"),
        (&wrong, "I64(1) for column `bytes`, which is U64"),
        (&null, "Null for column `time_s`, which is F64"),
        (&foreign, "interned in another table"),
    ] {
        let error = t.row(row).unwrap_err().to_string();
        assert!(error.starts_with("table `test`: ") && error.contains(what), "{error}");
    }
    t.row(&good).unwrap();
    assert_eq!(t.finish().unwrap().rows, 1);
}

#[test]
fn files_that_cannot_be_written_or_read_are_errors_that_name_them() {
    let folder = Folder::new("errors");
    let nowhere = folder.file("no/such/folder.parquet");
    let error = TableWriter::new(TABLE, Sink::Parquet(nowhere.clone())).err().unwrap().to_string();
    assert!(error.contains(&nowhere.display().to_string()) && error.contains("No such file"), "{error}");
    let error = read_parquet(&nowhere).unwrap_err().to_string();
    assert!(error.contains("cannot read") && error.contains("No such file"), "{error}");
    let text = folder.file("text.parquet");
    std::fs::write(&text, "this is no table").unwrap();
    assert!(read_parquet(&text).unwrap_err().to_string().contains("text.parquet"));
    let cut = folder.file("cut.parquet");
    fill(Sink::Parquet(cut.clone()), 1000);
    let bytes = std::fs::read(&cut).unwrap();
    for keep in [0, 4, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&cut, &bytes[..keep]).unwrap();
        assert!(read_parquet(&cut).is_err(), "{keep} bytes");
    }
}

/// `/dev/full` accepts the opening and refuses every byte, as a full disk does.
#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        println!("no /dev/full here: nothing tried");
        return;
    }
    let mut t = TableWriter::new(TABLE, Sink::Parquet(full.to_owned())).unwrap();
    let flow = t.intern("ftp");
    let mut failed = None;
    for n in 0..600_000u64 {
        let detail = blake3::hash(&n.to_le_bytes()).to_hex();
        let row = [
            Value::F64(n as f64),
            Value::Name(flow),
            Value::U64(n),
            Value::Null,
            Value::Bool(false),
            Value::Text(detail.as_str()),
            Value::Null,
        ];
        if let Err(error) = t.row(&row) {
            failed = Some(error);
            break;
        }
    }
    let error = failed.unwrap_or_else(|| t.finish().unwrap_err()).to_string();
    assert!(error.starts_with("cannot write /dev/full: ") && error.contains("space"), "{error}");
}
