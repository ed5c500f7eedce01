//! Enumerations whose variants are known by a word.

/// Makes an enumeration that serde and people know by the same words: each stands beside its variant, once.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$about_variant:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        pub enum $name {
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
        }
    };
}
