//! Parser from tokens to statements, by precedence.

use super::token::{Token, tokens};
use super::{Node, Statement, Value};
use crate::problem::{Problem, SourcePosition};

/// Largest depth of nested expressions.
const DEPTH_MAX: u32 = 64;

pub(super) fn statements(
    text: &str,
    place: SourcePosition,
) -> Result<Vec<(SourcePosition, Statement)>, Problem> {
    let tokens = tokens(text, place)?;
    let mut p = Parser { tokens: &tokens, at: 0, depth: 0 };
    let mut found = vec![];
    while p.at < tokens.len() {
        if p.take(&Token::End) {
            continue;
        }
        let place = p.place();
        found.push((place, p.statement()?));
        if p.at < tokens.len() && !p.take(&Token::End) {
            return Err(p.mistake("the end of the statement is expected here"));
        }
    }
    Ok(found)
}

struct Parser<'a> {
    tokens: &'a [(SourcePosition, Token)],
    at: usize,
    depth: u32,
}

/// Binary operators from the loosest to the tightest.
const LEVELS: &[&[&str]] =
    &[&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "//", "/", "%"], &["**"]];

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.1)
    }
    fn place(&self) -> SourcePosition {
        self.tokens.get(self.at).or(self.tokens.last()).map_or_else(SourcePosition::default, |t| t.0)
    }
    fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }
    fn take_sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let Some(Token::Sign(s)) = self.peek() else { return None };
        let s = *s;
        signs.contains(&s).then(|| {
            self.at += 1;
            s
        })
    }
    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w == word);
        self.at += usize::from(found);
        found
    }
    fn mistake(&self, message: &str) -> Problem {
        Problem::Mistake { place: self.place(), message: message.into() }
    }

    fn statement(&mut self) -> Result<Statement, Problem> {
        if self.take_word("assert") {
            let start = self.at;
            let condition = self.expression()?;
            let text = self.spelled(start, self.at);
            let message = if self.take(&Token::Sign(",")) { Some(self.expression()?) } else { None };
            return Ok(Statement::Assert(condition, text, message));
        }
        if self.take_word("print") {
            return Ok(Statement::Print(match self.peek() {
                Some(Token::End) | None => vec![],
                _ => match self.expression()? {
                    Node::Tuple(all) => all,
                    one => vec![one],
                },
            }));
        }
        for word in
            ["import", "from", "def", "for", "while", "if", "class", "return", "with", "try", "lambda"]
        {
            if matches!(self.peek(), Some(Token::Word(w)) if w == word) {
                let reason = format!("code with `{word}`; assertions, assignments and print are understood");
                return Err(Problem::NotApplicable { place: self.place(), reason });
            }
        }
        if let (Some(Token::Word(name)), Some((_, Token::Sign(sign)))) =
            (self.peek(), self.tokens.get(self.at + 1))
        {
            let (name, sign) = (name.clone(), *sign);
            if matches!(sign, "=" | "+=" | "-=" | "*=") {
                self.at += 2;
                let value = self.expression()?;
                return Ok(match sign.chars().next() {
                    Some('=') | None => Statement::Assign(name, value),
                    Some(operator) => Statement::Update(name, operator, value),
                });
            }
        }
        Ok(Statement::Expression(self.expression()?))
    }

    /// The tokens from `from` to `to`, for messages.
    fn spelled(&self, from: usize, to: usize) -> String {
        let words = self.tokens[from..to].iter().map(|(_, t)| match t {
            Token::Int(n) => n.to_string(),
            Token::Float(n) => n.to_string(),
            Token::Text(t) => format!("'{t}'"),
            Token::Word(w) => w.clone(),
            Token::Sign(s) => (*s).to_owned(),
            Token::End => ";".to_owned(),
        });
        words.collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")")
    }

    fn expression(&mut self) -> Result<Node, Problem> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.mistake("expressions nest too deeply here"));
        }
        let found = self.or();
        self.depth -= 1;
        found
    }

    fn or(&mut self) -> Result<Node, Problem> {
        let mut left = self.and()?;
        while self.take_word("or") {
            left = Node::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }
    fn and(&mut self) -> Result<Node, Problem> {
        let mut left = self.not()?;
        while self.take_word("and") {
            left = Node::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }
    fn not(&mut self) -> Result<Node, Problem> {
        let mut negations = 0;
        while self.take_word("not") {
            negations += 1;
        }
        let inner = self.comparison()?;
        Ok((0..negations % 2).fold(inner, |n, _| Node::Not(Box::new(n))))
    }

    fn comparison(&mut self) -> Result<Node, Problem> {
        let first = self.binary(0)?;
        let mut rest = vec![];
        loop {
            let operator = match self.take_sign(&["==", "!=", "<=", ">=", "<", ">"]) {
                Some(s) => s,
                None if self.take_word("in") => "in",
                None => break,
            };
            rest.push((operator, self.binary(0)?));
        }
        Ok(if rest.is_empty() { first } else { Node::Compare(Box::new(first), rest) })
    }

    fn binary(&mut self, level: usize) -> Result<Node, Problem> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.take_sign(operators) {
            left = Node::Binary(operator, Box::new(left), Box::new(self.binary(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, Problem> {
        let mut signs = 0;
        while let Some(s) = self.take_sign(&["-", "+"]) {
            signs += u32::from(s == "-");
        }
        let inner = self.atom()?;
        Ok(if signs % 2 == 1 { Node::Minus(Box::new(inner)) } else { inner })
    }

    fn atom(&mut self) -> Result<Node, Problem> {
        let token = self.peek().cloned();
        let node = match token {
            Some(Token::Int(n)) => Node::Value(Value::Int(n)),
            Some(Token::Float(n)) => Node::Value(Value::Float(n)),
            Some(Token::Text(t)) => Node::Value(Value::Text(t)),
            Some(Token::Word(w)) if w == "True" || w == "False" => {
                Node::Value(Value::Int(i64::from(w == "True")))
            }
            Some(Token::Word(w)) => {
                self.at += 1;
                return if self.take(&Token::Sign("(")) {
                    Ok(Node::Call(w, self.items()?.0))
                } else {
                    Ok(Node::Name(w))
                };
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                let (mut items, tuple) = self.items()?;
                return Ok(if tuple || items.len() != 1 { Node::Tuple(items) } else { items.remove(0) });
            }
            _ => return Err(self.mistake("a value is expected here")),
        };
        self.at += 1;
        Ok(node)
    }

    /// Parses values up to a closing parenthesis; also returns whether a comma ended the last.
    fn items(&mut self) -> Result<(Vec<Node>, bool), Problem> {
        let mut found = vec![];
        let mut comma = false;
        loop {
            if self.take(&Token::Sign(")")) {
                return Ok((found, comma));
            }
            found.push(self.expression()?);
            comma = self.take(&Token::Sign(","));
            if !comma && self.peek() != Some(&Token::Sign(")")) {
                return Err(self.mistake("`,` or `)` is expected here"));
            }
        }
    }
}
