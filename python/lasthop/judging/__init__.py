"""`lasthop judge`: a congestion control against the test cases of documents.

Each case is a table of TOML.
"""
