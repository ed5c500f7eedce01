//! What all single values share: what they are called in messages, how they look in the schema, how they are read.

use std::{borrow::Cow, fmt, marker::PhantomData};

use schemars::Schema;
use serde::de::{self, Unexpected, Visitor};

/// A type that is written as one word or number.
pub(in crate::config) trait Written: Sized {
    /// "a period such as `30s`, `60m`, `24h` or `3d`"
    fn expected() -> Cow<'static, str>;

    /// The value, where what stands there can be one.
    fn read(found: Unexpected<'_>) -> Option<Self>;

    fn schema() -> Schema;
}

/// Hands what it finds to [`Written::read`].
pub(in crate::config) struct Reader<T>(pub PhantomData<T>);

impl<T: Written> Reader<T> {
    fn read<E: de::Error>(&self, found: Unexpected<'_>) -> Result<T, E> {
        T::read(found).ok_or_else(|| E::invalid_value(found, self))
    }
}

impl<T: Written> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&T::expected())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        self.read(Unexpected::Signed(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        self.read(Unexpected::Float(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        self.read(Unexpected::Str(text))
    }
}

/// Implements serde's and schemars' traits for types that are [`Written`].
macro_rules! written {
    ($($name:ident $(<$($bound:ident),+>)?),* $(,)?) => {$(
        impl<'de $($(, const $bound: u32)+)?> serde::Deserialize<'de> for $name $(<$($bound),+>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::config::leaf::Reader(std::marker::PhantomData))
            }
        }

        $crate::config::leaf::schema_of!($name $(<$($bound),+>)?, <Self as $crate::config::leaf::Written>::schema());
    )*};
}

/// Implements schemars' trait for a value that is described where it stands.
macro_rules! schema_of {
    ($name:ident $(<$($bound:ident),+>)?, $schema:expr) => {
        impl $(<$(const $bound: u32),+>)? schemars::JsonSchema for $name $(<$($bound),+>)? {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}

pub(in crate::config) use {schema_of, written};
