//! The standards: the values of the table of [`parameters`](crate::parameters), which also has
//! their sources.

use lasthop_units::Duration;

use super::Profile;
use crate::config::*;
use crate::host::Host;
use crate::jiffies::KernelClock;
use crate::name::CcName;

macro_rules! values {
    (
        {$(
            $(#[$_head_doc:meta])* $_head:ident: $_head_type:ty
                $(=> $head_field:ident: $_HeadField:ty = $head_rfc:expr, $_head_source:expr)?;
        )*}
        $($(#[$_group_doc:meta])* $group:ident: $_Options:ident, $Group:ident $(of $_controls:ident)? {
            $(
                $(#[$_doc:meta])*
                $_key:ident: $_type:ty, $_kind:ident $(($($_args:tt)*))? $(or $_none:literal)? $(at $($_place:ident).+)?
                    $(=> $field:ident: $_Field:ty = $rfc:expr)?, $_source:expr;
            )*
        })*
    ) => {
        pub(super) const CONFIG: Config = Config {
            profile: Profile::Rfc,
            $($($head_field: $head_rfc,)?)*
            $($group: $Group { $($($field: $rfc,)?)* },)*
            host: Host::PLAIN,
        };
    };
}
parameters!(values);
