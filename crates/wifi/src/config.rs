//! Results of `validate()`: errors that name the key and the remedy, and warnings of known
//! pitfalls.

use thiserror::Error;

/// An invalid value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}{}", help.as_ref().map(|h| format!(" ({h})")).unwrap_or_default())]
pub struct ConfigError {
    /// The key, relative to the table that was validated (`rlc.am.tx_window`).
    pub key: String,
    /// The mistake.
    pub message: String,
    /// A valid replacement, where the message does not give it.
    pub help: Option<String>,
}

/// A valid value that is a known pitfall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The key, relative to the table that was validated.
    pub key: String,
    /// Its effect, and the value to use instead.
    pub message: String,
}

/// Fails unless `ok`; `range` names the valid values.
pub(crate) fn check(ok: bool, key: &str, range: &str) -> Result<(), ConfigError> {
    let name = key.rsplit('.').next().unwrap_or(key);
    refuse(ok, key, || (format!("`{name}` has a value that cannot work"), range.to_owned()))
}

/// Fails with a message and a remedy unless `ok`.
pub(crate) fn refuse(
    ok: bool,
    key: &str,
    explain: impl FnOnce() -> (String, String),
) -> Result<(), ConfigError> {
    if ok {
        return Ok(());
    }
    let (message, help) = explain();
    Err(ConfigError { key: key.into(), message, help: Some(help) })
}

/// Puts `prefix.` before the keys in the result of a sub-table's check.
pub(crate) fn within(
    prefix: &str,
    verdict: Result<Vec<Warning>, ConfigError>,
    warnings: &mut Vec<Warning>,
) -> Result<(), ConfigError> {
    let inner = verdict.map_err(|e| ConfigError { key: format!("{prefix}.{}", e.key), ..e })?;
    warnings.extend(
        inner.into_iter().map(|w| Warning { key: format!("{prefix}.{}", w.key), message: w.message }),
    );
    Ok(())
}
