//! Enumerations whose variants are known by a word.

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
    };
}
