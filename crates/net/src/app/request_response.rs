//! `request-response`: requests and responses, one at a time.

use lasthop_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::kind::{AppContext, AppKind, Behaviour, Fault, Wrong, above_zero, parameter};
use super::streams::{Service, Streams};
use super::{Action, End};
use crate::registry::Entry;

/// Parameters of `request-response`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestResponseConfig {
    /// Size of a request.
    pub request: Bytes,
    /// Size of a response.
    pub response: Bytes,
    /// Mean time between a response and the next request.
    pub think: Duration,
    /// Distribution of that time.
    pub think_distribution: Distribution,
    /// Number of requests; without it they go on for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

impl Default for RequestResponseConfig {
    fn default() -> Self {
        RequestResponseConfig {
            request: Bytes(300),
            response: Bytes(100_000),
            think: Duration::from_secs(1),
            think_distribution: Distribution::Constant,
            count: None,
        }
    }
}

impl AppKind for RequestResponseConfig {
    const ENTRY: Entry = Entry {
        name: "request-response",
        summary: "requests and responses, one at a time on one connection (TCP)",
        source: "as HTTP/1.1 without pipelining, RFC 9112",
        parameters: &[
            parameter("request", "300 B", "size of a request"),
            parameter("response", "100 kB", "size of a response"),
            parameter("think", "1 s", "mean time between a response and the next request"),
            parameter("think_distribution", "constant", "constant or exponential"),
            parameter("count", "for ever", "number of requests"),
        ],
    };
    const DATA_END: End = End::B;
    const ANSWERS: bool = true;
    type Run = Box<RequestResponse>;

    fn validate(&self, _over: Service) -> Result<(), Wrong> {
        above_zero("request", self.request.0)?;
        above_zero("response", self.response.0)?;
        if self.think_distribution == Distribution::Pareto {
            return Err(("think_distribution", "is constant or exponential".to_owned()));
        }
        above_zero("count", self.count.map_or(1, u64::from))
    }
    fn run(&self, _: &AppContext<'_>) -> Result<Box<RequestResponse>, Fault> {
        Ok(Box::new(RequestResponse { config: self.clone(), issued: Instant::ZERO, next: None }))
    }
}

/// A running exchange.
#[derive(Clone, Debug)]
pub(super) struct RequestResponse {
    config: RequestResponseConfig,
    issued: Instant,
    next: Option<Instant>,
}

impl Behaviour for RequestResponse {
    fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.next = Some(now);
        self.on_time(now, s, out);
    }
    fn stop(&mut self, _now: Instant) {
        self.next = None;
    }
    fn poll_at(&self) -> Option<Instant> {
        self.next
    }
    fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        if let Some(at) = self.next.take_if(|at| *at <= now) {
            self.issued = at;
            s.request(1, self.config.request.0, out);
        }
    }
    fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, out: &mut Vec<Action>) {
        let c = &self.config;
        let [at_a, at_b] = s.stats.delivered;
        let (answered, done) = (s.stats.requests_answered, s.stats.requests_completed());
        if end == End::B && at_b >= (answered + 1) * c.request.0 {
            s.answer(c.response.0, 1, out);
        } else if end == End::A && at_a >= (done + 1) * c.response.0 && done < answered {
            s.stats.completions.add(now, now.since(self.issued));
            if c.count.is_some_and(|count| done + 1 >= u64::from(count)) {
                s.complete(now, out);
            } else if s.running {
                let mut stream = s.draw.stream(done);
                self.next = Some(now + c.think_distribution.draw(c.think, 0.0, &mut stream));
                self.on_time(now, s, out);
            }
        }
    }
}
