//! The interface of each kind of radio bearer without cells.

use lasthop_bearer::{ConfigError, Warning};
use lasthop_units::Bytes;

use super::buffers::Buffering;

/// What the rest of a scenario needs of a bearer.
pub(super) trait BearerKind {
    /// The two ends: network side first.
    fn between(&self) -> &[String; 2];
    /// Largest IP packet that it takes.
    fn mtu(&self) -> Bytes;
    /// Refuses what cannot work, naming the key; warns of known pitfalls.
    fn validate(&self) -> Result<Vec<Warning>, ConfigError>;
    /// A queue here marks ECN-capable packets.
    fn marks(&self) -> bool {
        false
    }
    /// The directions, as keys, that never carry anything.
    fn dead(&self) -> Vec<&'static str> {
        Vec::new()
    }
    /// What packets wait for in a direction, and the key below `path`, which is that of its RLC,
    /// that limits how many do.
    fn buffering(&self, forward: bool, path: &str) -> (Buffering, String);
}
