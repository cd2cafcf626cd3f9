//! Any algorithm behind one type, without a pointer to a table of functions.

use std::collections::BTreeMap;

use lasthop_units::{Bitrate, Duration, Instant};

use super::control::congestion_control;
use super::mutated::Mutated;
use super::*;
use crate::config::{Config, VegasReading};
use crate::mutant::Mutant;

macro_rules! controls {
    (
        () $(
            $(#[$_doc:meta])* $Name:ident $word:literal $_row:path
            $(=> $($Variant:ident($ty:ty)),+)? = $make:expr;
        )*
    ) => {
        /// An algorithm in use. Large ones are boxed, so that Reno's endpoint stays small.
        #[derive(Clone, Debug)]
        pub enum Cc {
            $($($(#[doc = concat!("At work with `cc = \"", $word, "\"`.")] $Variant($ty),)+)?)*
            /// A caller's own control.
            Custom(Box<dyn CustomControl>),
        }

        impl Cc {
            /// The built-in algorithm that `config` selects; a caller's own control comes from
            /// [`Controls::build`].
            pub fn new(config: &Config) -> Cc {
                let make: fn(&Config) -> Cc = match config.cc {
                    $(CcName::$Name => $make,)*
                    CcName::Custom(_) => |c| Cc::Reno(Reno::new(c)),
                };
                match config.mistakes.mutant {
                    None => make(config),
                    Some(mutant) => mutated(make(config), mutant),
                }
            }
        }
    };
}
built_in_controls!(controls);

/// The algorithm with a mistake: behind a pointer where the mistake is one in its answers.
#[cold]
fn mutated(cc: Cc, mutant: Mutant) -> Cc {
    // After a loss Prague leaves the window to recovery: a mark in its place would not halve it.
    if matches!((&cc, mutant), (Cc::Prague(_), Mutant::HalvesPerMark)) {
        return cc;
    }
    match Mutated::new(cc, mutant) {
        Ok(mutated) => Cc::Custom(Box::new(mutated)),
        Err(cc) => cc,
    }
}

impl Cc {
    /// The base algorithm in use without hints, for the algorithms that use hints.
    fn base(config: &Config) -> Cc {
        Cc::new(&Config { cc: config.hint.base, ..*config })
    }
    /// The caller's own control, if it is in use.
    #[inline]
    pub fn custom(&mut self) -> Option<&mut (dyn CustomControl + 'static)> {
        match self {
            Cc::Custom(cc) => Some(&mut **cc),
            _ => None,
        }
    }
}

impl Controls {
    /// The algorithm that `config` selects, built in or one of these.
    ///
    /// # Errors
    /// The error of the constructor; a name that is not registered.
    pub fn build(
        &self,
        config: &Config,
        parameters: &BTreeMap<String, f64>,
        place: ControlContext<'_>,
    ) -> Result<Cc, Fault> {
        match config.cc {
            CcName::Custom(name) => self.make(name, config, parameters, place).map(Cc::Custom),
            _ => Ok(Cc::new(config)),
        }
    }
}

/// `$call` of the algorithm in the [`Cc`] `$self`, bound to `$cc`.
macro_rules! of_any {
    (
        ($self:ident, $cc:ident => $call:expr)
        $(
            $(#[$_doc:meta])* $_name:ident $_word:literal $_row:path
            $(=> $($Variant:ident($_ty:ty)),+)? = $_make:expr;
        )*
    ) => {
        match $self {
            $($($(Cc::$Variant($cc) => $call,)+)?)*
            Cc::Custom($cc) => $call,
        }
    };
}

/// The implementation of the trait for [`Cc`]: each method of it, those with a default included, is
/// forwarded to the algorithm in use, so that none is missing.
macro_rules! passed_on {
    ($(#[$_attr:meta])* pub trait $Trait:ident { $($methods:tt)* }) => {
        passed_on! { @of $Trait {} $($methods)* }
    };
    (@of $Trait:ident {$($done:tt)*}) => {
        impl $Trait for Cc { $($done)* }
    };
    // Called several times per segment: the usual algorithms without a jump table.
    (@of $Trait:ident {$($done:tt)*} $(#[$_doc:meta])* fn cwnd(&$s:ident) -> f64; $($rest:tt)*) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                #[inline]
                fn cwnd(&$s) -> f64 {
                    match $s {
                        Cc::Reno(cc) => cc.cwnd(),
                        Cc::Cubic(cc) => cc.cwnd(),
                        _ => $s.cwnd_of_any(),
                    }
                }
            }
            $($rest)*
        }
    };
    (
        @of $Trait:ident {$($done:tt)*}
        $(#[$_doc:meta])* fn $f:ident(&mut $s:ident $(, $a:ident: $t:ty)*) $(-> $r:ty)?; $($rest:tt)*
    ) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                fn $f(&mut $s $(, $a: $t)*) $(-> $r)? { built_in_controls!(of_any $s, cc => cc.$f($($a),*)) }
            }
            $($rest)*
        }
    };
    (
        @of $Trait:ident {$($done:tt)*}
        $(#[$_doc:meta])* fn $f:ident(&$s:ident $(, $a:ident: $t:ty)*) $(-> $r:ty)?; $($rest:tt)*
    ) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                fn $f(&$s $(, $a: $t)*) $(-> $r)? { built_in_controls!(of_any $s, cc => cc.$f($($a),*)) }
            }
            $($rest)*
        }
    };
    // Most algorithms have the default, so that little is left of the jump table.
    (
        @of $Trait:ident {$($done:tt)*}
        $(#[$_doc:meta])* fn $f:ident(&mut $s:ident $(, $a:ident: $t:ty)*) $(-> $r:ty)? $_default:block $($rest:tt)*
    ) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                #[inline]
                fn $f(&mut $s $(, $a: $t)*) $(-> $r)? { built_in_controls!(of_any $s, cc => cc.$f($($a),*)) }
            }
            $($rest)*
        }
    };
    (
        @of $Trait:ident {$($done:tt)*}
        $(#[$_doc:meta])* fn $f:ident(&$s:ident $(, $a:ident: $t:ty)*) $(-> $r:ty)? $_default:block $($rest:tt)*
    ) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                #[inline]
                fn $f(&$s $(, $a: $t)*) $(-> $r)? { built_in_controls!(of_any $s, cc => cc.$f($($a),*)) }
            }
            $($rest)*
        }
    };
}

congestion_control!(passed_on);

impl Cc {
    // Out of line, so that its caller stays small enough to be built into its callers.
    #[inline(never)]
    fn cwnd_of_any(&self) -> f64 {
        built_in_controls!(of_any self, cc => cc.cwnd())
    }
}
