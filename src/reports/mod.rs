//! Bytes of tools → evidence: one file per format, recognised by content.
