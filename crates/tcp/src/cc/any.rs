//! Any algorithm behind one type, without a pointer to a table of functions.

use super::*;
use crate::config::Config;

macro_rules! controls {
    (() $($(#[$_doc:meta])* $_name:ident $word:literal $_row:path $(=> $($Variant:ident($ty:ty)),+)?;)*) => {
        /// An algorithm at work. Large ones are boxed, so that Reno's endpoint stays small.
        #[derive(Clone, Debug)]
        pub enum Cc {
            $($($(#[doc = concat!("At work with `cc = \"", $word, "\"`.")] $Variant($ty),)+)?)*
            /// One of the caller's own.
            Custom(Box<dyn CustomControl>),
        }
    };
}
built_in_controls!(controls);

impl Cc {
    /// The built-in algorithm that `config` names; one of the caller's own comes from
    /// [`Controls::build`].
    pub fn new(config: &Config) -> Cc {
        config.cc.algorithm().map_or_else(|| Cc::Reno(Reno::new(config)), |a| (a.new)(config))
    }
    /// One of the caller's own, at work.
    #[inline]
    pub fn custom(&mut self) -> Option<&mut (dyn CustomControl + 'static)> {
        match self {
            Cc::Custom(cc) => Some(&mut **cc),
            _ => None,
        }
    }
}
