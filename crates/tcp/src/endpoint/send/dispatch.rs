//! Selects the detector in use.

/// `$call`, in which `$D` is the detector in use in the [`InFlight`](super::in_flight::InFlight)
/// `$fly`.
macro_rules! by_detector {
    ($fly:expr, $D:ident => $call:expr) => {
        match $fly.recovery.detection() {
            $crate::recovery::Detection::DuplicateAcks => {
                type $D = $crate::endpoint::send::dupack::Dupack;
                $call
            }
            $crate::recovery::Detection::Rack => {
                type $D = $crate::endpoint::send::rack::RackTlp;
                $call
            }
        }
    };
}
pub(super) use by_detector;
