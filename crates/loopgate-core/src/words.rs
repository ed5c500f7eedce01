//! Types that documents know by a text: enumerations whose variants each have a word, and newtypes.

/// Makes an enumeration that serde and people know by the same words: each stands beside its variant, once.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $seen:vis enum $name:ident { $($(#[$about_variant:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        $seen enum $name {
            $($(#[$about_variant])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every one, in order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word used in configuration, documents and text.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// What this word stands for.
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// For `skip_serializing_if`: whether a field has its default.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// serde's traits for a type that is written as its `Display` says and read by its `FromStr`.
macro_rules! serde_as_text {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// What a file of the folder `data` says, which is part of the program. A test reads each.
macro_rules! data {
    ($file:literal) => {
        toml::from_str(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/data/",
            $file
        )))
        .expect("a file of this crate that a test reads")
    };
}
