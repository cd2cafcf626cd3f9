//! Wireless LANs against closed forms.

mod bianchi;
mod ladder;
mod limits;
mod published;
mod scenes;

mod support;
