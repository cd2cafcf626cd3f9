//! The record of instruction counts that `make bench-check` compares with: the tools that made it,
//! the count of each case, and the bound of differences.

use std::fmt;
use std::process::Command;

use serde_json::{Map, Value, json};

/// The largest change of a case that is accepted, up or down \[%\].
pub const BOUND_PERCENT: u64 = 2;

/// Tools on which counts depend besides the source: the compiler generates the code, and a
/// processor with AVX2 runs other kernels (`lasthop_engine::wide`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tools {
    /// The first line of `rustc --version`.
    pub rustc: String,
    /// The first line of `valgrind --version`.
    pub valgrind: String,
    /// Architecture and system, and whether the processor has AVX2.
    pub machine: String,
}

impl fmt::Display for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.rustc, self.valgrind, self.machine)
    }
}

/// The tools of this machine.
///
/// # Errors
/// `rustc` or `valgrind` cannot be run.
pub fn tools() -> Result<Tools, String> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    #[cfg(target_arch = "x86_64")]
    let avx2 = if std::arch::is_x86_feature_detected!("avx2") { " with AVX2" } else { " without AVX2" };
    #[cfg(not(target_arch = "x86_64"))]
    let avx2 = "";
    Ok(Tools {
        rustc: version_of(&rustc)?,
        valgrind: version_of("valgrind")?,
        machine: format!("{}-{}{avx2}", std::env::consts::ARCH, std::env::consts::OS),
    })
}

fn version_of(tool: &str) -> Result<String, String> {
    let output = Command::new(tool)
        .arg("--version")
        .output()
        .map_err(|e| format!("cannot run `{tool} --version`: {e}; instructions are counted with it"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned).ok_or_else(|| format!("`{tool} --version` prints nothing"))
}

/// The work and the result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Instructions of the whole process.
    pub instructions: u64,
    /// Packets of data that flows delivered: if their number changes, a case does other work, and
    /// its instructions are not comparable.
    pub segments: u64,
}

/// The counts of each case, and the tools that counted them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The compiler and the counter.
    pub tools: Tools,
    /// Name and counts, in the order of the cases.
    pub cases: Vec<(String, Count)>,
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// The text is not JSON, or a part is missing.
    pub fn parse(text: &str) -> Result<Record, String> {
        let json: Value = serde_json::from_str(text).map_err(|e| format!("instructions.json: {e}"))?;
        let field = |key: &str| {
            let text = json[key].as_str().map(str::to_owned);
            text.ok_or_else(|| format!("instructions.json: `{key}` is no text"))
        };
        let tools =
            Tools { rustc: field("rustc")?, valgrind: field("valgrind")?, machine: field("machine")? };
        let listed = json["cases"].as_object().ok_or("instructions.json: `cases` is no object")?;
        let count = |(name, of): (&String, &Value)| {
            let number = |key: &str| {
                let n = of[key].as_u64().filter(|&n| n > 0);
                n.ok_or_else(|| format!("instructions.json: `{name}.{key}` is no count"))
            };
            let count = Count { instructions: number("instructions")?, segments: number("segments")? };
            Ok::<_, String>((name.clone(), count))
        };
        let cases = listed.iter().map(count).collect::<Result<_, _>>()?;
        Ok(Record { tools, cases })
    }

    /// The record in the form of its file.
    ///
    /// # Errors
    /// Those of the writer of JSON.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let case = |c: &Count| json!({ "instructions": c.instructions, "segments": c.segments });
        let cases: Map<String, Value> = self.cases.iter().map(|(n, c)| (n.clone(), case(c))).collect();
        let Tools { rustc, valgrind, machine } = &self.tools;
        let all = json!({ "rustc": rustc, "valgrind": valgrind, "machine": machine, "cases": cases });
        serde_json::to_string_pretty(&all).map(|text| text + "\n")
    }

    /// The count of a case.
    pub fn count(&self, name: &str) -> Option<Count> {
        self.cases.iter().find(|c| c.0 == name).map(|c| c.1)
    }
    /// The names of the cases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|c| &*c.0)
    }

    /// Checks that counts are comparable: those of other tools are not.
    ///
    /// # Errors
    /// The tools differ.
    pub fn comparable_with(&self, here: &Tools) -> Result<(), String> {
        if self.tools == *here {
            return Ok(());
        }
        Err(format!(
            "nothing was compared: the record was counted with {}; here there is {here}. Use those tools \
             (`rustup override set`), or check out the commit before the change, run `make bench-check \
             UPDATE=1` there, and compare with that record",
            self.tools
        ))
    }
}

/// The relative change from `before` to `now` \[%\].
pub fn change_percent(before: u64, now: u64) -> f64 {
    (now as f64 / before as f64 - 1.0) * 100.0
}

/// Compares a count with the record; returns an empty text if the difference is within the bound.
pub fn judge(before: Count, now: Count) -> String {
    // With whole numbers exactly 2 % is within the bound.
    let (was, is) = (before.instructions, now.instructions);
    let mut message = if is * 100 > was * (100 + BOUND_PERCENT) {
        "MORE than recorded".to_owned()
    } else if is * 100 < was * (100 - BOUND_PERCENT) {
        // A record far above the counts would hide the cost of later changes.
        "LESS than recorded: renew the record".to_owned()
    } else {
        return String::new();
    };
    if before.segments != now.segments {
        let each = |c: Count| c.instructions as f64 / c.segments as f64;
        message += &format!(
            "; other results: {} segments instead of {}, {:.0} instructions each instead of {:.0}",
            now.segments,
            before.segments,
            each(now),
            each(before)
        );
    }
    message
}
