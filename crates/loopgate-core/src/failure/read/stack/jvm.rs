//! Java, Kotlin, Scala, Groovy: frames name a class and a file; the class's package gives the directory.

use super::line::Line;

pub(super) const LINES: &[Line] = &[
    // `at app//com.acme.Cart.total(Cart.java:12)`, `at java.base/java.util.List.of(List.java:3)`
    Line::frame(
        r"^\s*(?:at |\s)(?:[A-Za-z0-9_.@-]*/{1,2})?(?P<fun>(?P<class>[A-Za-z0-9_.$]+)\.[A-Za-z0-9_$<>-]+)\((?P<file>[A-Za-z0-9_$-]+\.(?:java|kts?|scala|groovy)):(?P<line>[0-9]+)\)",
    ),
];

/// Packages of the language and of test runners; in a trace they are never the repository's.
const TOOLCHAIN: &[&str] = &["java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "kotlinx.", "scala.", "groovy."];
const LIBRARIES: &[&str] = &[
    "junit.",
    "org.junit.",
    "org.opentest4j.",
    "org.testng.",
    "org.gradle.",
    "org.apache.maven.",
    "org.mockito.",
    "org.assertj.",
    "org.hamcrest.",
    "org.springframework.",
    "org.hibernate.",
    "io.kotest.",
    "io.netty.",
    "reactor.core.",
    "com.fasterxml.",
    "com.google.common.",
    "worker.org.gradle.",
];

/// The path of a class's file below some source directory; for foreign classes one that [`paths`] knows as such.
///
/// [`paths`]: super::super::paths
pub(super) fn path_of(class: &str, file: &str) -> String {
    let package = class.rsplit_once('.').map_or("", |(package, _)| package);
    let path = if package.is_empty() { file.to_owned() } else { format!("{}/{file}", package.replace('.', "/")) };
    if TOOLCHAIN.iter().any(|start| class.starts_with(start)) {
        format!("<internal:jvm>/{path}")
    } else if LIBRARIES.iter().any(|start| class.starts_with(start)) {
        format!(".m2/{path}")
    } else {
        path
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::changes::{ChangedFile, FrameOrigin};
    use super::super::{Changes, frames, tests::shown};

    const TRACE: &str = "\
org.opentest4j.AssertionFailedError: expected: <30> but was: <20>
\tat org.junit.jupiter.api.AssertionFailureBuilder.build(AssertionFailureBuilder.java:151)
\tat app//org.junit.jupiter.api.Assertions.assertEquals(Assertions.java:531)
\tat com.acme.shop.CartTest.total(CartTest.java:17)
\tat com.acme.shop.CartKt$total$1.invoke(Cart.kt:9)
\tat java.base/java.lang.reflect.Method.invoke(Method.java:580)
\tat java.base/jdk.internal.reflect.DirectMethodHandleAccessor.invoke(Unknown Source)";

    #[test]
    fn java_and_kotlin() {
        assert_eq!(
            shown(TRACE),
            [
                ".m2/org/junit/jupiter/api/AssertionFailureBuilder.java:151 \
                 org.junit.jupiter.api.AssertionFailureBuilder.build dependency",
                ".m2/org/junit/jupiter/api/Assertions.java:531 org.junit.jupiter.api.Assertions.assertEquals dependency",
                "com/acme/shop/CartTest.java:17 com.acme.shop.CartTest.total ours",
                "com/acme/shop/Cart.kt:9 com.acme.shop.CartKt$total$1.invoke ours",
                "<internal:jvm>/java/lang/reflect/Method.java:580 java.lang.reflect.Method.invoke toolchain",
            ]
        );
    }

    #[test]
    fn classes_are_found_below_the_source_directory() {
        let path = "app/src/test/java/com/acme/shop/CartTest.java";
        let changes = Changes::new([ChangedFile { path: path.to_owned(), added: vec![] }]);
        let frames = frames(TRACE, &changes);
        assert!(frames.iter().any(|frame| frame.file == path && frame.origin == FrameOrigin::Changed));
    }
}
