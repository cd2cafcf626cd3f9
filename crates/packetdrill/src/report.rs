//! Verdicts, and the table of many outcomes.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::problem::{Problem, SourcePosition};
use crate::run::{Failed, Transcript, run};
use crate::script::parse_with;
use crate::settings::Request;

/// The result of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every packet and result was as stated in the script.
    Passed,
    /// A packet or result was not as stated.
    Failed,
    /// The script needs a feature that a simulated endpoint lacks.
    NotApplicable,
    /// The text is not a script.
    Mistake,
}

/// The outcome of a script.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Line of the script; 0 if it passed.
    pub line: u32,
    /// Column; 0 if it passed.
    pub column: u32,
    /// The failure or the missing feature; empty if it passed.
    pub message: String,
    /// The verbose transcript: every packet, call and print, in order.
    pub transcript: Vec<String>,
}

/// Reads and runs a script.
pub fn run_text(name: &str, text: &str, request: &Request, verbose: bool) -> Outcome {
    let mut transcript = Transcript::new(verbose);
    let ended = match parse_with(text, &request.defines) {
        Ok(script) if script.events.is_empty() => Err(Failed::Problem(nothing_stated(text))),
        Ok(script) => run(&script, request, &mut transcript),
        Err(problem) => Err(Failed::Problem(problem)),
    };
    let (verdict, place, message) = match ended {
        Ok(()) => (Verdict::Passed, SourcePosition::default(), String::new()),
        Err(Failed::At { place, message }) => (Verdict::Failed, place, message),
        Err(Failed::Problem(Problem::Mistake { place, message })) => (Verdict::Mistake, place, message),
        Err(Failed::Problem(Problem::NotApplicable { place, reason })) => {
            (Verdict::NotApplicable, place, reason)
        }
    };
    let SourcePosition { line, column } = place;
    Outcome { name: name.to_owned(), verdict, line, column, message, transcript: transcript.lines }
}

/// The problem of a script without events, which checks nothing: a truncated file, or one all of
/// whose lines are for other symbols.
fn nothing_stated(text: &str) -> Problem {
    if text.contains("#if") {
        let reason = "its #if lines leave no event".to_owned();
        return Problem::NotApplicable { place: SourcePosition::default(), reason };
    }
    let message = "the script has no event: it states nothing".to_owned();
    Problem::Mistake { place: SourcePosition { line: 1, column: 1 }, message }
}

/// One row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Category {
    /// Number of scripts.
    pub scripts: u32,
    /// Number of scripts that passed.
    pub passed: u32,
    /// Number of scripts that failed or are no scripts.
    pub failed: u32,
    /// Number of scripts that are not applicable.
    pub not_applicable: u32,
    /// Reasons for these, with numbers of scripts.
    pub reasons: BTreeMap<String, u32>,
}

/// The table of many outcomes: counts by category, which is the folder in the name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The rows.
    pub categories: BTreeMap<String, Category>,
}

impl Summary {
    /// All categories together, without reasons.
    pub fn total(&self) -> Category {
        self.categories.values().fold(Category::default(), |sum, c| Category {
            scripts: sum.scripts + c.scripts,
            passed: sum.passed + c.passed,
            failed: sum.failed + c.failed,
            not_applicable: sum.not_applicable + c.not_applicable,
            reasons: sum.reasons,
        })
    }

    /// Counts outcomes.
    pub fn of(outcomes: &[Outcome]) -> Summary {
        let mut summary = Summary::default();
        for o in outcomes {
            let category = o.name.rsplit_once('/').map_or(".", |n| n.0);
            let row = summary.categories.entry(category.to_owned()).or_default();
            row.scripts += 1;
            match o.verdict {
                Verdict::Passed => row.passed += 1,
                Verdict::Failed | Verdict::Mistake => row.failed += 1,
                Verdict::NotApplicable => {
                    row.not_applicable += 1;
                    *row.reasons.entry(o.message.clone()).or_default() += 1;
                }
            }
        }
        summary
    }
}
