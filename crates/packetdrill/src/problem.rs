//! Mistakes of a script, with their positions.

/// A position in a script, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// The reason for which a script cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text is not a script.
    #[error("{}:{}: {message}", place.line, place.column)]
    Mistake {
        /// Position of the mistake.
        place: SourcePosition,
        /// The mistake and its remedy.
        message: String,
    },
    /// A script that uses a feature that a simulated endpoint lacks.
    #[error("{}:{}: not applicable: {reason}", place.line, place.column)]
    NotApplicable {
        /// Position of the use.
        place: SourcePosition,
        /// The feature.
        reason: String,
    },
}
