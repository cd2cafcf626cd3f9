//! Random words and numbers, and the TOML text made of them.

use std::fmt::{Display, Write};

use lasthop_engine::{Draw, Purpose, Stream, math};

/// A source of choices and the resulting text.
pub struct Words {
    stream: Stream,
    pub text: String,
}

impl Words {
    pub fn new(seed: u64) -> Words {
        Words { stream: Draw::new(seed, Purpose::Test, 0x5eed).stream(0), text: String::new() }
    }
    pub fn chance(&mut self, p: f64) -> bool {
        self.stream.uniform() < p
    }
    /// Returns a number uniform on `low..=high`.
    pub fn int(&mut self, low: u64, high: u64) -> u64 {
        low + self.stream.below(high - low + 1)
    }
    /// Returns a number log-uniform on `low..=high`, `low` above zero.
    pub fn log(&mut self, low: u64, high: u64) -> u64 {
        let x = (low as f64) * math::pow(high as f64 / low as f64, self.stream.uniform());
        (x.round() as u64).clamp(low, high)
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.stream.below(from.len() as u64) as usize]
    }
    /// Returns a time, log-uniform between two numbers of microseconds.
    pub fn time(&mut self, low_us: u64, high_us: u64) -> String {
        format!("\"{} us\"", self.log(low_us, high_us))
    }
    pub fn rate(&mut self, low: u64, high: u64) -> String {
        format!("\"{} bit/s\"", self.log(low, high))
    }
    pub fn bytes(&mut self, low: u64, high: u64) -> String {
        format!("\"{} B\"", self.log(low, high))
    }
    /// Returns a probability up to `most` per cent; often 0 and rarely the maximum.
    pub fn ratio(&mut self, most: f64) -> String {
        let percent = match self.int(0, 9) {
            0..=2 => 0.0,
            9 => most,
            _ => most * self.stream.uniform() * self.stream.uniform(),
        };
        format!("\"{percent:.3} %\"")
    }
    pub fn word(&mut self, from: &[&str]) -> String {
        format!("\"{}\"", self.pick(from))
    }
    pub fn flag(&mut self) -> String {
        self.chance(0.5).to_string()
    }
    pub fn table(&mut self, name: impl Display) {
        let _ = writeln!(self.text, "\n[{name}]");
    }
    pub fn key(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.text, "{key} = {value}");
    }
    /// Writes `key = value` with probability `p`.
    pub fn maybe(&mut self, p: f64, key: &str, value: impl FnOnce(&mut Words) -> String) {
        if self.chance(p) {
            let value = value(self);
            self.key(key, value);
        }
    }
}
