//! The variables of a control written in Python: those that its class declares, the values that
//! callbacks note, and their rows in the table `cc`.

use std::sync::Arc;

use lasthop_sim::tcp::cc::{Observer, Shown};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The variables of a class, and the changes noted since the last reading.
pub struct Watched {
    observables: Arc<[Observable]>,
    notes: Vec<(usize, Noted)>,
}

/// An entry of the class attribute `observables`.
struct Observable {
    name: String,
    /// "text": a state.
    unit: String,
}

/// A value of a variable.
#[derive(Clone, Debug)]
enum Noted {
    Number(f64),
    Text(String),
}

impl Watched {
    /// Reads the declarations of an object's class; `taken`: names that every sender shows.
    pub fn of(object: &Bound<'_, PyAny>, taken: impl Fn(&str) -> bool) -> PyResult<Watched> {
        let what = "`observables` must be a dict from the names of variables to their units, such as {\"mine.rate\": \"bit/s\"}";
        let wrong = |_| PyTypeError::new_err(what);
        let entries =
            object.getattr("observables")?.cast_into::<PyDict>().map_err(|_| PyTypeError::new_err(what))?;
        let mut found = Vec::new();
        for (name, unit) in entries {
            let (name, unit) =
                (name.extract::<String>().map_err(wrong)?, unit.extract::<String>().map_err(wrong)?);
            if name.is_empty() || taken(&name) {
                let message =
                    format!("`observables` has `{name}`, which every sender shows: choose another name");
                return Err(PyValueError::new_err(message));
            }
            found.push(Observable { name, unit });
        }
        Ok(Watched { observables: found.into(), notes: Vec::new() })
    }
    /// Records a change of a variable while a callback runs.
    pub fn note(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let Some(i) = self.observables.iter().position(|o| o.name == name) else {
            return Err(PyValueError::new_err(undeclared(name)));
        };
        self.notes.push((i, Noted::of(&self.observables[i], value)?));
        Ok(())
    }
    /// Returns the values to show now and clears the notes.
    pub fn take(&mut self) -> Watched {
        Watched { observables: Arc::clone(&self.observables), notes: std::mem::take(&mut self.notes) }
    }
    /// Shows the notes, then the values that the object's `observe` returns.
    pub fn show(&self, object: &Bound<'_, PyAny>, o: &mut Observer<'_>) -> PyResult<()> {
        for (i, noted) in &self.notes {
            let Observable { name, unit } = &self.observables[*i];
            let value = match noted {
                Noted::Number(number) => Shown::NotedNumber(*number),
                Noted::Text(text) => Shown::NotedText(text),
            };
            o.value(name, unit, "", value);
        }
        let shown = object.call_method0(intern!(object.py(), "observe"))?;
        let shown = shown.cast_into::<PyDict>().map_err(|_| PyTypeError::new_err("it returns no dict"))?;
        for name in shown.keys() {
            let name = name.extract::<String>()?;
            if !self.observables.iter().any(|o| o.name == name) {
                return Err(PyValueError::new_err(undeclared(&name)));
            }
        }
        for observable in &*self.observables {
            let value = shown.get_item(&observable.name)?.filter(|v| !v.is_none());
            let value = value.map(|v| Noted::of(observable, &v)).transpose()?;
            let value = match &value {
                None => Shown::Number(None),
                Some(Noted::Number(number)) => Shown::Number(Some(*number)),
                Some(Noted::Text(text)) => Shown::Text(text),
            };
            o.value(&observable.name, &observable.unit, "", value);
        }
        Ok(())
    }
}

impl Noted {
    fn of(observable: &Observable, value: &Bound<'_, PyAny>) -> PyResult<Noted> {
        let Observable { name, unit } = observable;
        if unit == "text" {
            let text = value.extract::<String>();
            return text.map(Noted::Text).map_err(|_| PyTypeError::new_err(format!("`{name}` is no text")));
        }
        match value.extract::<f64>() {
            Ok(number) if !number.is_nan() => Ok(Noted::Number(number)),
            _ => Err(PyTypeError::new_err(format!("`{name}` is no number"))),
        }
    }
}

fn undeclared(name: &str) -> String {
    format!("`{name}` is not in the class attribute `observables`")
}
