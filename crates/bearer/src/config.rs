//! Results of `validate()`: errors that name the key and the remedy, and warnings of known
//! pitfalls.

use thiserror::Error;

/// An invalid value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct ConfigError {
    /// The key, relative to the table that was validated (`rlc.am.tx_window`).
    pub key: String,
    /// The mistake and a valid replacement.
    pub message: String,
}

/// A valid value that is a known pitfall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The key, relative to the table that was validated.
    pub key: String,
    /// Its effect, and the value to use instead.
    pub message: String,
}

/// Fails with `message` unless `ok`.
pub fn check(ok: bool, key: &str, message: &str) -> Result<(), ConfigError> {
    if ok { Ok(()) } else { Err(ConfigError { key: key.into(), message: message.into() }) }
}

/// Appends a warning when `pitfall`.
pub fn warn(pitfall: bool, key: &str, message: &str, warnings: &mut Vec<Warning>) {
    if pitfall {
        warnings.push(Warning { key: key.into(), message: message.into() });
    }
}

/// Puts `prefix.` before the keys in the result of a sub-table's check.
pub fn within(
    prefix: &str,
    verdict: Result<Vec<Warning>, ConfigError>,
    warnings: &mut Vec<Warning>,
) -> Result<(), ConfigError> {
    let inner =
        verdict.map_err(|e| ConfigError { key: format!("{prefix}.{}", e.key), message: e.message })?;
    warnings.extend(
        inner.into_iter().map(|w| Warning { key: format!("{prefix}.{}", w.key), message: w.message }),
    );
    Ok(())
}

/// Fails unless `value` is one that an RRC message can carry.
pub fn require(ok: bool, key: &str, value: &impl ToString, allowed: &str) -> Result<(), ConfigError> {
    if ok {
        return Ok(());
    }
    check(false, key, &format!("{} is not a value of TS 36.331: {allowed}", value.to_string()))
}
