//! Variables of an algorithm by name, for the table `cc` and for tests.
//!
//! A variable is declared once, where its value is given: name, unit, description, value. An
//! algorithm gives the same variables in the same order each time.

use std::ops::Deref;

/// The value of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown<'a> {
    /// A number; infinite: no bound. `None`: no value yet.
    Number(Option<f64>),
    /// A state.
    Text(&'a str),
    /// A state with the ones before it: how many changes there were since the start, and the latest
    /// of them, the newest last. Empty: no state yet.
    Trail {
        /// Changes since the start, the first value included.
        changes: u64,
        /// The latest values.
        latest: &'a [&'a str],
    },
    /// A change that was noted while the algorithm ran: a number.
    NotedNumber(f64),
    /// A change that was noted while the algorithm ran: a state.
    NotedText(&'a str),
}

/// A variable with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation<'a> {
    /// The name: that of the algorithm and the variable's in its source, `cubic.w_max`.
    pub name: &'a str,
    /// The unit; empty for a pure number, a flag (0 or 1) and a state.
    pub unit: &'a str,
    /// Its description.
    pub about: &'a str,
    /// The states that it can have; empty: a number, or states that are not listed.
    pub states: &'a [&'a str],
    /// The value.
    pub value: Shown<'a>,
}

/// A variable of an algorithm, for the documentation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Variable {
    /// Its name in the table `cc`.
    pub name: String,
    /// Its unit; "text" for a state; empty for a pure number.
    pub unit: String,
    /// Its description; of a state with its values.
    pub about: String,
    /// The states that it can have, where the algorithm lists them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
}

impl Variable {
    /// A variable without listed states, from its name, unit and description.
    pub fn new([name, unit, about]: [&str; 3]) -> Variable {
        let [name, unit, about] = [name, unit, about].map(str::to_owned);
        Variable { name, unit, about, states: Vec::new() }
    }
    /// True if it is a state.
    pub fn is_state(&self) -> bool {
        self.unit == STATE
    }
}

/// The unit of a state.
const STATE: &str = "text";

/// Receives the variables of an algorithm.
pub struct Observer<'a> {
    take: &'a mut dyn FnMut(&Observation<'_>),
}

impl<'a> Observer<'a> {
    /// Creates an observer that passes each variable to `take`.
    pub fn new(take: &'a mut dyn FnMut(&Observation<'_>)) -> Observer<'a> {
        Observer { take }
    }
    /// Gives any value.
    pub fn value(&mut self, name: &str, unit: &str, about: &str, value: Shown<'_>) {
        (self.take)(&Observation { name, unit, about, states: &[], value });
    }
    /// Gives a number; infinite: no bound.
    pub fn number(&mut self, name: &str, unit: &str, about: &str, value: f64) {
        self.value(name, unit, about, Shown::Number(Some(value)));
    }
    /// Gives a number that may not have a value yet.
    pub fn maybe(&mut self, name: &str, unit: &str, about: &str, value: Option<f64>) {
        self.value(name, unit, about, Shown::Number(value));
    }
    /// Gives a whole number.
    pub fn count(&mut self, name: &str, unit: &str, about: &str, value: u64) {
        self.number(name, unit, about, value as f64);
    }
    /// Gives a flag: 1 for true, 0 for false.
    pub fn flag(&mut self, name: &str, about: &str, value: bool) {
        self.number(name, "", about, f64::from(u8::from(value)));
    }
    /// Gives a state.
    pub fn text(&mut self, name: &str, about: &str, value: &str) {
        self.value(name, STATE, about, Shown::Text(value));
    }
    /// Gives one of `states`. Conditions that wait for any other are refused before a run.
    pub fn state(&mut self, name: &str, about: &str, states: &[&str], value: &str) {
        debug_assert!(states.contains(&value), "{name} = {value} is none of {states:?}");
        (self.take)(&Observation { name, unit: STATE, about, states, value: Shown::Text(value) });
    }
    /// Gives one of `states`, with those that it had within this call of the algorithm.
    pub fn trail<T: Copy + PartialEq>(
        &mut self,
        name: &str,
        about: &str,
        states: &[&str],
        trail: &Trail<T>,
        word: fn(T) -> &'static str,
    ) {
        let mut words = [""; LATEST];
        let latest = trail.latest(&mut words, word);
        debug_assert!(
            latest.iter().all(|w| states.contains(w)),
            "{name}: {latest:?} are not all of {states:?}"
        );
        let value = Shown::Trail { changes: trail.changes, latest };
        (self.take)(&Observation { name, unit: STATE, about, states, value });
    }
}

/// The variables that `show` gives, for the documentation.
pub fn variables(show: impl FnOnce(&mut Observer<'_>)) -> Vec<Variable> {
    let mut found = Vec::new();
    show(&mut Observer::new(&mut |o| {
        let [name, unit] = [o.name, o.unit].map(str::to_owned);
        let states = o.states.iter().map(|&s| s.to_owned()).collect();
        let about = match o.states {
            [] => o.about.to_owned(),
            [one] => format!("{}: {one}", o.about),
            [first @ .., last] => format!("{}: {} or {last}", o.about, first.join(", ")),
        };
        found.push(Variable { name, unit, about, states });
    }));
    found
}

/// Number of changes that are kept: of more changes within one ACK the first are lost.
const LATEST: usize = 8;

/// A state with its latest changes, so that an observer that reads it after each ACK also gets
/// states that lasted for less. It dereferences to the state.
#[derive(Clone, Copy, Debug)]
pub struct Trail<T> {
    now: T,
    latest: [T; LATEST],
    changes: u64,
}

impl<T: Copy + PartialEq> Trail<T> {
    /// Creates a trail in its first state.
    pub const fn new(first: T) -> Trail<T> {
        Trail { now: first, latest: [first; LATEST], changes: 1 }
    }
    /// Changes the state.
    pub fn go(&mut self, to: T) {
        if self.now == to {
            return;
        }
        self.latest[self.changes as usize % LATEST] = to;
        self.changes += 1;
        self.now = to;
    }
    fn latest<'a>(
        &self,
        words: &'a mut [&'static str; LATEST],
        word: fn(T) -> &'static str,
    ) -> &'a [&'a str] {
        let kept = self.changes.min(LATEST as u64);
        for (to, change) in words.iter_mut().zip(self.changes - kept..self.changes) {
            *to = word(self.latest[change as usize % LATEST]);
        }
        &words[..kept as usize]
    }
}

impl<T> Deref for Trail<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.now
    }
}

impl<T: PartialEq> PartialEq<T> for Trail<T> {
    #[inline]
    fn eq(&self, other: &T) -> bool {
        self.now == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(trail: &Trail<u8>) -> (u64, Vec<String>) {
        let mut found = None;
        let word = |n: u8| ["a", "b", "c", "d"][usize::from(n)];
        Observer::new(&mut |o| {
            if let Shown::Trail { changes, latest } = o.value {
                found = Some((changes, latest.iter().map(|&w| w.to_owned()).collect()));
            }
        })
        .trail("state", "the state", &["a", "b", "c", "d"], trail, word);
        found.unwrap()
    }

    #[test]
    fn a_trail_has_the_latest_eight_states_and_counts_all() {
        let mut trail = Trail::new(0);
        assert_eq!(seen(&trail), (1, vec!["a".to_owned()]));
        trail.go(1);
        trail.go(1);
        trail.go(0);
        assert_eq!(*trail, 0);
        assert_eq!(seen(&trail), (3, ["a", "b", "a"].map(str::to_owned).to_vec()));
        (1..9).for_each(|n| trail.go(n % 4));
        let last = ["b", "c", "d", "a", "b", "c", "d", "a"].map(str::to_owned).to_vec();
        assert_eq!(seen(&trail), (11, last));
    }

    #[test]
    fn a_variable_has_what_its_value_is_given_with() {
        let found = variables(|o| {
            o.number("x.rate", "bit/s", "a rate", 1.0);
            o.text("x.mode", "a mode", "on");
            o.state("x.phase", "a phase", &["up", "down", "even"], "up");
        });
        let states = ["up", "down", "even"].map(str::to_owned).to_vec();
        let phase = Variable::new(["x.phase", "text", "a phase: up, down or even"]);
        assert_eq!(
            found,
            [
                Variable::new(["x.rate", "bit/s", "a rate"]),
                Variable::new(["x.mode", "text", "a mode"]),
                Variable { states, ..phase },
            ]
        );
    }
}
