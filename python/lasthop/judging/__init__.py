"""`lasthop judge`: a congestion control against the test cases of documents, each case a table of TOML."""
