//! Enums whose variants are rows of a table.

/// Generates an enum from rows.
///
/// A row is a description, a variant and its text. `ALL` lists the variants in the order of the
/// rows, and `index` is the place in that list.
macro_rules! table_of {
    (
        $(#[$about:meta])*
        $type:ident, $(#[$about_text:meta])* $text_of:ident {
            $($(#[$doc:meta])+ $name:ident = $text:literal;)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum $type {
            $($(#[$doc])+ $name,)+
        }

        impl $type {
            /// Number of variants.
            pub const COUNT: usize = [$($text),+].len();

            /// Every variant, in the order of reports.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$name),+];

            $(#[$about_text])*
            pub const fn $text_of(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Index in `ALL`.
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}
pub(crate) use table_of;
