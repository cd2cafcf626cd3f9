//! The code between `%{` and `}%`: the subset of Python with which scripts check tcp_info.
//!
//! Assignments (`=`, `+=`, `-=`, `*=`), `assert condition, message`, `print(...)` and expressions:
//! arithmetic, chained comparisons, `and`, `or`, `not`, `in` on tuples, `abs`, `min`, `max`, `int`,
//! `float`, `round`, and `'text' % values`.

mod eval;
mod parse;
mod token;

pub use eval::{Failure, Value, Variables};

use crate::problem::{Problem, SourcePosition};

/// A piece of code, parsed.
#[derive(Clone, Debug, Default)]
pub struct Code {
    statements: Vec<(SourcePosition, Statement)>,
}

#[derive(Clone, Debug)]
enum Statement {
    Assign(String, Node),
    Update(String, char, Node),
    Assert(Node, String, Option<Node>),
    Print(Vec<Node>),
    Expression(Node),
}

#[derive(Clone, Debug)]
enum Node {
    Value(Value),
    Name(String),
    Not(Box<Node>),
    Minus(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    /// First operand, then operators with their operands.
    Compare(Box<Node>, Vec<(&'static str, Node)>),
    Binary(&'static str, Box<Node>, Box<Node>),
    Tuple(Vec<Node>),
    Call(String, Vec<Node>),
}

impl Code {
    /// Parses code that starts at `place`.
    pub fn parse(text: &str, place: SourcePosition) -> Result<Code, Problem> {
        parse::statements(text, place).map(|statements| Code { statements })
    }

    /// Runs the code. Printed text is appended to `printed`.
    pub fn run(&self, variables: &mut Variables, printed: &mut Vec<String>) -> Result<(), Failure> {
        for (place, statement) in &self.statements {
            eval::run(statement, variables, printed).map_err(|message| Failure { place: *place, message })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<Vec<String>, String> {
        let code = Code::parse(text, SourcePosition { line: 1, column: 1 }).map_err(|e| e.to_string())?;
        let mut variables = Variables::default();
        variables.insert("tcpi_snd_cwnd".into(), Value::Int(10));
        let mut printed = vec![];
        code.run(&mut variables, &mut printed).map_err(|f| f.message)?;
        Ok(printed)
    }

    #[test]
    fn assertions_chain_compare_and_report_their_message() {
        assert!(run("assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd").is_ok());
        assert!(run("assert 9 <= tcpi_snd_cwnd <= 11 and not tcpi_snd_cwnd != 10").is_ok());
        let failed = run("assert tcpi_snd_cwnd == 11, 'cwnd=%d' % tcpi_snd_cwnd").unwrap_err();
        assert_eq!(failed, "assertion failed: tcpi_snd_cwnd == 11: cwnd=10");
    }

    #[test]
    fn statements_are_parted_by_lines_semicolons_and_continued_by_backslashes() {
        let text = "a = 0x10  # sixteen\na += 4; b = min(a, 3) ** 2\nassert a == 20, \\\n  a\nprint(a, b / 2, a // 3)";
        assert_eq!(run(text).unwrap(), ["20 4.5 6"]);
        assert_eq!(run("print('%d of %s: %.2f' % (1, 'x', 2))").unwrap(), ["1 of x: 2.00"]);
    }

    #[test]
    fn unknown_code_is_named_with_its_place() {
        assert!(run("assert nothing == 1").unwrap_err().contains("nothing"));
        let e =
            Code::parse("a = 1\n  import os", SourcePosition { line: 7, column: 3 }).unwrap_err().to_string();
        assert!(e.starts_with("8:3: not applicable") && e.contains("import"), "{e}");
    }
}
