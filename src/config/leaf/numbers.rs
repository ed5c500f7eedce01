//! Numbers with a range.

use std::borrow::Cow;

use schemars::{Schema, json_schema};
use serde::de::Unexpected;

use super::{Written, written};
use loopgate_core::policy::CoverageTarget;

written!(Whole<MIN, MAX>, UpTo<MAX>, Target);

/// A whole number within bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Whole<const MIN: u32, const MAX: u32>(pub u32);

impl<const MIN: u32, const MAX: u32> Written for Whole<MIN, MAX> {
    fn expected() -> Cow<'static, str> {
        format!("a whole number from {MIN} to {MAX}").into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Signed(value) = found else { return None };
        u32::try_from(value).ok().filter(|value| (MIN..=MAX).contains(value)).map(Self)
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// A number from 0 to `MAX`, decimals allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::config) struct UpTo<const MAX: u32>(pub f64);

impl<const MAX: u32> Written for UpTo<MAX> {
    fn expected() -> Cow<'static, str> {
        format!("a number from 0 to {MAX}").into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        number(found).filter(|value| (0.0..=f64::from(MAX)).contains(value)).map(Self)
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": MAX })
    }
}

/// A coverage target: a percentage, or `match` (also written -1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::config) struct Target(pub CoverageTarget);

impl Written for Target {
    fn expected() -> Cow<'static, str> {
        "a percentage from 0 to 100, or `match`".into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        match found {
            Unexpected::Str("match") | Unexpected::Signed(-1) => Some(Self(CoverageTarget::MatchBase)),
            found => UpTo::<100>::read(found).map(|percent| Self(CoverageTarget::Percent(percent.0))),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0, "maximum": 100 }, { "enum": ["match", -1] }] })
    }
}

/// A whole number beyond 32 bits is beyond every bound too.
fn number(found: Unexpected<'_>) -> Option<f64> {
    match found {
        Unexpected::Signed(value) => i32::try_from(value).ok().map(f64::from),
        Unexpected::Float(value) => Some(value),
        _ => None,
    }
}
