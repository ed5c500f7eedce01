//! The configuration as its users meet it: the files of the documentation, the example, the schema, and what is said
//! about wrong files.

#[path = "config/documents.rs"]
mod documents;
#[path = "config/hostile.rs"]
mod hostile;
#[path = "config/json_schema.rs"]
mod json_schema;
#[path = "config/layers.rs"]
mod layers;
#[path = "config/told.rs"]
mod told;
#[path = "config/wrong_checks.rs"]
mod wrong_checks;
#[path = "config/wrong_gates.rs"]
mod wrong_gates;
#[path = "config/wrong_people.rs"]
mod wrong_people;
#[path = "config/wrong_texts.rs"]
mod wrong_texts;
#[path = "config/wrong_values.rs"]
mod wrong_values;
