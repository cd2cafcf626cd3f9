//! LTE (placeholder).
