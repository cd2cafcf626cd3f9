//! What is wrong with a script, and where.

/// A place in a script, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// Why a script cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text is not a script.
    #[error("{}:{}: {message}", place.line, place.column)]
    Mistake {
        /// Where the text stops being a script.
        place: SourcePosition,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// A script, but of something that a simulated endpoint has not.
    #[error("{}:{}: not applicable: {reason}", place.line, place.column)]
    NotApplicable {
        /// Where the script uses it.
        place: SourcePosition,
        /// What the script uses.
        reason: String,
    },
}
