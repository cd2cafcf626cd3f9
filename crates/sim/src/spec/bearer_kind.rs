//! The interface of each kind of radio bearer without cells.

use lasthop_bearer::{ConfigError, Warning};
use lasthop_units::Bytes;

use super::buffers::Buffering;

/// The interface of a bearer to the rest of a scenario.
pub(super) trait BearerKind {
    /// The two ends: network side first.
    fn between(&self) -> &[String; 2];
    /// Largest IP packet that it accepts.
    fn mtu(&self) -> Bytes;
    /// Refuses invalid values, naming the key; warns of known pitfalls.
    fn validate(&self) -> Result<Vec<Warning>, ConfigError>;
    /// True if a queue here marks ECN-capable packets.
    fn marks(&self) -> bool {
        false
    }
    /// The directions, as keys, that never carry data.
    fn unused_directions(&self) -> Vec<&'static str> {
        Vec::new()
    }
    /// The buffer in a direction, and the key below `path`, which is that of its RLC, that limits
    /// it.
    fn buffering(&self, forward: bool, path: &str) -> (Buffering, String);
}
