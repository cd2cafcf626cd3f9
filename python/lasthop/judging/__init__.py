"""`lasthop judge`: tests a congestion control with the test cases of documents.

Each case is a table of TOML.
"""
