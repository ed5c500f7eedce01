use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::*;

/// What a hostile text is made of.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("@alice"),
        Just("@acme/security"),
        Just("#12"),
        Just("GH-7"),
        Just("acme/widgets#3"),
        Just("www.evil.com"),
        Just("https://evil.com"),
        Just("ftp://x.y"),
        Just("bob@evil.com"),
        Just("mailto:a@b.c"),
        Just("<b>"),
        Just("</details>"),
        Just("<!-- loopgate:status -->"),
        Just("<!--"),
        Just("-->"),
        Just("```"),
        Just("````"),
        Just("~~~"),
        Just("`"),
        Just("\n"),
        Just("\r\n"),
        Just("\n\n"),
        Just("\t"),
        Just("    "),
        Just("|"),
        Just("|---|"),
        Just("# h"),
        Just("- x"),
        Just("1. x"),
        Just("> q"),
        Just("=="),
        Just("---"),
        Just("***"),
        Just("**b**"),
        Just("_e_"),
        Just("[l](https://evil.com)"),
        Just("![i](x)"),
        Just("[r]: https://evil.com"),
        Just("\\"),
        Just("&lt;b&gt;"),
        Just("&#64;alice"),
        Just("$x$"),
        Just("$$y$$"),
        Just(":tada:"),
        Just("\u{1b}[31m"),
        Just("\u{202e}"),
        Just("\u{200b}"),
        Just("\u{2060}"),
        Just("1a2b3c4d5e6f"),
        Just("word"),
        Just("a::b"),
        Just("::"),
        Just(" "),
        Just("é"),
        Just("<https://evil.com>"),
        Just("[x]"),
        Just("[ ]"),
        Just("[^1]"),
        Just("~"),
        Just("~~s~~"),
        Just("\0"),
    ];
    prop_oneof![
        4 => prop::collection::vec(token, 0..12).prop_map(|parts| parts.concat()),
        1 => any::<String>(),
    ]
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH
}

pub(crate) fn events(markdown: &str) -> Vec<Event<'_>> {
    Parser::new_ext(markdown, options()).collect()
}

/// What GitHub would turn into a mention or a link when it stands in rendered text outside code.
pub(crate) fn references(text: &str) -> bool {
    static TOKEN: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
        // A name of punctuation alone, as in `:---:`, is no emoji.
        let emoji = r":[0-9_+-]*[a-z][a-z0-9_+-]*:|:(100|1234|\+1|-1):";
        regex::Regex::new(&format!(
            r"(?i)@[a-z0-9]|#[0-9]|\bgh-[0-9]|www\.|(https?|ftp)://|{emoji}"
        ))
        .unwrap()
    });
    let commit = |word: &str| {
        (7..=40).contains(&word.len())
            && word.chars().all(|c| c.is_ascii_hexdigit())
            && word.chars().any(|c| c.is_ascii_digit())
    };
    TOKEN.is_match(text)
        || text
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(commit)
}

/// The text outside code and all of it, with everything but text and code refused.
fn only_prose(markdown: &str) -> (String, String) {
    let (mut prose, mut all) = (String::new(), String::new());
    for event in events(markdown) {
        match event {
            Event::Text(text) => {
                prose.push_str(&text);
                all.push_str(&text);
            }
            Event::Code(code) => {
                prose.push('`');
                all.push_str(&code);
            }
            Event::InlineHtml(tag) if matches!(&*tag, "<code>" | "</code>") => {}
            Event::Start(Tag::Paragraph) | Event::End(_) => {}
            other => panic!("{other:?} in {markdown:?}"),
        }
    }
    (prose, all)
}

proptest! {
    #[test]
    fn prose_is_only_prose(raw in hostile()) {
        let safe = text(&raw);
        let (prose, all) = only_prose(safe.as_str());
        prop_assert!(safe.as_str().contains("<code>") || !references(&prose), "{:?}", prose);
        prop_assert!(!safe.as_str().contains("<!--") && !safe.as_str().contains('\n'));
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace() && !matches!(*c, JOINER | '`')).collect::<String>();
        prop_assert_eq!(letters(&all), letters(&line(&raw)), "the reader sees what was written");
    }

    #[test]
    fn prose_stays_in_its_table_cell_item_and_emphasis(raw in hostile()) {
        let safe = text(&raw);
        let table = format!("| a | b |\n|---|---|\n| {safe} | end |\n");
        let cells = events(&table).iter().filter(|e| matches!(e, Event::Start(Tag::TableCell))).count();
        prop_assert_eq!(cells, 4, "{}", table);
        let list = format!("- **x{safe}x**\n- b\n");
        let seen = events(&list);
        prop_assert_eq!(seen.iter().filter(|e| matches!(e, Event::Start(Tag::Item))).count(), 2, "{}", list);
        prop_assert_eq!(seen.iter().filter(|e| matches!(e, Event::Start(Tag::Strong))).count(), 1, "{}", list);
        let allowed = |e: &Event<'_>| !matches!(
            e,
            Event::Html(_) | Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Heading { .. })
                | Event::TaskListMarker(_)
        );
        prop_assert!(seen.iter().all(allowed), "{:?}", seen);
    }

    #[test]
    fn a_code_span_is_one_code_span(raw in hostile()) {
        let safe = code(&raw);
        let table = format!("| a | b |\n|---|---|\n| x {safe} | end |\n");
        let seen = events(&table);
        prop_assert_eq!(seen.iter().filter(|e| matches!(e, Event::Start(Tag::TableCell))).count(), 4, "{}", table);
        let paragraph = format!("x {safe} y");
        let mut spans = 0;
        for event in events(&paragraph) {
            match event {
                Event::Code(_) => spans += 1,
                Event::InlineHtml(tag) if matches!(&*tag, "<code>" | "</code>") => spans += 1,
                Event::Text(_) | Event::Start(Tag::Paragraph) | Event::End(_) => {}
                other => prop_assert!(false, "{:?} in {:?}", other, paragraph),
            }
        }
        prop_assert!(spans <= 2);
        prop_assert!(!safe.as_str().contains("<!--"));
    }

    #[test]
    fn a_fence_holds_everything(raw in hostile()) {
        let page = format!("before\n\n{}\n\nafter\n", fence("text", &raw));
        let seen = events(&page);
        let fences = seen.iter().filter(|e| matches!(e, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))))).count();
        prop_assert_eq!(fences, 1, "{}", page);
        let paragraphs = seen.iter().filter(|e| matches!(e, Event::Start(Tag::Paragraph))).count();
        prop_assert_eq!(paragraphs, 2, "{}", page);
        prop_assert!(!page.contains("<!--"));
    }

    #[test]
    fn a_summary_stays_a_summary(raw in hostile()) {
        let page = format!("<details>\n<summary>{}</summary>\n\nbody\n\n</details>\n\nafter\n", summary_code(&raw));
        let html: String = events(&page)
            .into_iter()
            .filter_map(|e| if let Event::Html(html) = e { Some(html.into_string()) } else { None })
            .collect();
        let tags = html.matches('<').count();
        prop_assert_eq!(tags, 6, "{}", html);
    }

    #[test]
    fn addresses_never_leave_their_parentheses(raw in any::<String>()) {
        for candidate in [raw.clone(), format!("https://ci.example.com/{raw}")] {
            if let Some(address) = address(&candidate) {
                let page = format!("[log]({address}) after");
                let seen = events(&page);
                prop_assert_eq!(seen.iter().filter(|e| matches!(e, Event::Start(Tag::Link { .. }))).count(), 1, "{}", page);
                prop_assert!(address.starts_with("http"));
            }
        }
    }

    #[test]
    fn clipping_keeps_within_its_limits(raw in any::<String>(), most in 1_usize..50) {
        prop_assert!(clip(&raw, most).chars().count() <= most);
        prop_assert!(clip_lines(&raw, most).lines().count() <= most + 1);
    }
}

#[test]
fn what_readers_see() {
    let cases = [
        ("plain words, 3 of 4 (75 %).", "plain words, 3 of 4 (75 %)."),
        ("expected a_b, got a-b", "expected a_b, got a-b"),
        ("*bold* _em_ [x](y)", "\\*bold\\* \\_em\\_ \\[x\\](y)"),
        ("call `f(<x>)` first", "call `f(<x>)` first"),
        ("unit: a::b::c_d, (x::y)", "unit: `a::b::c_d`, (`x::y`)"),
        ("a :tada: b", "a :\u{2060}tada: b"),
        ("one ` only", "one \\` only"),
        ("``x``", "\\`\\`x\\`\\`"),
        ("1.5 s", "1.5 s"),
        ("a | b", "a \\| b"),
        ("<img src=x>", "&lt;img src=x>"),
        ("two\nlines\t here", "two lines here"),
        ("\u{1b}[1;31mred\u{1b}[0m \u{202e}txet", "red txet"),
        ("1. first", "1\\. first"),
        ("-> x", "\\-> x"),
        ("at src/a.rs:10", "at src/a.rs:10"),
        ("src/a.rs:10:5: no", "src/a.rs:10:5: no"),
        (
            ":100: :+1: :ship",
            ":\u{2060}100: :\u{2060}+1: :\u{2060}ship",
        ),
        ("", ""),
    ];
    for (raw, shown) in cases {
        assert_eq!(text(raw).as_str(), shown, "{raw:?}");
    }
}

#[test]
fn codes() {
    let cases = [
        ("src/a.rs:12", "`src/a.rs:12`"),
        ("a`b", "``a`b``"),
        ("`a`", "`` `a` ``"),
        ("a|b", "<code>a&#124;b</code>"),
        ("\u{200b}", "(empty)"),
    ];
    for (raw, shown) in cases {
        assert_eq!(code(raw).as_str(), shown, "{raw:?}");
    }
}

#[test]
fn only_web_addresses_are_linked() {
    assert_eq!(
        address("https://ci.example.com/a(b) c").as_deref(),
        Some("https://ci.example.com/a%28b%29%20c")
    );
    for refused in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://a:b@c.de/",
        "//x",
        "",
    ] {
        assert_eq!(address(refused), None, "{refused}");
    }
    assert_eq!(
        path_in_address("src/a b.rs").as_deref(),
        Some("src/a%20b.rs")
    );
    for refused in ["../x", "/etc/passwd", "a/../../b", "a\\b", ""] {
        assert_eq!(path_in_address(refused), None, "{refused}");
    }
}

#[test]
fn long_texts_keep_head_and_tail() {
    let long = (1..=20)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join("\n");
    assert_eq!(clip_lines(&long, 6), "1\n2\n3\n4\n… 14 lines cut …\n19\n20");
}
