//! `Simulation`: a run in steps, with reading and changes between them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use lasthop_sim::Scalar;
use lasthop_units::{Duration, Instant};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::{LasthopError, finish, json_to_python, raise};
use crate::run::RunOutput;
use crate::scenario::Scenario;

/// A time: seconds as a number, or text with its unit.
#[derive(FromPyObject)]
enum Moment {
    Text(String),
    Seconds(f64),
}

/// A value for a runtime key.
#[derive(FromPyObject)]
enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    Table(BTreeMap<String, Value>),
}

impl From<Value> for Scalar {
    fn from(value: Value) -> Scalar {
        match value {
            Value::Bool(b) => Scalar::Bool(b),
            Value::Integer(i) => Scalar::Integer(i),
            Value::Float(f) => Scalar::Float(f),
            Value::Text(s) => Scalar::Text(s),
            Value::List(all) => Scalar::List(all.into_iter().map(Scalar::from).collect()),
            Value::Table(all) => Scalar::Table(all.into_iter().map(|(k, v)| (k, v.into())).collect()),
        }
    }
}

/// A run that its caller advances step by step.
///
/// The mutex is never locked: it makes the class `Sync`, because the garbage collector of any
/// thread may drop an object.
#[pyclass(module = "lasthop._core")]
pub struct Simulation(Mutex<Option<lasthop_sim::Simulation>>);

impl Simulation {
    fn inner(&mut self) -> &mut Option<lasthop_sim::Simulation> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
    fn world(&mut self) -> PyResult<&mut lasthop_sim::Simulation> {
        let world = self
            .inner()
            .as_mut()
            .ok_or_else(|| PyRuntimeError::new_err("this simulation has finished: make a new one"))?;
        if !world.is_mine() {
            return Err(PyRuntimeError::new_err(
                "this simulation writes the folder of the process that this one was forked from: \
                 make a new one here, with another folder or none",
            ));
        }
        Ok(world)
    }
}

/// Does not drop the copy in a forked child, whose writers would append their buffers to the files
/// of the parent.
impl Drop for Simulation {
    fn drop(&mut self) {
        if let Some(world) = self.inner().take_if(|world| !world.is_mine()) {
            std::mem::forget(world);
        }
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (scenario, out=None, capture=None, threads=1))]
    fn new(
        scenario: &Scenario,
        out: Option<PathBuf>,
        capture: Option<PathBuf>,
        threads: usize,
    ) -> PyResult<Self> {
        let simulation = lasthop_sim::Simulation::capturing(&scenario.0, out.as_deref(), capture.as_deref());
        simulation
            .and_then(|mut s| s.set_threads(threads).map(|()| s))
            .map(|s| Simulation(Mutex::new(Some(s))))
            .map_err(|e| raise(&e))
    }

    #[getter]
    fn now_s(&mut self) -> PyResult<f64> {
        Ok(self.world()?.now().as_secs_f64())
    }
    #[getter]
    fn now_ns(&mut self) -> PyResult<u64> {
        Ok(self.world()?.now().as_nanos())
    }

    /// Runs up to `t`; a change now is in force for all events at `t`.
    fn step_until(&mut self, py: Python<'_>, t: Moment) -> PyResult<()> {
        let t = match t {
            Moment::Seconds(s) if s.is_finite() && s >= 0.0 => Duration::from_secs_f64(s),
            Moment::Seconds(s) => {
                return Err(LasthopError::new_err(format!("{s} is no moment of a run")));
            }
            Moment::Text(s) => {
                s.parse().map_err(|e: lasthop_units::UnitError| LasthopError::new_err(e.to_string()))?
            }
        };
        let world = self.world()?;
        let mut interrupted = None;
        let result =
            world.step_until_or_stopped(Instant::ZERO + t, &mut || look_around(py, &mut interrupted));
        finish(interrupted, result)
    }

    /// Changes a runtime key now.
    fn set(&mut self, key: &str, value: Value) -> PyResult<()> {
        self.world()?.set(key, value.into()).map_err(|e| raise(&e))
    }

    /// Starts something: `"flow.ftp"`.
    fn start(&mut self, name: &str) -> PyResult<()> {
        self.world()?.start(name).map_err(|e| raise(&e))
    }

    /// Stops something: `"flow.ftp"`.
    fn stop(&mut self, name: &str) -> PyResult<()> {
        self.world()?.stop(name).map_err(|e| raise(&e))
    }

    /// tcp_info of the flow's sender.
    fn tcp_info<'py>(&mut self, py: Python<'py>, flow: &str) -> PyResult<Bound<'py, PyAny>> {
        let info = self.world()?.tcp_info(flow).map_err(|e| raise(&e))?;
        json_to_python(py, &info.to_string())
    }

    /// Runs to the scenario's end and gives the results.
    fn finish(&mut self, py: Python<'_>) -> PyResult<RunOutput> {
        self.world()?;
        let Some(world) = self.inner().take() else { unreachable!("checked above") };
        let mut interrupted = None;
        let result = world.finish_or_stopped(&mut || look_around(py, &mut interrupted));
        finish(interrupted, result).map(RunOutput)
    }
}

/// Lets other Python threads run, then checks for a signal (Ctrl-C).
fn look_around(py: Python<'_>, interrupted: &mut Option<PyErr>) -> bool {
    py.detach(|| ());
    py.check_signals().map_err(|e| *interrupted = Some(e)).is_ok()
}
