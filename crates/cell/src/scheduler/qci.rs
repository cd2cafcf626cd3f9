//! Standardised QoS classes (TS 23.203 v12 table 6.1.7).

use lasthop_units::{Bitrate, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A standardised class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QosClass {
    /// QoS class identifier.
    pub qci: u8,
    /// True for a class with a guaranteed bit rate.
    pub guaranteed: bool,
    /// Priority level; a lower level is served first.
    pub priority: f64,
    /// Packet delay budget [ms].
    pub delay_ms: u64,
    /// Packet error loss rate.
    pub loss: f64,
    /// Example of a service.
    pub example: &'static str,
}

impl QosClass {
    /// Packet delay budget.
    pub const fn delay_budget(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }
}

const fn class(
    qci: u8,
    guaranteed: bool,
    priority: f64,
    delay_ms: u64,
    loss: f64,
    example: &'static str,
) -> QosClass {
    QosClass { qci, guaranteed, priority, delay_ms, loss, example }
}

/// TS 23.203 v12 table 6.1.7.
pub const CLASSES: &[QosClass] = &[
    class(1, true, 2.0, 100, 1e-2, "conversational voice"),
    class(2, true, 4.0, 150, 1e-3, "conversational video"),
    class(3, true, 3.0, 50, 1e-3, "real-time gaming"),
    class(4, true, 5.0, 300, 1e-6, "buffered streaming video"),
    class(5, false, 1.0, 100, 1e-6, "IMS signalling"),
    class(6, false, 6.0, 300, 1e-6, "buffered video, TCP, premium"),
    class(7, false, 7.0, 100, 1e-3, "voice, live video, interactive gaming"),
    class(8, false, 8.0, 300, 1e-6, "buffered video, TCP"),
    class(9, false, 9.0, 300, 1e-6, "buffered video, TCP, default"),
    class(65, true, 0.7, 75, 1e-2, "mission critical push to talk"),
    class(66, true, 2.0, 100, 1e-2, "non mission critical push to talk"),
    class(69, false, 0.5, 60, 1e-6, "mission critical signalling"),
    class(70, false, 5.5, 200, 1e-6, "mission critical data"),
];

/// The class `qci`, if it is standardised.
pub fn class_of(qci: u8) -> Option<&'static QosClass> {
    CLASSES.iter().find(|c| c.qci == qci)
}

/// The quality of service of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Qos {
    /// QoS class identifier (TS 23.203 table 6.1.7).
    pub qci: u8,
    /// Guaranteed bit rate of the downlink; 0 bit/s: none.
    pub downlink: Bitrate,
    /// Guaranteed bit rate of the uplink; 0 bit/s: none.
    pub uplink: Bitrate,
}

impl Default for Qos {
    fn default() -> Self {
        Qos { qci: 9, downlink: Bitrate(0), uplink: Bitrate(0) }
    }
}

/// Priority of a class; classes that are not standardised have the lowest priority.
pub fn priority_of(qci: u8) -> f64 {
    class_of(qci).map_or(100.0, |c| c.priority)
}
