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
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    TestRunner::new(Config {
        cases,
        rng_seed: RngSeed::Fixed(20_261_120),
        failure_persistence: None,
        ..Config::default()
    })
}

static NAMES: LazyLock<(Login, BTreeSet<GateName>)> = LazyLock::new(|| {
    ("loopgate[bot]".parse().unwrap(), ["security", "architecture", "db-2"].map(|gate| gate.parse().unwrap()).into())
});

/// What a line says, as far as the reference tells: the kind, and the gates.
type Meaning = (&'static str, Vec<String>);

/// The rules of gates.md, written down a second time.
fn reference(line: &str) -> Option<Meaning> {
    const B: &str = r"[ \t\u{a0}]";
    const GATE: &str = "(security|architecture|db-2)";
    const SHA: &str = "[0-9a-f]{40}";
    const END: &str = "(?:[.!]|🎉|✅|👍🏽|:tada:)";
    static FORMS: LazyLock<[(&str, Regex); 7]> = LazyLock::new(|| {
        let phrase = |verdict: &str| {
            let bot = format!(r"(?:@loopgate(?:\[bot\])?{B}+)?");
            Regex::new(&format!(r"(?i)\A{B}*{bot}{GATE}{B}+{verdict}(?:{B}+{SHA})?(?:{B}*{END})?{B}*\z")).unwrap()
        };
        let slash = |form: String| Regex::new(&format!(r"(?i)\A{B}*/{form}{B}*\z")).unwrap();
        let gates = format!("((?:{B}+(?:security|architecture|db-2))+)");
        [
            ("approve", phrase("approved")),
            ("reject", phrase(&format!("(?:rejected|changes{B}+requested)"))),
            ("revoke", phrase(&format!("approval{B}+revoked"))),
            ("approve", slash(format!("approve{gates}(?:{B}+{SHA})?"))),
            ("reject", slash(format!("reject{B}+{GATE}(?:{B}+.*)?"))),
            ("revoke", slash(format!("revoke{B}+{GATE}"))),
            ("dismiss", slash(format!(r"dismiss{B}+{GATE}{B}+@[a-z0-9-]+(?:\[bot\])?{B}+\S.*"))),
        ]
    });
    let forms = if line.trim_start().starts_with('/') { &FORMS[3..] } else { &FORMS[..3] };
    forms.iter().find_map(|(kind, form)| {
        let gates = form.captures(line)?.get(1)?.as_str().to_ascii_lowercase();
        Some((*kind, gates.split([' ', '\t', '\u{a0}']).filter(|gate| !gate.is_empty()).map(str::to_owned).collect()))
    })
}

/// What the grammar understands, in the reference's words. Commands to the loop are not the reference's business.
fn understood(body: &str) -> Vec<(&'static str, String)> {
    let (bot, gates) = &*NAMES;
    let meaning = |spoken: &Spoken| {
        let kind = match &spoken.intent {
            Intent::Approve { .. } => "approve",
            Intent::Reject { .. } => "reject",
            Intent::Revoke { .. } => "revoke",
            Intent::Dismiss { .. } => "dismiss",
            Intent::Command(_) => return None,
        };
        Some((kind, spoken.intent.gate()?.to_string()))
    };
    read(body, bot, gates).intents.iter().filter_map(meaning).collect()
}

/// A part of a comment.
#[derive(Clone, Debug)]
enum Block {
    Paragraph(Vec<Line>),
    Quote(Vec<Block>),
    /// A quote's line, and a line below it without a mark.
    LazyQuote(String, String),
    Item(Vec<Block>),
    Task(String),
    Fence(&'static str, String),
    Indented(String),
    Heading(String),
    Underlined(String),
    Cell(String),
    Comment(String),
    Details {
        open: bool,
        blocks: Vec<Block>,
    },
}

/// A line of a paragraph, and what it is dressed in.
#[derive(Clone, Debug)]
struct Line {
    text: String,
    dress: (&'static str, &'static str),
}

/// Dresses that change only the looks.
const LOOKS: [(&str, &str); 5] = [("", ""), ("", "  "), ("**", "**"), ("*", "*"), ("_", "_")];
/// Dresses in which words do not count.
const ALIEN: [(&str, &str); 9] = [
    ("`", "`"),
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
    let (list, roll) = if roll < 230 { (good, roll) } else { (bad, roll - 230) };
    list[usize::from(roll) % list.len()]
}

fn phrase([bot, gate, blank, verdict, commit, end]: [u8; 6]) -> String {
    let bot = mostly(bot, &["", "", "", "@loopgate ", "@LoopGate[bot] "], &["@alice ", "@loopgate, ", "not "]);
    let gates = ["securlty", "sеcurity", "secu\u{200b}rity", "security,", "payments", "the security", "security:"];
    let gate = mostly(gate, &["security", "Security", "ARCHITECTURE", "db-2"], &gates);
    let verdicts =
        ["approve", "аpproved", "not approved", "approved if green", "ａpproved", "is approved", "approved security"];
    let verdict = mostly(
        verdict,
        &["approved", "Approved", "rejected", "changes requested", "changes  requested", "approval revoked"],
        &verdicts,
    );
    let commit = mostly(
        commit,
        &["", "", "", " 0123456789abcdef0123456789abcdef01234567"],
        &[" 0123456", " 0123456789abcdef0123456789abcdef012345678"],
    );
    let ends = ["?", "!!", "..", " 🎉🎉", " 👎", " :x:", "\u{202e}", ", thanks"];
    let end = mostly(end, &["", "", ".", "!", " 🎉", "✅", " 👍🏽", " :tada:"], &ends);
    format!("{bot}{gate}{}{verdict}{commit}{end}", between(blank))
}

fn slash([verb, blank, gates, rest]: [u8; 4]) -> String {
    let verbs = ["/approve", "/Approve", "/reject", "/revoke", "/dismiss"];
    let verb = mostly(verb, &verbs, &["/aprove", "/ approve", "approve"]);
    let gates = mostly(
        gates,
        &["security", "security architecture", "db-2 0123456789abcdef0123456789abcdef01234567"],
        &["payments", "", "security,"],
    );
    let rest = mostly(rest, &["", "", " @bob agreed on the phone", " for a reason"], &[" @bob", " ."]);
    format!("{verb}{}{gates}{rest}", between(blank))
}

fn between(roll: u8) -> &'static str {
    mostly(roll, &[" ", " ", "  ", "\t", "\u{a0}"], &["\u{2003}", " \u{200b}", "", "-"])
}

fn text() -> impl Strategy<Value = String> {
    let talk = ["thanks", "security", "approved", "looks good to me", "and then"];
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
        Line { text, dress: dresses[usize::from(roll) % dresses.len()] }
    })
}

fn block() -> impl Strategy<Value = Block> {
    let leaf = prop_oneof![
        6 => prop::collection::vec(line(), 1..4).prop_map(Block::Paragraph),
        1 => (text(), text()).prop_map(|(quoted, lazy)| Block::LazyQuote(quoted, lazy)),
        1 => text().prop_map(Block::Task),
        1 => (select(vec!["", "rust", "suggestion"]), text()).prop_map(|(info, text)| Block::Fence(info, text)),
        1 => text().prop_map(Block::Indented),
        1 => text().prop_map(Block::Heading),
        1 => text().prop_map(Block::Underlined),
        1 => text().prop_map(Block::Cell),
        1 => text().prop_map(Block::Comment),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        let blocks = prop::collection::vec(inner, 1..3);
        prop_oneof![
            2 => blocks.clone().prop_map(Block::Quote),
            3 => blocks.clone().prop_map(Block::Item),
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
            lines.iter().flat_map(|line| dressed(line).split('\n').map(str::to_owned).collect::<Vec<_>>()).collect()
        }
        Block::Quote(blocks) => all(blocks).into_iter().map(|line| format!("> {line}")).collect(),
        Block::LazyQuote(quoted, lazy) => vec![format!("> x {quoted}"), lazy.clone()],
        Block::Item(blocks) => {
            let lines = all(blocks).into_iter().enumerate();
            let indented = lines.map(|(at, line)| match (at, line.as_str()) {
                (0, line) => format!("- {line}"),
                (_, "") => String::new(),
                (_, line) => format!("  {line}"),
            });
            // Something that ends the list, or an indented block after it would belong to it.
            indented.chain([String::new(), "and so on".to_owned()]).collect()
        }
        Block::Task(text) => vec![format!("- [x] {text}"), String::new(), "and so on".to_owned()],
        Block::Fence(info, text) => vec![format!("```{info}"), text.clone(), "```".to_owned()],
        Block::Indented(text) => one(format!("    {text}")),
        Block::Heading(text) => one(format!("## {text}")),
        Block::Underlined(text) => vec![text.clone(), "---".to_owned()],
        Block::Cell(text) => vec!["|a|b|".to_owned(), "|-|-|".to_owned(), format!("|{text}|x|")],
        Block::Comment(text) => one(format!("<!-- {text} -->")),
        Block::Details { open, blocks } => {
            let tag = if *open { "<details open>" } else { "<details>" };
            let mut lines = vec![tag.to_owned(), "<summary>more</summary>".to_owned(), String::new()];
            lines.extend(all(blocks));
            lines.extend([String::new(), "</details>".to_owned()]);
            lines
        }
    }
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
            lines.iter().filter(counts).map(|line| line.text.clone()).collect()
        }
        Block::Item(blocks) | Block::Details { open: true, blocks } => blocks.iter().flat_map(counting).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_grammar_reads_what_the_reference_reads() {
    let comments = prop::collection::vec(block(), 1..4);
    runner(10_000)
        .run(&comments, |blocks| {
            let body = all(&blocks).join("\n");
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
    static MARKS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\A(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|\z)").unwrap());
    runner(10_000)
        .run(&soup(), |body| {
            let (bot, gates) = &*NAMES;
            let source: Vec<&str> = body.split("\r\n").flat_map(|part| part.split(['\r', '\n'])).collect();
            for spoken in read(&body, bot, gates).intents {
                let mut line = source[spoken.line as usize - 1].trim().to_owned();
                while let Some(mark) = MARKS.find(&line) {
                    line = line[mark.end()..].trim().to_owned();
                }
                let line = line.replace(['*', '_', '\\'], "").replace("&nbsp;", "\u{a0}").replace("&#97;", "a");
                prop_assert!(reference(&line).is_some(), "line {} of {:?}", spoken.line, body);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_cheap_question_misses_no_intent() {
    let disguised = prop::collection::vec(prop_oneof![soup(), text().prop_map(|text| format!("\n\n{text}\n"))], 1..4);
    runner(5_000)
        .run(&disguised, |parts| {
            let body = parts.concat();
            let (bot, gates) = &*NAMES;
            let vocabulary = Vocabulary { bot, gates };
            prop_assert!(may_speak(&body) || read_lines(&body, vocabulary).intents.is_empty(), "{:?}", body);
            Ok(())
        })
        .unwrap();
}
