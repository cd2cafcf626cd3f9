//! Congestion controls written in Python: the base class, the arguments of its callbacks, and the
//! adapter by which an endpoint uses an object.
//!
//! This path is slow by design: every ACK takes the interpreter's lock and creates an object. The
//! window, which the stack reads several times a segment, is kept here, so that only callbacks take
//! time.

use std::cell::RefCell;
use std::sync::Arc;

use lasthop_sim::tcp::cc::{self, CongestionControl as _, Definition, Fault, Observer, Round, Setup};
use lasthop_sim::tcp::sender_variables;
use lasthop_sim::units::{Bitrate, Instant};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::custom::{CustomPolicy, describe};
use crate::fault::fault;
use crate::watched::Watched;

/// The base class of congestion controls.
#[pyclass(subclass, module = "lasthop._core")]
pub struct CongestionControl {
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
    /// Name of the flow.
    #[pyo3(get)]
    flow: String,
    /// "from" (the end that opened the connection) or "to".
    #[pyo3(get)]
    end: &'static str,
    /// Its variables, where they are recorded.
    watched: Option<Watched>,
}

#[pymethods]
impl CongestionControl {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        CongestionControl {
            cwnd: 1.0,
            ssthresh: f64::INFINITY,
            pacing_rate: None,
            flow: String::new(),
            end: "",
            watched: None,
        }
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
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    #[setter]
    fn set_cwnd(&mut self, segments: f64) -> PyResult<()> {
        if !segments.is_finite() || segments < 1.0 {
            return Err(PyValueError::new_err(format!("cwnd = {segments}: at least 1 segment, and finite")));
        }
        self.cwnd = segments;
        Ok(())
    }
    #[getter]
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    #[setter]
    fn set_ssthresh(&mut self, segments: f64) -> PyResult<()> {
        if segments.is_nan() || segments < 1.0 {
            return Err(PyValueError::new_err(format!("ssthresh = {segments}: at least 1 segment")));
        }
        self.ssthresh = segments;
        Ok(())
    }
    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }
    #[setter]
    fn set_pacing_rate(&mut self, bits_per_second: Option<f64>) -> PyResult<()> {
        if bits_per_second.is_some_and(|r| !r.is_finite() || r < 1.0) {
            let rate = bits_per_second.unwrap_or_default();
            return Err(PyValueError::new_err(format!("pacing_rate = {rate}: a rate in bit/s, or None")));
        }
        self.pacing_rate = bits_per_second;
        Ok(())
    }

    /// The handshake is done: the initial window.
    fn init(&mut self, start: &Established) {
        self.cwnd = start.initial_window.max(1.0);
    }
    /// An ACK: the derived class says what.
    fn on_ack(slf: &Bound<'_, Self>, _ack: &AckSample) -> PyResult<()> {
        let class = slf.get_type().qualname()?;
        Err(PyNotImplementedError::new_err(format!("{class} has no `on_ack(self, ack)`")))
    }
    /// The end of a round trip.
    fn on_round(&self, _ack: &AckSample) {}
    /// A loss: half of what is in flight.
    fn on_loss(&mut self, loss: &Congestion) {
        self.ssthresh = (loss.flight / 2.0).max(2.0);
        self.cwnd = self.ssthresh;
    }
    /// A timeout: one segment, and slow start to half of what was in flight.
    fn on_timeout(&mut self, loss: &Congestion) {
        if !loss.repeated {
            self.ssthresh = (loss.flight / 2.0).max(2.0);
        }
        self.cwnd = 1.0;
    }
    /// A capacity hint of the radio network's.
    fn on_hint(&self, _hint: &Hint) {}
    /// The end of loss recovery.
    fn on_recovered(&self, _now: f64) {}
    /// The last reduction was for nothing.
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
    }
    /// Slow start: grows to ssthresh at most; the segments that are left for congestion avoidance.
    fn slow_start(&mut self, ack: &AckSample) -> f64 {
        if self.cwnd >= self.ssthresh {
            return ack.segments;
        }
        let grown = (self.cwnd + ack.segments).min(self.ssthresh);
        let left = ack.segments - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }
}

/// The report of an ACK.
#[pyclass(frozen, get_all, module = "lasthop._core")]
pub struct AckSample {
    now: f64,
    acked: u64,
    delivered: u64,
    total_delivered: u64,
    lost: u64,
    marked: u64,
    in_flight: u64,
    flight_before: u64,
    una: u64,
    nxt: u64,
    mss: u32,
    segments: f64,
    rtt: Option<f64>,
    srtt: Option<f64>,
    delivery_rate: Option<f64>,
    app_limited: bool,
    state: &'static str,
    dup_acks: u32,
    cwnd_limited: bool,
    may_grow: bool,
    after_timeout: bool,
}

impl From<&cc::AckSample> for AckSample {
    fn from(a: &cc::AckSample) -> AckSample {
        let rate = a.rate.filter(|r| !r.interval.is_zero());
        AckSample {
            now: seconds(a.now),
            acked: a.acked,
            delivered: a.delivered,
            total_delivered: a.total_delivered,
            lost: a.lost,
            marked: a.marked,
            in_flight: a.in_flight,
            flight_before: a.flight_before,
            una: a.una,
            nxt: a.nxt,
            mss: a.mss,
            segments: a.segments(),
            rtt: a.rtt.map(|d| d.as_secs_f64()),
            srtt: a.srtt.map(|d| d.as_secs_f64()),
            delivery_rate: rate.map(|r| 8.0 * r.delivered as f64 / r.interval.as_secs_f64()),
            app_limited: rate.is_some_and(|r| r.app_limited),
            state: a.state.name(),
            dup_acks: a.dup_acks,
            cwnd_limited: a.cwnd_limited,
            may_grow: a.may_grow,
            after_timeout: a.after_timeout(),
        }
    }
}

/// The values that are known at the end of the handshake.
#[pyclass(frozen, get_all, module = "lasthop._core")]
pub struct Established {
    now: f64,
    rtt: Option<f64>,
    initial_window: f64,
    mss: u32,
    seed: u64,
}

/// A report of the radio network.
#[pyclass(frozen, get_all, module = "lasthop._core")]
pub struct Hint {
    now: f64,
    measured: Option<f64>,
    rate: Option<f64>,
    queue: Option<u64>,
    grant: Option<f64>,
    notice: Option<&'static str>,
    period: Option<f64>,
}

impl From<&cc::Hint> for Hint {
    fn from(h: &cc::Hint) -> Hint {
        Hint {
            now: seconds(h.now),
            measured: h.measured.map(seconds),
            rate: h.rate.map(Bitrate::as_f64),
            queue: h.queue,
            grant: h.grant.map(Bitrate::as_f64),
            notice: h.notice.map(cc::Notice::name),
            period: h.period.map(|d| d.as_secs_f64()),
        }
    }
}

/// A congestion signal: a loss or a mark.
#[pyclass(frozen, get_all, module = "lasthop._core")]
pub struct Congestion {
    now: f64,
    signal: &'static str,
    flight: f64,
    repeated: bool,
}

impl From<&cc::Congestion> for Congestion {
    fn from(c: &cc::Congestion) -> Congestion {
        let signal = match c.signal {
            cc::Signal::Loss => "loss",
            cc::Signal::Ecn => "ecn",
        };
        Congestion { now: seconds(c.now), signal, flight: c.flight, repeated: c.repeated }
    }
}

fn seconds(t: Instant) -> f64 {
    t.as_secs_f64()
}

/// The control as a definition for the simulator.
pub fn definition(own: CustomPolicy) -> Definition {
    let make = Arc::new(own.make);
    let d = Definition::new(&own.name, move |setup: &Setup<'_>| {
        Python::attach(|py| PyControl::make(py, &make, setup)).map(|c| Box::new(c) as Box<_>)
    });
    describe!(d, own)
}

/// The callbacks that the derived class has: the others are not called.
#[derive(Clone, Copy, Debug)]
struct Overrides {
    round: bool,
    recovered: bool,
    hint: bool,
}

/// An object of the derived class, used by an endpoint.
struct PyControl {
    object: Py<CongestionControl>,
    class: String,
    flow: String,
    overrides: Overrides,
    ceiling: f64,
    round: Round,
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
    fault: Option<Fault>,
    /// True after a callback has failed: no other is called.
    broken: bool,
    /// The error of the last reading.
    unseen: RefCell<Option<Fault>>,
}

impl PyControl {
    fn make(py: Python<'_>, make: &Py<PyAny>, setup: &Setup<'_>) -> Result<PyControl, Fault> {
        let flow = setup.place.flow;
        let fail =
            |e: PyErr| fault(py, &format!("the congestion control of flow `{flow}` cannot be made"), e);
        let kwargs = PyDict::new(py);
        for (name, value) in setup.given() {
            kwargs.set_item(name, value).map_err(fail)?;
        }
        let made = make.bind(py).call((), Some(&kwargs)).map_err(fail)?;
        let object = made.cast_into::<CongestionControl>().map_err(|e| {
            let found = e.into_inner();
            let what = found.get_type().qualname().map_or_else(|_| "?".to_owned(), |n| n.to_string());
            fail(PyTypeError::new_err(format!("expected a lasthop.CongestionControl, found a {what}")))
        })?;
        let class = object.get_type();
        let (name, overrides) =
            class.qualname().and_then(|n| Ok((n.to_string(), Overrides::of(py, &class)?))).map_err(fail)?;
        {
            let mut base = object.borrow_mut();
            flow.clone_into(&mut base.flow);
            base.end = if setup.place.opener { "from" } else { "to" };
            base.ssthresh = setup.config.initial_ssthresh();
        }
        if setup.place.observed {
            let taken = |name: &str| name == ROUND || sender_variables().iter().any(|v| v.name == name);
            let watched = Watched::of(object.as_any(), taken).map_err(fail)?;
            object.borrow_mut().watched = Some(watched);
        }
        let (cwnd, ssthresh, pacing_rate) = {
            let b = object.borrow();
            (b.cwnd, b.ssthresh, b.pacing_rate)
        };
        Ok(PyControl {
            object: object.unbind(),
            class: name,
            flow: flow.to_owned(),
            overrides,
            ceiling: setup.config.window_ceiling().max(1.0),
            round: Round::default(),
            cwnd,
            ssthresh,
            pacing_rate,
            fault: None,
            broken: false,
            unseen: RefCell::default(),
        })
    }

    fn show(&self, py: Python<'_>, o: &mut Observer<'_>) -> PyResult<()> {
        let object = self.object.bind(py);
        let taken = {
            let mut base = object.borrow_mut();
            (base.cwnd, base.ssthresh) = (self.cwnd, self.ssthresh);
            base.watched.as_mut().map(Watched::take)
        };
        taken.map_or(Ok(()), |taken| taken.show(object.as_any(), o))
    }

    /// Calls methods: the object gets the window in force, and the window that it sets is in force
    /// afterwards. `call` records the name of the method before the call.
    fn call(
        &mut self,
        now: Option<Instant>,
        call: impl FnOnce(Python<'_>, &Bound<'_, CongestionControl>, &mut &'static str) -> PyResult<()>,
    ) {
        if self.broken {
            return;
        }
        let result = Python::attach(|py| {
            let object = self.object.bind(py);
            {
                let mut base = object.borrow_mut();
                (base.cwnd, base.ssthresh) = (self.cwnd, self.ssthresh);
            }
            let mut method = "";
            call(py, object, &mut method).map_err(|e| {
                let at = now.map_or(String::new(), |t| format!(" at {:.6} s", seconds(t)));
                fault(py, &format!("`{}.{method}` failed in flow `{}`{at}", self.class, self.flow), e)
            })?;
            let base = object.borrow();
            self.cwnd = base.cwnd.clamp(1.0, self.ceiling);
            (self.ssthresh, self.pacing_rate) = (base.ssthresh, base.pacing_rate);
            Ok(())
        });
        if let Err(fault) = result {
            self.fault = Some(fault);
            self.broken = true;
        }
    }
}

/// The variable that the simulator shows of every sender beside those of the stack.
const ROUND: &str = "round";

impl Overrides {
    fn of(py: Python<'_>, class: &Bound<'_, PyType>) -> PyResult<Overrides> {
        let base = py.get_type::<CongestionControl>();
        let own = |name: &str| PyResult::Ok(!class.getattr(name)?.is(&base.getattr(name)?));
        Ok(Overrides { round: own("on_round")?, recovered: own("on_recovered")?, hint: own("on_hint")? })
    }
}

impl cc::CongestionControl for PyControl {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn pacing_rate(&self) -> Option<Bitrate> {
        self.pacing_rate.map(|r| Bitrate(r as u64))
    }
    fn on_established(&mut self, e: &cc::Established) {
        self.round.begin(e.nxt);
        let start = Established {
            now: seconds(e.now),
            rtt: e.rtt.map(|d| d.as_secs_f64()),
            initial_window: e.initial_window,
            mss: e.mss,
            seed: e.seed,
        };
        self.call(Some(e.now), |py, o, method| {
            *method = "init";
            o.call_method1(intern!(py, "init"), (Py::new(py, start)?,)).map(drop)
        });
    }
    fn on_ack(&mut self, ack: &cc::AckSample) {
        let round = self.round.ended(ack) && self.overrides.round;
        let sample = AckSample::from(ack);
        self.call(Some(ack.now), |py, o, method| {
            let sample = Py::new(py, sample)?;
            if round {
                *method = "on_round";
                o.call_method1(intern!(py, "on_round"), (&sample,))?;
            }
            *method = "on_ack";
            o.call_method1(intern!(py, "on_ack"), (sample,)).map(drop)
        });
    }
    fn on_congestion(&mut self, c: &cc::Congestion) {
        let loss = Congestion::from(c);
        self.call(Some(c.now), |py, o, method| {
            *method = "on_loss";
            o.call_method1(intern!(py, "on_loss"), (Py::new(py, loss)?,)).map(drop)
        });
    }
    fn on_timeout(&mut self, c: &cc::Congestion) {
        let loss = Congestion::from(c);
        self.call(Some(c.now), |py, o, method| {
            *method = "on_timeout";
            o.call_method1(intern!(py, "on_timeout"), (Py::new(py, loss)?,)).map(drop)
        });
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.cwnd = segments.clamp(1.0, self.ceiling);
    }
    fn on_hint(&mut self, hint: &cc::Hint) {
        if self.overrides.hint {
            let report = Hint::from(hint);
            self.call(Some(hint.now), |py, o, method| {
                *method = "on_hint";
                o.call_method1(intern!(py, "on_hint"), (Py::new(py, report)?,)).map(drop)
            });
        }
    }
    fn on_recovered(&mut self, now: Instant) {
        if self.overrides.recovered {
            self.call(Some(now), |py, o, method| {
                *method = "on_recovered";
                o.call_method1(intern!(py, "on_recovered"), (seconds(now),)).map(drop)
            });
        }
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.call(None, |py, o, method| {
            *method = "on_undo";
            o.call_method1(intern!(py, "on_undo"), (cwnd, ssthresh)).map(drop)
        });
    }
    fn fault(&mut self) -> Option<Fault> {
        self.fault.take().or_else(|| self.unseen.take())
    }
    fn observe(&self, o: &mut Observer<'_>) {
        if self.broken || self.unseen.borrow().is_some() {
            return;
        }
        Python::attach(|py| {
            if let Err(e) = self.show(py, o) {
                let what = format!("`{}.observe` failed in flow `{}`", self.class, self.flow);
                *self.unseen.borrow_mut() = Some(fault(py, &what, e));
            }
        });
    }
}

impl Clone for PyControl {
    /// A deep copy of the object; one that cannot be copied fails at its next callback.
    fn clone(&self) -> Self {
        let copied = Python::attach(|py| {
            let copy = py.import("copy")?.call_method1("deepcopy", (&self.object,))?;
            copy.cast_into::<CongestionControl>().map(Bound::unbind).map_err(PyErr::from)
        });
        let (object, fault) = match copied {
            Ok(object) => (object, self.fault.clone()),
            Err(e) => Python::attach(|py| {
                let what = format!("`{}` of flow `{}` cannot be copied", self.class, self.flow);
                (self.object.clone_ref(py), Some(fault(py, &what, e)))
            }),
        };
        PyControl {
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

impl std::fmt::Debug for PyControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(&self.class).field("cwnd", &self.cwnd()).field("ssthresh", &self.ssthresh).finish()
    }
}
