//! `.github/loopgate.yml` → `Policy`: parsing, presets, validation, schema, and messages with line and column.
