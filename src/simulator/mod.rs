//! A GitHub on loopback, for the demo and the tests.
