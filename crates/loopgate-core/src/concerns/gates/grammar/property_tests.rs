//! The grammar against a reference that is slow and plain: hostile comments are generated as trees, so that which of
//! their lines count is known before any Markdown is written, and the lines that count are read with one regular
//! expression per form.

use std::sync::LazyLock;

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, RngSeed, TestRunner},
};
use regex::Regex;

use super::*;

/// The same comments in every run. Set `PROPTEST_CASES` for more of them.
fn runner(cases: u32) -> TestRunner {
    let cases = crate::fixtures::wished_cases("PROPTEST_CASES")
        .and_then(|cases| cases.try_into().ok())
        .unwrap_or(cases);
    TestRunner::new(Config {
        cases,
        rng_seed: RngSeed::Fixed(20_261_120),
        failure_persistence: None,
        ..Config::default()
    })
}

static NAMES: LazyLock<(Login, BTreeSet<GateName>)> = LazyLock::new(|| {
    (
        "loopgate[bot]".parse().unwrap(),
        ["security", "architecture", "db-2"]
            .map(|gate| gate.parse().unwrap())
            .into(),
    )
});

/// What a line means by the reference: the kind, and the gates.
type Meaning = (&'static str, Vec<String>);

/// A word in any ASCII case. `(?i)` would take `ſ` for an s and the Kelvin sign for a k.
fn any_case(word: &str) -> String {
    word.chars()
        .map(|c| {
            if c.is_ascii_alphabetic() {
                format!("[{c}{}]", c.to_ascii_uppercase())
            } else {
                c.into()
            }
        })
        .collect()
}

/// The rules of the grammar, written down a second time.
fn reference(line: &str) -> Option<Meaning> {
    const B: &str = r"[ \t\u{a0}]";
    const SHA: &str = "[0-9a-fA-F]{40}";
    const END: &str = "(?:[.!]|🎉|✅|❤️|👍🏽|🇨🇭|1️⃣|:tada:)";
    static FORMS: LazyLock<[(&str, Regex); 7]> = LazyLock::new(|| {
        let gate = ["security", "architecture", "db-2"].map(any_case).join("|");
        let phrase = |verdict: &[&str]| {
            let bot = format!(
                r"(?:@{}(?:\[{}\])?{B}+)?",
                any_case("loopgate"),
                any_case("bot")
            );
            let verdict = verdict
                .iter()
                .map(|word| any_case(word))
                .collect::<Vec<_>>()
                .join(&format!("{B}+"));
            format!(r"\A{B}*{bot}({gate}){B}+{verdict}(?:{B}+{SHA})?(?:{B}*{END})?{B}*\z")
        };
        let slash = |verb: &str, rest: String| format!(r"\A{B}*/{}{rest}{B}*\z", any_case(verb));
        let requested = format!(
            "{}|{}",
            phrase(&["rejected"]),
            phrase(&["changes", "requested"])
        );
        [
            ("approve", phrase(&["approved"])),
            ("reject", requested),
            ("revoke", phrase(&["approval", "revoked"])),
            (
                "approve",
                slash("approve", format!("((?:{B}+(?:{gate}))+)(?:{B}+{SHA})?")),
            ),
            (
                "reject",
                slash("reject", format!("{B}+({gate})(?:{B}+.*)?")),
            ),
            ("revoke", slash("revoke", format!("{B}+({gate})"))),
            (
                "dismiss",
                slash(
                    "dismiss",
                    format!(r"{B}+({gate}){B}+@[A-Za-z0-9-]+(?:\[bot\])?{B}+\S.*"),
                ),
            ),
        ]
        .map(|(kind, form)| (kind, Regex::new(&form).unwrap()))
    });
    let forms = if line.trim_start().starts_with('/') {
        &FORMS[3..]
    } else {
        &FORMS[..3]
    };
    forms.iter().find_map(|(kind, form)| {
        let found = form.captures(line)?;
        let gates = found
            .iter()
            .skip(1)
            .flatten()
            .next()?
            .as_str()
            .to_ascii_lowercase();
        Some((
            *kind,
            gates
                .split([' ', '\t', '\u{a0}'])
                .filter(|gate| !gate.is_empty())
                .map(str::to_owned)
                .collect(),
        ))
    })
}

/// What the grammar understands, in the reference's words. Commands to the loop are not the reference's business.
fn understood(body: &str) -> Vec<(&'static str, String)> {
    let (bot, gates) = &*NAMES;
    let meaning = |spoken: &ParsedIntent| {
        let kind = match &spoken.intent {
            Intent::Approve { .. } => "approve",
            Intent::Reject { .. } => "reject",
            Intent::Revoke { .. } => "revoke",
            Intent::Dismiss { .. } => "dismiss",
            Intent::Command(_) => return None,
        };
        Some((kind, spoken.intent.gate()?.to_string()))
    };
    read(body, bot, gates)
        .intents
        .iter()
        .filter_map(meaning)
        .collect()
}

/// A part of a comment.
#[derive(Clone, Debug)]
enum Block {
    Paragraph(Vec<Line>),
    Quote(Vec<Self>),
    /// A quote's line, and a line below it without a mark.
    LazyQuote(String, String),
    Item(Vec<Self>),
    Numbered(Vec<Self>),
    Task(String),
    /// The opening fence with its info, the text, the closing fence.
    Fence(&'static str, String, &'static str),
    Indented(String),
    Heading(String),
    Underlined(String),
    Cell(String),
    /// Between two lines that hide what stands there.
    Between(&'static str, String, &'static str),
    Comment(String),
    Footnote(String),
    /// Much that says nothing: so many lines.
    Filler(u16),
    Details {
        open: bool,
        blocks: Vec<Self>,
    },
}

/// A line of a paragraph, and what it is dressed in.
#[derive(Clone, Debug)]
struct Line {
    text: String,
    dress: (&'static str, &'static str),
}

/// Dresses that change only the looks.
const LOOKS: [(&str, &str); 9] = [
    ("", ""),
    ("", "  "),
    ("", "\t"),
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("_", "_"),
    ("***", "***"),
    ("**_", "_**"),
];
/// Dresses in which words do not count.
const ALIEN: [(&str, &str); 22] = [
    ("`", "`"),
    ("``` ", " ```"),
    ("~", "~"),
    ("~~**", "**~~"),
    ("$", "$"),
    ("[", "]"),
    ("(", ")"),
    ("“", "”"),
    ("<kbd>", "</kbd>"),
    ("<span title=\"x\">", "</span>"),
    ("<i></i>", ""),
    ("https://example.com ", ""),
    ("[^1] ", ""),
    ("[**", "**](https://example.com)"),
    // What begins on the line before.
    ("[x\n](https://example.com) ", ""),
    ("![\n](x.png)", ""),
    ("x <del>\n</del>", ""),
    ("~~", "~~"),
    ("[", "](https://example.com)"),
    ("![", "](x.png)"),
    ("<b>", "</b>"),
    ("<!-- x -->", ""),
];

/// Mostly what the grammar takes, and now and then what it must not.
fn mostly(roll: u8, good: &[&'static str], bad: &[&'static str]) -> &'static str {
    let (list, roll) = if roll < 230 {
        (good, roll)
    } else {
        (bad, roll - 230)
    };
    list[usize::from(roll) % list.len()]
}

fn phrase([bot, gate, blank, verdict, commit, end]: [u8; 6]) -> String {
    let bot = mostly(
        bot,
        &["", "", "", "@loopgate ", "@LoopGate[bot] "],
        &["@alice ", "@loopgate, ", "not "],
    );
    let gates = [
        "securlty",
        "sеcurity",
        "secu\u{200b}rity",
        "security,",
        "payments",
        "the security",
        "security:",
        "ｓecurity",
        "ſecurity",
        "securıty",
        "secúrity",
        "secur\u{301}ity",
        "secur\u{ad}ity",
        "\u{202d}security",
        "\u{feff}security\u{feff}",
        "𝐬ecurity",
    ];
    let gate = mostly(
        gate,
        &["security", "Security", "ARCHITECTURE", "db-2"],
        &gates,
    );
    let verdicts = [
        "approve",
        "аpproved",
        "not approved",
        "approved if green",
        "ａpproved",
        "is approved",
        "approved security",
        "approved\u{200d}",
        "appro\u{2060}ved",
        "ap\u{34f}proved",
        "approval revoKed",
        "changeſ requested",
    ];
    let verdict = mostly(
        verdict,
        &[
            "approved",
            "Approved",
            "rejected",
            "changes requested",
            "changes  requested",
            "approval revoked",
        ],
        &verdicts,
    );
    let commit = mostly(
        commit,
        &[
            "",
            "",
            "",
            " 0123456789abcdef0123456789abcdef01234567",
            " 0123456789ABCDEF0123456789ABCDEF01234567",
        ],
        &[" 0123456", " 0123456789abcdef0123456789abcdef012345678"],
    );
    let ends = [
        "?",
        "!!",
        "..",
        " 🎉🎉",
        " 👎",
        " :x:",
        "\u{202e}",
        ", thanks",
        "！",
        "…",
        " 👍👎",
        "\u{200d}",
        " ✅ ✅",
    ];
    let good = [
        "",
        "",
        ".",
        "!",
        " 🎉",
        "✅",
        " 👍🏽",
        " :tada:",
        " ❤️",
        " 🇨🇭",
        " 1️⃣",
    ];
    let end = mostly(end, &good, &ends);
    format!("{bot}{gate}{}{verdict}{commit}{end}", between(blank))
}

fn slash([verb, blank, gates, rest]: [u8; 4]) -> String {
    let verbs = ["/approve", "/Approve", "/reject", "/revoke", "/dismiss"];
    let verb = mostly(verb, &verbs, &["/aprove", "/ approve", "approve"]);
    let gates = mostly(
        gates,
        &[
            "security",
            "security architecture",
            "db-2 0123456789abcdef0123456789abcdef01234567",
        ],
        &["payments", "", "security,"],
    );
    let rest = mostly(
        rest,
        &["", "", " @bob agreed on the phone", " for a reason"],
        &[" @bob", " ."],
    );
    format!("{verb}{}{gates}{rest}", between(blank))
}

fn between(roll: u8) -> &'static str {
    let much = "                                                                                            ";
    let bad = [
        "\u{2003}",
        " \u{200b}",
        "",
        "-",
        "\u{3000}",
        "\u{2028}",
        "\u{85}",
        "\u{b}",
        "\u{c}",
        "\u{2800}",
    ];
    mostly(
        roll,
        &[" ", " ", "  ", "\t", "\u{a0}", " \u{a0}\t ", much],
        &bad,
    )
}

/// Code in its fences.
const FENCES: [(&str, &str); 6] = [
    ("```", "```"),
    ("```rust", "```"),
    ("```suggestion", "```"),
    ("~~~", "~~~"),
    ("````\n```", "```\n````"),
    ("~~~ x\n```", "~~~"),
];
/// What else hides the lines between.
const HIDING: [(&str, &str); 6] = [
    ("<!--", "-->"),
    ("<div>", "</div>"),
    ("<pre>", "</pre>"),
    ("<table><tr><td>", "</td></tr></table>"),
    ("$$", "$$"),
    ("> [!NOTE]\n> x", "> x"),
];

fn text() -> impl Strategy<Value = String> {
    let talk = [
        "thanks",
        "security",
        "approved",
        "looks good to me",
        "and then",
    ];
    any::<[u8; 7]>().prop_map(move |[kind, a, b, c, d, e, f]| {
        let text = match kind % 10 {
            0..6 => phrase([a, b, c, d, e, f]),
            6..9 => slash([a, b, c, d]),
            _ => talk[usize::from(a) % talk.len()].to_owned(),
        };
        text.trim().to_owned()
    })
}

fn line() -> impl Strategy<Value = Line> {
    (text(), any::<u8>()).prop_map(|(text, roll)| {
        let dresses: &[_] = if roll < 190 { &LOOKS } else { &ALIEN };
        Line {
            text,
            dress: dresses[usize::from(roll) % dresses.len()],
        }
    })
}

fn block() -> impl Strategy<Value = Block> {
    let leaf = prop_oneof![
        6 => prop::collection::vec(line(), 1..4).prop_map(Block::Paragraph),
        1 => (text(), text()).prop_map(|(quoted, lazy)| Block::LazyQuote(quoted, lazy)),
        1 => text().prop_map(Block::Task),
        1 => (select(FENCES.to_vec()), text()).prop_map(|((open, close), text)| Block::Fence(open, text, close)),
        1 => (select(HIDING.to_vec()), text()).prop_map(|((open, close), text)| Block::Between(open, text, close)),
        1 => text().prop_map(Block::Footnote),
        1 => text().prop_map(Block::Indented),
        1 => text().prop_map(Block::Heading),
        1 => text().prop_map(Block::Underlined),
        1 => text().prop_map(Block::Cell),
        1 => text().prop_map(Block::Comment),
    ];
    leaf.prop_recursive(5, 12, 3, |inner| {
        let blocks = prop::collection::vec(inner, 1..3);
        prop_oneof![
            2 => blocks.clone().prop_map(Block::Quote),
            3 => blocks.clone().prop_map(Block::Item),
            2 => blocks.clone().prop_map(Block::Numbered),
            3 => (any::<bool>(), blocks).prop_map(|(open, blocks)| Block::Details { open, blocks }),
        ]
    })
}

/// The Markdown of a block, line by line.
fn markdown(block: &Block) -> Vec<String> {
    let one = |line: String| vec![line];
    match block {
        Block::Paragraph(lines) => {
            let dressed = |line: &Line| format!("{}{}{}", line.dress.0, line.text, line.dress.1);
            lines
                .iter()
                .flat_map(|line| {
                    dressed(line)
                        .split('\n')
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                })
                .collect()
        }
        Block::Quote(blocks) => all(blocks)
            .into_iter()
            .map(|line| format!("> {line}"))
            .collect(),
        Block::LazyQuote(quoted, lazy) => vec![format!("> x {quoted}"), lazy.clone()],
        Block::Item(blocks) => item("- ", blocks),
        Block::Numbered(blocks) => item("7) ", blocks),
        Block::Task(text) => vec![
            format!("- [x] {text}"),
            String::new(),
            "and so on".to_owned(),
        ],
        Block::Fence(open, text, close) | Block::Between(open, text, close) => {
            let lines = open
                .split('\n')
                .chain([text.as_str()])
                .chain(close.split('\n'));
            lines.map(str::to_owned).collect()
        }
        Block::Footnote(text) => vec![
            format!("[^1]: {text}"),
            String::new(),
            "and so on".to_owned(),
        ],
        Block::Filler(lines) => (0..*lines)
            .map(|n| format!("All work and no play makes line {n} a dull line."))
            .collect(),
        Block::Indented(text) => one(format!("    {text}")),
        Block::Heading(text) => one(format!("## {text}")),
        Block::Underlined(text) => vec![text.clone(), "---".to_owned()],
        Block::Cell(text) => vec![
            "|a|b|".to_owned(),
            "|-|-|".to_owned(),
            format!("|{text}|x|"),
        ],
        Block::Comment(text) => one(format!("<!-- {text} -->")),
        Block::Details { open, blocks } => {
            let tag = if *open { "<details open>" } else { "<details>" };
            let mut lines = vec![
                tag.to_owned(),
                "<summary>more</summary>".to_owned(),
                String::new(),
            ];
            lines.extend(all(blocks));
            lines.extend([String::new(), "</details>".to_owned()]);
            lines
        }
    }
}

fn item(mark: &str, blocks: &[Block]) -> Vec<String> {
    let lines = all(blocks).into_iter().enumerate();
    let indented = lines.map(|(at, line)| match (at, line.as_str()) {
        (0, line) => format!("{mark}{line}"),
        (_, "") => String::new(),
        (_, line) => format!("{}{line}", " ".repeat(mark.len())),
    });
    // Something that ends the list, or an indented block after it would belong to it.
    indented
        .chain([String::new(), "and so on".to_owned()])
        .collect()
}

fn all(blocks: &[Block]) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(markdown(block));
    }
    lines
}

/// The lines that count, by construction.
fn counting(block: &Block) -> Vec<String> {
    match block {
        Block::Paragraph(lines) => {
            let counts = |line: &&Line| LOOKS.contains(&line.dress);
            lines
                .iter()
                .filter(counts)
                .map(|line| line.text.clone())
                .collect()
        }
        Block::Item(blocks) | Block::Numbered(blocks) | Block::Details { open: true, blocks } => {
            blocks.iter().flat_map(counting).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn the_grammar_reads_what_the_reference_reads() {
    let top = prop_oneof![60 => block(), 1 => (1..900_u16).prop_map(Block::Filler)];
    let comments = (
        prop::collection::vec(top, 1..4),
        select(vec!["\n", "\n", "\r\n", "\r"]),
    );
    runner(10_000)
        .run(&comments, |(blocks, line_end)| {
            let body = all(&blocks).join(line_end);
            let lines = blocks.iter().flat_map(counting);
            let expected: Vec<(&str, String)> = lines
                .filter_map(|line| reference(&line))
                .flat_map(|(kind, gates)| gates.into_iter().map(move |gate| (kind, gate)))
                .collect();
            prop_assert_eq!(understood(&body), expected, "{}", body);
            Ok(())
        })
        .unwrap();
}

/// Pieces that mean something to Markdown, to HTML or to us, in any order.
fn soup() -> impl Strategy<Value = String> {
    let pieces = select(vec![
        "security approved",
        "security approved\n",
        "architecture rejected",
        "security ",
        "approved",
        "/approve security",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "> ",
        ">",
        "- ",
        "1. ",
        "    ",
        "\t",
        "```",
        "~~~",
        "`",
        "~~",
        "<!--",
        "-->",
        "<details>",
        "</details>",
        "<details open>",
        "<details\n",
        "<del>",
        "</del>",
        "<div>",
        "</div>",
        "<table><td>",
        "# ",
        "[",
        "](x)",
        "![",
        "|",
        "\n|-|\n",
        "\n===\n",
        "\n---\n",
        "*",
        "**",
        "_",
        "\\",
        "&nbsp;",
        "&#97;",
        "\u{200b}",
        "- [ ] ",
        "On 1 May, X wrote:\n",
        "@loopgate ",
        "<b>",
        "<",
        "[^1]",
        "\n[^1]: ",
        "[a]: b\n",
        "$",
        "\0",
        " not",
        "<a href=\"",
        "\">",
        "<script>",
        "</script>",
        "{",
        "://",
        "www.",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn every_intent_is_a_whole_line_of_the_source() {
    static MARKS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\A(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|\z)").unwrap());
    runner(10_000)
        .run(&soup(), |body| {
            let (bot, gates) = &*NAMES;
            let source: Vec<&str> = body
                .split("\r\n")
                .flat_map(|part| part.split(['\r', '\n']))
                .collect();
            for spoken in read(&body, bot, gates).intents {
                let mut line = source[spoken.line as usize - 1].trim().to_owned();
                while let Some(mark) = MARKS.find(&line) {
                    line = line[mark.end()..].trim().to_owned();
                }
                let line = line
                    .replace(['*', '_', '\\'], "")
                    .replace("&nbsp;", "\u{a0}")
                    .replace("&#97;", "a");
                prop_assert!(
                    reference(&line).is_some(),
                    "line {} of {:?}",
                    spoken.line,
                    body
                );
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_cheap_question_misses_no_intent() {
    let disguised = prop::collection::vec(
        prop_oneof![soup(), text().prop_map(|text| format!("\n\n{text}\n"))],
        1..4,
    );
    runner(5_000)
        .run(&disguised, |parts| {
            let body = parts.concat();
            let (bot, gates) = &*NAMES;
            let vocabulary = Vocabulary { bot, gates };
            prop_assert!(
                may_speak(&body) || read_lines(&body, vocabulary).intents.is_empty(),
                "{:?}",
                body
            );
            Ok(())
        })
        .unwrap();
}
