//! Helpers of the unit tests of the world.

use std::path::Path;

use super::World;
use crate::attention::Attention;
use crate::sink::Sink;
use crate::spec::Scenario;

/// Returns the world of a scenario before its first event.
pub fn world(text: &str) -> World {
    let scenario = Scenario::parse(text, "test.toml", Path::new(""), &[]).unwrap();
    World::build(&scenario, &Sink::Memory, None, &Attention::default(), &mut || true).unwrap()
}
