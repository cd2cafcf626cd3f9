//! Values, and the evaluation of code.

use std::collections::BTreeMap;
use std::fmt;

use super::{Node, Statement};
use crate::problem::SourcePosition;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number; `True` is 1.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// Values between parentheses.
    Tuple(Vec<Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(n) => write!(f, "{n}"),
            Value::Float(n) => write!(f, "{n}"),
            Value::Text(t) => write!(f, "{t}"),
            Value::Tuple(all) => {
                let all: Vec<String> = all.iter().map(Value::to_string).collect();
                write!(f, "({})", all.join(", "))
            }
        }
    }
}

/// Names and their values: tcp_info's fields, the constants, and the script's assignments.
pub type Variables = BTreeMap<String, Value>;

/// An assertion that does not hold, or code that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The position of the code in the script.
    pub place: SourcePosition,
    /// The assertion that does not hold, or the reason for which the code cannot be run.
    pub message: String,
}

type Outcome = Result<Value, String>;

pub(super) fn run(
    statement: &Statement,
    names: &mut Variables,
    printed: &mut Vec<String>,
) -> Result<(), String> {
    match statement {
        Statement::Assign(name, node) => {
            let value = value_of(node, names)?;
            names.insert(name.clone(), value);
        }
        Statement::Update(name, operator, node) => {
            let old = names.get(name).cloned().ok_or_else(|| unknown(name))?;
            let sign = match operator {
                '+' => "+",
                '-' => "-",
                _ => "*",
            };
            let value = binary(sign, old, value_of(node, names)?)?;
            names.insert(name.clone(), value);
        }
        Statement::Assert(condition, text, message) => {
            if !is_true(&value_of(condition, names)?) {
                let more = message.as_ref().map(|m| value_of(m, names)).transpose()?;
                let more = more.map_or_else(String::new, |v| format!(": {v}"));
                return Err(format!("assertion failed: {text}{more}"));
            }
        }
        Statement::Print(nodes) => {
            let values: Result<Vec<String>, String> =
                nodes.iter().map(|n| value_of(n, names).map(|v| v.to_string())).collect();
            printed.push(values?.join(" "));
        }
        Statement::Expression(node) => {
            value_of(node, names)?;
        }
    }
    Ok(())
}

fn unknown(name: &str) -> String {
    format!("`{name}` is not known: neither a field of tcp_info that this endpoint has nor assigned before")
}

fn is_true(v: &Value) -> bool {
    match v {
        Value::Int(n) => *n != 0,
        Value::Float(n) => *n != 0.0,
        Value::Text(t) => !t.is_empty(),
        Value::Tuple(all) => !all.is_empty(),
    }
}

fn value_of(node: &Node, names: &Variables) -> Outcome {
    match node {
        Node::Value(v) => Ok(v.clone()),
        Node::Name(name) => names.get(name).cloned().ok_or_else(|| unknown(name)),
        Node::Not(inner) => Ok(Value::Int(i64::from(!is_true(&value_of(inner, names)?)))),
        Node::Minus(inner) => binary("-", Value::Int(0), value_of(inner, names)?),
        Node::And(a, b) => {
            let first = value_of(a, names)?;
            if is_true(&first) { value_of(b, names) } else { Ok(first) }
        }
        Node::Or(a, b) => {
            let first = value_of(a, names)?;
            if is_true(&first) { Ok(first) } else { value_of(b, names) }
        }
        Node::Compare(first, rest) => compare(first, rest, names),
        Node::Binary(sign, a, b) => binary(sign, value_of(a, names)?, value_of(b, names)?),
        Node::Tuple(all) => {
            Ok(Value::Tuple(all.iter().map(|n| value_of(n, names)).collect::<Result<_, _>>()?))
        }
        Node::Call(name, args) => {
            let args: Vec<Value> = args.iter().map(|n| value_of(n, names)).collect::<Result<_, _>>()?;
            call(name, args)
        }
    }
}

fn compare(first: &Node, rest: &[(&'static str, Node)], names: &Variables) -> Outcome {
    let mut left = value_of(first, names)?;
    for (sign, node) in rest {
        let right = value_of(node, names)?;
        let order = match (&left, &right) {
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (a, b) => number(a).ok().zip(number(b).ok()).and_then(|(a, b)| a.partial_cmp(&b)),
        };
        let holds = match (*sign, order, &right) {
            ("in", _, Value::Tuple(all)) => all.contains(&left),
            ("==", None, _) => left == right,
            ("!=", None, _) => left != right,
            ("==", Some(o), _) => o.is_eq(),
            ("!=", Some(o), _) => o.is_ne(),
            ("<", Some(o), _) => o.is_lt(),
            ("<=", Some(o), _) => o.is_le(),
            (">", Some(o), _) => o.is_gt(),
            (">=", Some(o), _) => o.is_ge(),
            _ => return Err(format!("{left} {sign} {right} cannot be compared")),
        };
        if !holds {
            return Ok(Value::Int(0));
        }
        left = right;
    }
    Ok(Value::Int(1))
}

fn number(v: &Value) -> Result<f64, String> {
    match v {
        Value::Int(n) => Ok(*n as f64),
        Value::Float(n) => Ok(*n),
        other => Err(format!("`{other}` is not a number")),
    }
}

fn binary(sign: &str, a: Value, b: Value) -> Outcome {
    if let (Value::Text(t), "%") = (&a, sign) {
        let values = if let Value::Tuple(all) = b { all } else { vec![b] };
        return Ok(Value::Text(format_text(t, values)?));
    }
    if let (Value::Text(s), Value::Text(t), "+") = (&a, &b, sign) {
        return Ok(Value::Text(format!("{s}{t}")));
    }
    let too_large = || format!("{a} {sign} {b} has no value");
    if let (Value::Int(x), Value::Int(y)) = (&a, &b) {
        let (x, y) = (*x, *y);
        let shift = u32::try_from(y).ok().filter(|s| *s < 63);
        let whole = match sign {
            "+" => x.checked_add(y),
            "-" => x.checked_sub(y),
            "*" => x.checked_mul(y),
            "//" => x.checked_div_euclid(y),
            "%" => x.checked_rem_euclid(y),
            "&" => Some(x & y),
            "|" => Some(x | y),
            "^" => Some(x ^ y),
            "<<" => shift.and_then(|s| x.checked_mul(1 << s)),
            ">>" => shift.map(|s| x >> s),
            "**" => u32::try_from(y).ok().and_then(|y| x.checked_pow(y)),
            "/" if y == 0 => None,
            _ => return Ok(Value::Float(x as f64 / y as f64)),
        };
        return whole.map(Value::Int).ok_or_else(too_large);
    }
    let (x, y) = (number(&a)?, number(&b)?);
    let v = match sign {
        "+" => x + y,
        "-" => x - y,
        "*" => x * y,
        "/" => x / y,
        "//" => (x / y).floor(),
        "%" => x - y * (x / y).floor(),
        _ => return Err(too_large()),
    };
    if v.is_finite() { Ok(Value::Float(v)) } else { Err(too_large()) }
}

fn call(name: &str, args: Vec<Value>) -> Outcome {
    let first = args.first().ok_or_else(|| format!("{name}() needs a value"))?;
    match name {
        "abs" => match first {
            Value::Int(n) => {
                n.checked_abs().map(Value::Int).ok_or_else(|| "abs() of that has no value".into())
            }
            other => Ok(Value::Float(number(other)?.abs())),
        },
        "int" => Ok(Value::Int(number(first)? as i64)),
        "float" => Ok(Value::Float(number(first)?)),
        "round" => Ok(Value::Int(number(first)?.round() as i64)),
        "str" => Ok(Value::Text(first.to_string())),
        "len" => match first {
            Value::Text(t) => Ok(Value::Int(t.len() as i64)),
            Value::Tuple(t) => Ok(Value::Int(t.len() as i64)),
            _ => Err("len() of a number".into()),
        },
        "min" | "max" => {
            let mut best = first.clone();
            for v in &args[1..] {
                let smaller = number(v)? < number(&best)?;
                if smaller == (name == "min") {
                    best = v.clone();
                }
            }
            Ok(best)
        }
        _ => Err(format!(
            "the function `{name}` is not understood (abs, min, max, int, float, round, str, len are)"
        )),
    }
}

/// `%d`, `%s`, `%f`, `%.2f`, `%u`, `%x`, `%%`.
fn format_text(text: &str, values: Vec<Value>) -> Result<String, String> {
    let mut values = values.into_iter();
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut digits = String::new();
        let kind = loop {
            match chars.next() {
                Some(d) if d.is_ascii_digit() || d == '.' || d == '-' => digits.push(d),
                Some(kind) => break kind,
                None => return Err(format!("`{text}` ends within a format")),
            }
        };
        if kind == '%' {
            out.push('%');
            continue;
        }
        let value = values.next().ok_or_else(|| format!("`{text}` has more formats than values"))?;
        out.push_str(&match kind {
            'd' | 'u' | 'i' => (number(&value)? as i64).to_string(),
            'x' => format!("{:x}", number(&value)? as i64),
            'f' | 'g' => {
                let places = digits.split('.').nth(1).and_then(|d| d.parse().ok()).unwrap_or(6usize).min(18);
                format!("{:.*}", places, number(&value)?)
            }
            _ => value.to_string(),
        });
    }
    Ok(out)
}
