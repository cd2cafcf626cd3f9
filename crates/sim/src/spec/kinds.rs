//! The list of the kinds of access for which a scenario may have tables.

use super::access::{AccessChanges, AccessSpec, ChangeEvent, InForce};
use super::bearer::{BearerChange, Bearers};
use super::links::{LinkChange, Links};
use super::lte::{Lte, LteChange};
use super::wlan::{WirelessLans, WlanChange};
use super::{Scalar, Spec};

/// Makes the list of all kinds of access and the enum of their changes. An entry: the variant, the
/// type for the tables, and the type of a change.
macro_rules! kinds_of_access {
    ($($(#[$doc:meta])* $Variant:ident: $tables:expr, $Change:ty;)*) => {
        /// The type for the tables of each kind, in the order of the checks and of the changes of
        /// one instant.
        pub(super) const ALL: &[&dyn AccessSpec] = &[$(&$tables,)*];

        /// A change of an access, made by its spec file for its adapter.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AccessChange {
            $($(#[$doc])* $Variant($Change),)*
        }

        impl AccessChange {
            /// Its row in the table `events`. `None`: the changed object writes rows itself.
            pub fn event(&self) -> Option<ChangeEvent> {
                match self {
                    $(AccessChange::$Variant(change) => change.event(),)*
                }
            }
        }

        /// As [`AccessChanges::spread`], for the first kind that has the key.
        pub(super) fn spread(
            spec: &Spec,
            key: &str,
            value: &Scalar,
        ) -> Option<Result<Vec<AccessChange>, String>> {
            $(if let Some(changes) = $tables.spread(spec, key, value) {
                return Some(changes.map(|all| all.into_iter().map(AccessChange::$Variant).collect()));
            })*
            None
        }

        /// The functions that compute the changes of each kind from the start of a run on.
        pub(super) fn in_force(spec: &Spec) -> Vec<InForce<AccessChange>> {
            vec![$({
                let mut changes = $tables.in_force(spec);
                Box::new(move |spec: &mut Spec, next: &mut Spec| {
                    changes(spec, next).into_iter().map(AccessChange::$Variant).collect()
                }) as InForce<AccessChange>
            }),*]
        }
    };
}

kinds_of_access! {
    /// Of a link.
    Link: Links, LinkChange;
    /// Of a bearer.
    Bearer: Bearers, BearerChange;
    /// Of cells and sidelinks of LTE.
    Lte: Lte, LteChange;
    /// Of access points and stations.
    Wlan: WirelessLans, WlanChange;
}

/// The keys of accesses that may change during a run.
pub(super) fn runtime_keys() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    ALL.iter().flat_map(|access| access.runtime_keys())
}
