//! Rate controls of media written in Python: the base class, the arguments of its callbacks, and
//! the adapter by which the sender of a media flow uses an object.
//!
//! There are some twenty reports a second, so callbacks take little time beside the rest of a run.
//! Rate, pace and window are read at each packet: they are kept here.

use std::cell::RefCell;
use std::sync::Arc;

use lasthop_sim::media::{self, Definition, Fault, RateControl as _, Setup};
use lasthop_sim::tcp::cc::Observer;
use lasthop_sim::units::{Ecn, Instant};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::custom::{CustomPolicy, describe};
use crate::fault::fault;
use crate::watched::Watched;

/// The base class of rate controls.
#[pyclass(subclass, module = "lasthop._core")]
pub struct RateControl {
    decided: Decided,
    /// Name of the flow.
    #[pyo3(get)]
    flow: String,
    /// The variables that it gives, where the run has the table `cc`.
    watched: Option<Watched>,
}

/// The values in force.
#[derive(Clone, Copy, Debug)]
struct Decided {
    target: f64,
    pacing: Option<f64>,
    window: Option<u64>,
}

#[pymethods]
impl RateControl {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        let decided = Decided { target: 1.0, pacing: None, window: None };
        RateControl { decided, flow: String::new(), watched: None }
    }

    /// Names of the variables that `observe` returns and `note` takes, with their units.
    #[classattr]
    fn observables(py: Python<'_>) -> Bound<'_, PyDict> {
        PyDict::new(py)
    }
    #[getter]
    const fn observed(&self) -> bool {
        self.watched.is_some()
    }
    /// The variables by name.
    fn observe<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        PyDict::new(py)
    }
    /// A variable changes while a callback runs.
    fn note(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.watched.as_mut().map_or(Ok(()), |watched| watched.note(name, value))
    }

    #[getter]
    fn target_rate(&self) -> f64 {
        self.decided.target
    }
    #[setter]
    fn set_target_rate(&mut self, bits_per_second: f64) -> PyResult<()> {
        self.decided.target = rate("target_rate", bits_per_second)?;
        Ok(())
    }
    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.decided.pacing
    }
    #[setter]
    fn set_pacing_rate(&mut self, bits_per_second: Option<f64>) -> PyResult<()> {
        self.decided.pacing = bits_per_second.map(|r| rate("pacing_rate", r)).transpose()?;
        Ok(())
    }
    #[getter]
    fn window(&self) -> Option<u64> {
        self.decided.window
    }
    #[setter]
    fn set_window(&mut self, octets: Option<u64>) {
        self.decided.window = octets;
    }

    /// The flow is made: the rate at the start.
    fn init(&mut self, start: &MediaStart) {
        self.decided.target = start.start_rate;
    }
    /// A report: the derived class says what.
    fn on_feedback(slf: &Bound<'_, Self>, _report: &MediaReport) -> PyResult<()> {
        let class = slf.get_type().qualname()?;
        Err(PyNotImplementedError::new_err(format!("{class} has no `on_feedback(self, report)`")))
    }
    /// A packet leaves.
    fn on_sent(&self, _packet: &SentMedia) {}
}

fn rate(what: &str, bits_per_second: f64) -> PyResult<f64> {
    if !bits_per_second.is_finite() || bits_per_second < 1.0 {
        return Err(PyValueError::new_err(format!(
            "{what} = {bits_per_second}: at least 1 bit/s, and finite"
        )));
    }
    Ok(bits_per_second)
}

/// The setting for which a rate control is constructed.
#[pyclass(frozen, get_all, module = "lasthop._core")]
pub struct MediaStart {
    min_rate: f64,
    max_rate: f64,
    start_rate: f64,
    frame_rate: f64,
    feedback: f64,
    packet: u32,
    l4s: bool,
    seed: u64,
}

/// A packet that leaves.
#[pyclass(frozen, get_all, module = "lasthop._core")]
pub struct SentMedia {
    number: u64,
    size: u32,
    now: f64,
    in_flight: u64,
}

/// The outcome of a packet.
#[pyclass(frozen, get_all, module = "lasthop._core")]
pub struct MediaOutcome {
    number: u64,
    size: u32,
    sent: f64,
    arrival: Option<f64>,
    marked: bool,
    late: bool,
}

/// A report of the receiver.
#[pyclass(frozen, get_all, module = "lasthop._core")]
pub struct MediaReport {
    now: f64,
    rtt: Option<f64>,
    packets: Py<PyTuple>,
    in_flight_before: u64,
    in_flight: u64,
    newly_acked: u64,
    queued: u64,
}

impl MediaReport {
    fn of(py: Python<'_>, f: &media::Feedback<'_>) -> PyResult<MediaReport> {
        let outcome = |p: &media::Outcome| {
            let made = MediaOutcome {
                number: p.number,
                size: p.size,
                sent: seconds(p.sent),
                arrival: p.arrival.map(seconds),
                marked: p.ecn == Ecn::Ce,
                late: p.late,
            };
            Py::new(py, made)
        };
        let packets = f.packets.iter().map(outcome).collect::<PyResult<Vec<_>>>()?;
        Ok(MediaReport {
            now: seconds(f.now),
            rtt: f.rtt.map(|d| d.as_secs_f64()),
            packets: PyTuple::new(py, packets)?.unbind(),
            in_flight_before: f.in_flight_before,
            in_flight: f.in_flight,
            newly_acked: f.newly_acked,
            queued: f.queued,
        })
    }
}

fn seconds(t: Instant) -> f64 {
    t.as_secs_f64()
}

/// The rate control as a definition for the simulator.
pub fn definition(own: CustomPolicy) -> Definition {
    let make = Arc::new(own.make);
    let d = Definition::new(&own.name, move |setup: &Setup<'_>| {
        Python::attach(|py| PyRateControl::make(py, &make, setup)).map(|c| Box::new(c) as Box<_>)
    });
    describe!(d, own)
}

/// An object of the derived class, used by a sender.
struct PyRateControl {
    object: Py<RateControl>,
    class: String,
    flow: String,
    /// True if the derived class has `on_sent`.
    follows_packets: bool,
    decided: Decided,
    fault: Option<Fault>,
    /// True after a callback has failed: no other is called.
    broken: bool,
    /// The error of the last reading of variables.
    unseen: RefCell<Option<Fault>>,
}

impl PyRateControl {
    fn make(py: Python<'_>, make: &Py<PyAny>, setup: &Setup<'_>) -> Result<PyRateControl, Fault> {
        let flow = setup.place.flow;
        let fail = |e: PyErr| fault(py, &format!("the rate control of flow `{flow}` cannot be made"), e);
        let kwargs = PyDict::new(py);
        for (name, value) in setup.given() {
            kwargs.set_item(name, value).map_err(fail)?;
        }
        let made = make.bind(py).call((), Some(&kwargs)).map_err(fail)?;
        let object = made.cast_into::<RateControl>().map_err(|e| {
            let found = e.into_inner();
            let what = found.get_type().qualname().map_or_else(|_| "?".to_owned(), |n| n.to_string());
            fail(PyTypeError::new_err(format!("expected a lasthop.RateControl, found a {what}")))
        })?;
        let class = object.get_type();
        let name = class.qualname().map_err(fail)?.to_string();
        let base = py.get_type::<RateControl>();
        let follows_packets =
            class.getattr("on_sent").and_then(|own| Ok(!own.is(&base.getattr("on_sent")?))).map_err(fail)?;
        flow.clone_into(&mut object.borrow_mut().flow);
        if setup.place.observed {
            let watched = Watched::of(object.as_any(), |name| name.starts_with("media.")).map_err(fail)?;
            object.borrow_mut().watched = Some(watched);
        }
        let start = MediaStart {
            min_rate: setup.rate.min,
            max_rate: setup.rate.max,
            start_rate: setup.rate.start,
            frame_rate: setup.rate.frame_rate,
            feedback: setup.rate.feedback.as_secs_f64(),
            packet: setup.rate.packet,
            l4s: setup.rate.l4s,
            seed: setup.place.seed,
        };
        let begun = Py::new(py, start).and_then(|s| object.call_method1(intern!(py, "init"), (s,)));
        begun.map_err(|e| fault(py, &format!("`{name}.init` failed in flow `{flow}`"), e))?;
        let decided = object.borrow().decided;
        Ok(PyRateControl {
            object: object.unbind(),
            class: name,
            flow: flow.to_owned(),
            follows_packets,
            decided,
            fault: None,
            broken: false,
            unseen: RefCell::default(),
        })
    }

    /// Calls a method; the values that the object sets are in force afterwards.
    fn call(
        &mut self,
        now: Instant,
        method: &str,
        call: impl FnOnce(Python<'_>, &Bound<'_, RateControl>) -> PyResult<()>,
    ) {
        if self.broken {
            return;
        }
        let result = Python::attach(|py| {
            let object = self.object.bind(py);
            call(py, object).map_err(|e| {
                let at = seconds(now);
                let what = format!("`{}.{method}` failed in flow `{}` at {at:.6} s", self.class, self.flow);
                fault(py, &what, e)
            })?;
            self.decided = object.borrow().decided;
            Ok(())
        });
        if let Err(fault) = result {
            self.fault = Some(fault);
            self.broken = true;
        }
    }
}

impl media::RateControl for PyRateControl {
    fn on_sent(&mut self, sent: &media::SentPacket) {
        if self.follows_packets {
            self.call(sent.at, "on_sent", |py, object| {
                let packet = SentMedia {
                    number: sent.number,
                    size: sent.size,
                    now: seconds(sent.at),
                    in_flight: sent.in_flight,
                };
                object.call_method1(intern!(py, "on_sent"), (Py::new(py, packet)?,)).map(drop)
            });
        }
    }
    fn on_feedback(&mut self, feedback: &media::Feedback<'_>) {
        self.call(feedback.now, "on_feedback", |py, object| {
            let report = Py::new(py, MediaReport::of(py, feedback)?)?;
            object.call_method1(intern!(py, "on_feedback"), (report,)).map(drop)
        });
    }
    fn target(&self, _: u64) -> f64 {
        self.decided.target
    }
    fn pacing(&self, _: u64) -> f64 {
        self.decided.pacing.unwrap_or(media::PACING_HEADROOM * self.decided.target)
    }
    fn window(&self) -> Option<u64> {
        self.decided.window
    }
    fn fault(&mut self) -> Option<Fault> {
        self.fault.take().or_else(|| self.unseen.take())
    }
    fn observe(&self, o: &mut Observer<'_>) {
        if self.broken || self.unseen.borrow().is_some() {
            return;
        }
        Python::attach(|py| {
            let object = self.object.bind(py);
            let taken = object.borrow_mut().watched.as_mut().map(Watched::take);
            if let Err(e) = taken.map_or(Ok(()), |taken| taken.show(object.as_any(), o)) {
                let what = format!("`{}.observe` failed in flow `{}`", self.class, self.flow);
                *self.unseen.borrow_mut() = Some(fault(py, &what, e));
            }
        });
    }
}

impl Clone for PyRateControl {
    /// A deep copy of the object; one that cannot be copied fails at its next callback.
    fn clone(&self) -> Self {
        let copied = Python::attach(|py| {
            let copy = py.import("copy")?.call_method1("deepcopy", (&self.object,))?;
            copy.cast_into::<RateControl>().map(Bound::unbind).map_err(PyErr::from)
        });
        let (object, fault) = match copied {
            Ok(object) => (object, self.fault.clone()),
            Err(e) => Python::attach(|py| {
                let what = format!("`{}` of flow `{}` cannot be copied", self.class, self.flow);
                (self.object.clone_ref(py), Some(fault(py, &what, e)))
            }),
        };
        PyRateControl {
            object,
            broken: self.broken || fault.is_some(),
            fault,
            class: self.class.clone(),
            flow: self.flow.clone(),
            unseen: self.unseen.clone(),
            ..*self
        }
    }
}

impl std::fmt::Debug for PyRateControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(&self.class).field("target", &self.target(0)).finish()
    }
}
