//! Schedulers written in Python: the base class, its input, and the adapter by which a cell uses an
//! object.
//!
//! This path is slow by design: every TTI takes the interpreter's lock and creates an object for
//! each candidate.

use std::sync::Arc;

use lasthop_sim::scheduler::{self as mac, Definition, Domain, Fault, Setup};
use lasthop_sim::units::{Id, Tti};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::custom::{CustomPolicy, describe};
use crate::fault::fault;

/// The base class of schedulers.
#[pyclass(subclass, module = "lasthop._core")]
pub struct Scheduler {
    /// Name of the cell.
    #[pyo3(get)]
    cell: String,
    /// "downlink" or "uplink".
    #[pyo3(get)]
    direction: &'static str,
    /// Resource blocks of the carrier.
    #[pyo3(get)]
    blocks: u32,
    /// The run's seed.
    #[pyo3(get)]
    seed: u64,
}

#[pymethods]
impl Scheduler {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Scheduler { cell: String::new(), direction: "", blocks: 0, seed: 0 }
    }

    /// How weights are spent.
    #[classattr]
    #[pyo3(name = "domain")]
    const DOMAIN: &'static str = "rate";

    /// A weight for each candidate: the derived class says which.
    fn weigh(slf: &Bound<'_, Self>, _tti: u64, _candidates: &Bound<'_, PyList>) -> PyResult<()> {
        let class = slf.get_type().qualname()?;
        Err(PyNotImplementedError::new_err(format!("{class} has no `weigh(self, tti, candidates)`")))
    }
}

/// A UE that could be served in this TTI.
#[pyclass(frozen, get_all, module = "lasthop._core")]
pub struct Candidate {
    ue: usize,
    backlog: u64,
    head_delay: f64,
    rate: f64,
    average: f64,
    qci: u8,
    guaranteed: f64,
    served: Option<u64>,
}

impl From<&mac::Candidate> for Candidate {
    fn from(c: &mac::Candidate) -> Candidate {
        Candidate {
            ue: c.ue.index(),
            backlog: c.backlog,
            head_delay: c.head_delay.as_secs_f64(),
            rate: c.wideband_rate,
            average: c.average,
            qci: c.qci,
            guaranteed: c.guaranteed,
            served: c.served.map(|t| t.0),
        }
    }
}

/// The scheduler as a definition for the simulator.
pub fn definition(own: CustomPolicy) -> Definition {
    let make = Arc::new(own.make);
    let d = Definition::new(&own.name, move |setup: &Setup<'_>| {
        Python::attach(|py| PyScheduler::make(py, &make, setup)).map(|s| Box::new(s) as Box<_>)
    });
    describe!(d, own)
}

/// An object of the derived class, used by a cell.
struct PyScheduler {
    object: Py<Scheduler>,
    class: String,
    cell: String,
    domain: Domain,
    fault: Option<Fault>,
    /// True after a call has failed: no other is made.
    broken: bool,
}

impl PyScheduler {
    fn make(py: Python<'_>, make: &Py<PyAny>, setup: &Setup<'_>) -> Result<PyScheduler, Fault> {
        let cell = setup.place.cell;
        let fail = |e: PyErr| fault(py, &format!("the scheduler of cell `{cell}` cannot be made"), e);
        let kwargs = PyDict::new(py);
        for (name, value) in setup.given() {
            kwargs.set_item(name, value).map_err(fail)?;
        }
        let made = make.bind(py).call((), Some(&kwargs)).map_err(fail)?;
        let object = made.cast_into::<Scheduler>().map_err(|e| {
            let found = e.into_inner();
            let what = found.get_type().qualname().map_or_else(|_| "?".to_owned(), |n| n.to_string());
            fail(PyTypeError::new_err(format!("expected a lasthop.Scheduler, found a {what}")))
        })?;
        {
            let mut base = object.borrow_mut();
            cell.clone_into(&mut base.cell);
            base.direction = setup.place.direction.name();
            (base.blocks, base.seed) = (setup.place.blocks, setup.place.seed);
        }
        let class = object.get_type().qualname().map_err(fail)?.to_string();
        let domain = domain_of(&object).map_err(fail)?;
        Ok(PyScheduler {
            object: object.unbind(),
            class,
            cell: cell.to_owned(),
            domain,
            fault: None,
            broken: false,
        })
    }
}

/// The domains by name.
const DOMAINS: [(&str, Domain); 5] = [
    ("rate", Domain::Frequency { channel_aware: true, counts_given: false }),
    ("weight", Domain::Frequency { channel_aware: false, counts_given: false }),
    ("filling", Domain::Frequency { channel_aware: false, counts_given: true }),
    ("time", Domain::Time),
    ("equal", Domain::Equal),
];

fn domain_of(object: &Bound<'_, Scheduler>) -> PyResult<Domain> {
    let found = object.getattr(intern!(object.py(), "domain"))?;
    let name: Option<String> = found.extract().ok();
    let known = DOMAINS.iter().find(|(n, _)| name.as_deref() == Some(n));
    known.map(|(_, domain)| *domain).ok_or_else(|| {
        let names = DOMAINS.map(|(n, _)| format!("'{n}'")).join(", ");
        PyValueError::new_err(format!("domain = {found:?}: one of {names}"))
    })
}

impl mac::Policy for PyScheduler {
    fn domain(&self) -> Domain {
        self.domain
    }
    fn weigh(&mut self, tti: Tti, candidates: &[mac::Candidate], weights: &mut [f64]) {
        if self.broken {
            return;
        }
        let result = Python::attach(|py| {
            let mut call = || {
                let made = candidates.iter().map(|c| Py::new(py, Candidate::from(c)));
                let list = PyList::new(py, made.collect::<PyResult<Vec<_>>>()?)?;
                let returned = self.object.bind(py).call_method1(intern!(py, "weigh"), (tti.0, list))?;
                read(&returned, weights)
            };
            call().map_err(|e| {
                let what = format!(
                    "`{}.weigh` failed in cell `{}` at {:.3} s",
                    self.class,
                    self.cell,
                    tti.0 as f64 * 1e-3
                );
                fault(py, &what, e)
            })
        });
        if let Err(fault) = result {
            weights.fill(0.0);
            self.fault = Some(fault);
            self.broken = true;
        }
    }
    fn fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }
}

/// Reads as many numbers as there are candidates.
fn read(returned: &Bound<'_, PyAny>, weights: &mut [f64]) -> PyResult<()> {
    let n = weights.len();
    let mut found = 0;
    for item in returned.try_iter()? {
        let weight: f64 = item?.extract()?;
        if weight.is_nan() {
            return Err(PyValueError::new_err(format!("weight {found} is not a number")));
        }
        if let Some(place) = weights.get_mut(found) {
            *place = weight;
        }
        found += 1;
    }
    if found != n {
        return Err(PyValueError::new_err(format!("{found} weights for {n} candidates")));
    }
    Ok(())
}

impl std::fmt::Debug for PyScheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(&self.class).field("cell", &self.cell).finish()
    }
}
