"""Eleven TCP variants over LTE and 802.11ac: see README.md in this folder."""
