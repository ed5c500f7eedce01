//! The configuration as its users meet it: the files of the documentation, the example, the schema, and what is said
//! about wrong files.

#[path = "config/documents.rs"]
mod documents;
#[path = "config/hostile.rs"]
mod hostile;
#[path = "config/json_schema.rs"]
mod json_schema;
#[path = "config/wrong.rs"]
mod wrong;
