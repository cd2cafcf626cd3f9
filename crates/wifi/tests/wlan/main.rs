//! Wireless LANs against closed forms.

mod bianchi;
mod ladder;
mod scenes;

mod support;
