//! A line of a POSIX shell as words and operators (<https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html>):
//! as much of the grammar as it takes to leave words out and never join two commands.

use std::borrow::Cow;

use crate::policy::REPORTS_VARIABLE;

/// The last command of a chain that goes on only while all is well, and what stands in front of it: `npm ci && `, `jest`.
/// Without what only shortens or keeps its output (`| tail`, `2>&1`, `> log`). None where commands are joined in
/// another way.
pub fn chain(command: &str) -> Option<(String, String)> {
    let tokens = tokens(command)?;
    let is = |token: &Token<'_>, text: &str| token.kind == Kind::Operator && token.text == text;
    let start = tokens
        .iter()
        .rposition(|token| is(token, "&&"))
        .map_or(0, |at| at + 1);
    let (before, last) = tokens.split_at(start);
    let is_plain = |token: &Token<'_>| token.kind != Kind::Operator || token.text == "&&";
    let end = last
        .iter()
        .position(|token| is(token, "|") || token.kind == Kind::Redirection)
        .unwrap_or(last.len());
    let rest = &last[end..];
    let only_shows = rest
        .iter()
        .all(|token| token.kind != Kind::Operator || token.text == "|");
    let is_one = last[..end].iter().all(|token| token.kind == Kind::Word);
    if !before.iter().all(is_plain) || !only_shows || !is_one || (end == 0 && !tokens.is_empty()) {
        return None;
    }
    let before = match before {
        [] => String::new(),
        before => format!("{} ", written(before)),
    };
    Some((before, written(&last[..end])))
}

/// The first command without its `2>&1`, where all that follows it shows its output as it is and hides its status:
/// `| tee log`, `|| true`, `; exit 0`. None where something else follows.
pub fn with_status_hidden(command: &str) -> Option<String> {
    let tokens = tokens(command)?;
    let is_operator = |token: &Token<'_>| token.kind == Kind::Operator;
    let end = tokens.iter().position(is_operator).unwrap_or(tokens.len());
    let (first, rest) = tokens.split_at(end);
    let errors_too = first.windows(2).position(|pair| {
        pair[0].kind == Kind::Redirection && pair[0].text == "2>&" && pair[1].text == "1"
    });
    let first = match errors_too {
        Some(at) => [&first[..at], &first[at + 2..]].concat(),
        None => first.to_vec(),
    };
    let hides = |command: &[Token<'_>]| {
        let words: Vec<&str> = command.iter().map(|token| token.text).collect();
        matches!(
            words[..],
            ["|", "tee", ..] | ["|", "cat"] | ["||" | ";", "true" | ":"] | [";", "exit", _]
        )
    };
    let is_shown = rest.chunk_by(|_, next| !is_operator(next)).all(hides);
    is_shown.then(|| written(&first))
}

/// How deep substitutions are followed.
const DEEPEST: u32 = 20;

/// What separates commands or groups them, the longest first. A line break is one, too.
const OPERATORS: [&str; 11] = ["&&", "||", ";;&", ";;", ";&", "|&", "&", ";", "|", "(", ")"];
/// What redirects, the longest first; a number may stand before each.
const REDIRECTIONS: [&str; 9] = ["&>>", "&>", ">>", ">&", ">|", "<>", "<&", ">", "<"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Word,
    /// Its target is the word behind it.
    Redirection,
    Operator,
}

/// A word with its quotes, or an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'c> {
    pub text: &'c str,
    pub kind: Kind,
    /// Whether nothing stands between it and the one before.
    is_glued: bool,
}

/// The words and operators of a command. None for what is not closed, and for here-documents and process substitutions,
/// which this does not read.
pub fn tokens(command: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let (mut at, mut is_glued) = (0, false);
    while let Some(rest) = command.get(at..).filter(|rest| !rest.is_empty()) {
        let skipped = blank(rest);
        if skipped > 0 {
            (at, is_glued) = (at + skipped, false);
            continue;
        }
        let (length, kind) = first(rest)?;
        let text = &rest[..length];
        tokens.push(Token {
            text,
            kind,
            is_glued,
        });
        (at, is_glued) = (at + length, true);
    }
    Some(tokens)
}

/// The words of a command that is one, without redirections and operators.
pub fn words(command: &str) -> Option<Vec<&str>> {
    let tokens = tokens(command)?;
    let is_one = tokens.iter().all(|token| token.kind == Kind::Word);
    is_one.then(|| tokens.iter().map(|token| token.text).collect())
}

/// Bytes of blanks, joined lines or a comment at the start.
fn blank(rest: &str) -> usize {
    match rest.as_bytes() {
        [b' ' | b'\t' | b'\r', ..] => 1,
        [b'\\', b'\n', ..] => 2,
        [b'#', ..] => rest.find('\n').unwrap_or(rest.len()),
        _ => 0,
    }
}

/// The length and the kind of what stands at the start.
fn first(rest: &str) -> Option<(usize, Kind)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let behind = &rest[digits..];
    if ["<<", "<(", ">("].iter().any(|op| behind.starts_with(op)) {
        return None;
    }
    let redirection = REDIRECTIONS.iter().find(|op| behind.starts_with(**op));
    let operator = || OPERATORS.iter().find(|op| rest.starts_with(**op));
    match redirection {
        Some(op) if digits == 0 || !op.starts_with('&') => {
            return Some((digits + op.len(), Kind::Redirection));
        }
        _ => {}
    }
    if rest.starts_with('\n') {
        return Some((1, Kind::Operator));
    }
    match operator() {
        Some(op) => Some((op.len(), Kind::Operator)),
        None => Some((word_end(rest)?, Kind::Word)),
    }
}

/// Where the word at the start ends.
fn word_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
            _ => at = past(bytes, at, false, 0)?,
        }
    }
    Some(at)
}

/// Behind what begins at `at`: a quotation, a substitution, an escape, or one byte. Between double quotes a single quote
/// is a byte like others.
fn past(bytes: &[u8], at: usize, is_quoted: bool, depth: u32) -> Option<usize> {
    if depth > DEEPEST {
        return None;
    }
    let until = |from, close, is_quoted| {
        let mut at = from;
        while *bytes.get(at)? != close {
            at = past(bytes, at, is_quoted, depth + 1)?;
        }
        Some(at + 1)
    };
    match (bytes.get(at)?, bytes.get(at + 1)) {
        (b'\\', next) => next.map(|_| at + 2),
        (b'\'', _) if !is_quoted => {
            let length = bytes[at + 1..].iter().position(|byte| *byte == b'\'')?;
            Some(at + length + 2)
        }
        (b'"', _) => until(at + 1, b'"', true),
        (b'`', _) => until(at + 1, b'`', false),
        (b'$', Some(b'(')) => until(at + 2, b')', false),
        (b'$', Some(b'{')) => until(at + 2, b'}', is_quoted),
        (b'(', _) if !is_quoted => until(at + 1, b')', false),
        _ => Some(at + 1),
    }
}

/// The tokens on one line. A line break that ends a command becomes a semicolon.
pub fn written(tokens: &[Token<'_>]) -> String {
    let mut line = String::new();
    // Whether a command can begin here, so that nothing is to be ended.
    let mut is_open = true;
    for (index, token) in tokens.iter().enumerate() {
        let is_break = token.text == "\n";
        let is_last = tokens[index + 1..].iter().all(|token| token.text == "\n");
        if is_break && (is_open || is_last) {
            continue;
        }
        let after_break = index > 0 && tokens[index - 1].text == "\n";
        if !line.is_empty() && !is_break && (!token.is_glued || after_break) {
            line.push(' ');
        }
        line.push_str(if is_break { ";" } else { token.text });
        let opens = ["then", "do", "else", "in", "if", "while", "until", "{", "!"];
        is_open = match token.kind {
            Kind::Operator => token.text != ")",
            Kind::Word => opens.contains(&token.text),
            Kind::Redirection => false,
        };
    }
    line
}

/// The command on one line, as people copy it: where a quoted word has line breaks, `printf` makes them. None where one
/// is quoted in another way.
pub fn on_one_line(command: &str) -> Option<Cow<'_, str>> {
    if !command.contains('\n') {
        return Some(Cow::Borrowed(command));
    }
    let tokens = tokens(command)?;
    let texts = tokens.iter().map(|token| match token.kind {
        Kind::Word => word_on_one_line(token.text),
        Kind::Redirection | Kind::Operator => Some(Cow::Borrowed(token.text)),
    });
    let texts: Vec<Cow<'_, str>> = texts.collect::<Option<_>>()?;
    let on_line = tokens
        .iter()
        .zip(&texts)
        .map(|(token, text)| Token { text, ..*token });
    Some(Cow::Owned(written(&on_line.collect::<Vec<_>>())))
}

/// `"$(printf '%b' 'import os\nos.getcwd()')"`, of a word whose last part is quoted. The shell leaves out the breaks at its
/// end.
fn word_on_one_line(word: &str) -> Option<Cow<'_, str>> {
    if !word.contains('\n') {
        return Some(Cow::Borrowed(word));
    }
    let (before, rest) = word.split_at(word.find(['\'', '"'])?);
    let quote = &rest[..1];
    let text = rest[1..].strip_suffix(quote)?;
    // Between double quotes the shell reads more than the text.
    let is_plain = !text.contains(if quote == "'" {
        &['\''][..]
    } else {
        &['"', '$', '`', '\\']
    });
    let text = text
        .trim_end_matches('\n')
        .replace('\\', r"\\")
        .replace('\n', r"\n");
    let text = text.replace('\'', r"'\''");
    (is_plain && !before.contains('\n'))
        .then(|| Cow::Owned(format!("{before}\"$(printf '%b' '{text}')\"")))
}

/// Programs that do nothing but handle the files they are given.
const OF_FILES: [&str; 14] = [
    "[", "cat", "cd", "cp", "find", "install", "ln", "ls", "mkdir", "mv", "rm", "tee", "test",
    "touch",
];

/// The tokens without what only makes a command write a report for Loopgate; every operator stays. None where a command
/// would not be what it was: it does something else with the report.
pub fn without_reports<'c>(tokens: &[Token<'c>]) -> Option<Vec<Token<'c>>> {
    let mut kept = Vec::new();
    for command in tokens.chunk_by(|_, next| next.kind != Kind::Operator) {
        let (operator, words) = match command {
            [first, words @ ..] if first.kind == Kind::Operator => (Some(*first), words),
            words => (None, words),
        };
        kept.extend(operator);
        kept.extend(without_report(words)?);
    }
    Some(kept)
}

fn without_report<'c>(words: &[Token<'c>]) -> Option<Vec<Token<'c>>> {
    let is_of_report = |token: &Token<'_>| token.text.contains(REPORTS_VARIABLE);
    if !words.iter().any(is_of_report) {
        return Some(words.to_vec());
    }
    let mut kept: Vec<Token<'c>> = Vec::new();
    for token in words {
        if is_of_report(token) {
            leave_out(token, &mut kept)?;
        } else {
            kept.push(*token);
        }
    }
    let only_for_reports = pattern!(
        "^(?:--json|--format=json|--reporter=default|--reporter=junit|--reporter|xunit|--reporter-option)$"
    );
    kept.retain(|token| !only_for_reports.is_match(token.text));
    kept.pop_if(|last| last.text == "--");
    kept.iter().any(is_program).then_some(kept)
}

/// Leaves out a word that names the reports, with the option or the redirection that it belongs to.
fn leave_out<'c>(token: &Token<'c>, kept: &mut Vec<Token<'c>>) -> Option<()> {
    // A line of its own within the word: `sh -c "…"`.
    if token.text.contains([' ', '\t', '\n', '`']) || token.text.contains("$(") {
        return None;
    }
    if kept
        .pop_if(|before| before.kind == Kind::Redirection)
        .is_some()
    {
        return Some(());
    }
    let program = kept.iter().find(|token| is_program(token));
    let Some(program) = program else {
        return is_assignment(token.text).then_some(());
    };
    let name = program.text.rsplit('/').next().unwrap_or(program.text);
    let is_value = |before: &mut Token<'_>| {
        let text = before.text;
        text.starts_with('-') && text != "--" && !text.contains('=')
    };
    let is_left_out = token.text.starts_with('-') || kept.pop_if(is_value).is_some();
    (is_left_out && !OF_FILES.contains(&name)).then_some(())
}

fn is_program(token: &Token<'_>) -> bool {
    token.kind == Kind::Word && !is_assignment(token.text)
}

/// `CI=1`, in front of a program.
fn is_assignment(text: &str) -> bool {
    pattern!("^[A-Za-z_][A-Za-z0-9_]*=").is_match(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn typed(command: &str) -> Option<String> {
        Some(written(&without_reports(&tokens(command)?)?))
    }

    #[test]
    fn words_go_and_commands_stay_apart() {
        let cases = [
            (
                "pytest --junitxml=$LOOPGATE_REPORTS/p.xml; make lint",
                Some("pytest; make lint"),
            ),
            ("a --out \"$LOOPGATE_REPORTS/a.xml\" && b", Some("a && b")),
            ("a > $LOOPGATE_REPORTS/a.xml || exit 1", Some("a || exit 1")),
            ("a 2>&1 >${LOOPGATE_REPORTS}/a.xml|b", Some("a 2>&1|b")),
            ("OUT=$LOOPGATE_REPORTS CI=1 jest", Some("CI=1 jest")),
            (
                "(cd web && jest --outputFile=$LOOPGATE_REPORTS/j.json)",
                Some("(cd web && jest)"),
            ),
            ("npm ci\nnpm test # all\n", Some("npm ci; npm test")),
            (
                "if a\nthen\n  b\nfi &&\nc \\\n  d",
                Some("if a; then b; fi && c d"),
            ),
            (
                "echo 'a;  b' \"c && $(d | e)\"",
                Some("echo 'a;  b' \"c && $(d | e)\""),
            ),
            // What is left would be another command.
            ("cp j.xml $LOOPGATE_REPORTS/; exit 1", None),
            ("mkdir -p $LOOPGATE_REPORTS && pytest", None),
            ("rm -rf $LOOPGATE_REPORTS/*; pytest", None),
            ("sh -c \"pytest --junitxml=$LOOPGATE_REPORTS/p.xml\"", None),
            ("> $LOOPGATE_REPORTS/x; a", None),
            ("a | tee $LOOPGATE_REPORTS/log", None),
            ("a 'not closed", None),
            ("cat <<E\na\nE", None),
        ];
        for (command, expected) in cases {
            assert_eq!(typed(command).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn a_word_with_line_breaks_is_written_on_one_line() {
        let cases = [
            ("pytest -x", Some("pytest -x")),
            (
                "python -c '\nimport re\nre.match(\"\\\\d\", x)\n' && b",
                Some(r#"python -c "$(printf '%b' '\nimport re\nre.match("\\\\d", x)')" && b"#),
            ),
            (
                "node --eval=\"a('b')\nc  d\"\npytest",
                Some(r#"node --eval="$(printf '%b' 'a('\''b'\'')\nc  d')"; pytest"#),
            ),
            ("node -e \"a\n$B\"", None),
            ("node -e 'a\n'\"b\"", None),
            ("a 'not\nclosed", None),
        ];
        for (command, expected) in cases {
            assert_eq!(on_one_line(command).as_deref(), expected, "{command}");
        }
    }

    fn operators(command: &str) -> Vec<String> {
        let tokens = tokens(command).expect("it can be read");
        let of = |kind| {
            let found = tokens.iter().filter(move |token| token.kind == kind);
            found.map(|token| token.text.replace('\n', ";"))
        };
        of(Kind::Operator).collect()
    }

    fn a_word() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z./=-]{1,6}",
            "'[ -&(-~]{0,6}'",
            "\"[a-z ;&|]{0,6}\"",
            Just("\\;".to_owned()),
            Just("$(a; b)".to_owned()),
            Just("--out=$LOOPGATE_REPORTS/x".to_owned()),
            Just("--out $LOOPGATE_REPORTS/x".to_owned()),
            Just("> \"$LOOPGATE_REPORTS/x y\"".to_owned()),
            Just(">$LOOPGATE_REPORTS/x".to_owned()),
            Just("$LOOPGATE_REPORTS".to_owned()),
            Just("2>&1".to_owned()),
        ]
    }

    fn a_command() -> impl Strategy<Value = String> {
        prop::collection::vec(a_word(), 0..5).prop_map(|words| format!("run {}", words.join(" ")))
    }

    fn a_line() -> impl Strategy<Value = String> {
        let separator = prop::sample::select(vec![";", " && ", "||", " | ", "&", "\n", " ;; "]);
        let more = prop::collection::vec((separator, a_command()), 0..5);
        (a_command(), more).prop_map(|(first, more)| {
            let more: String = more
                .into_iter()
                .flat_map(|(between, command)| [between.to_owned(), command])
                .collect();
            first + &more
        })
    }

    /// What the tokens say, but for what ends commands.
    fn texts(tokens: &[Token<'_>]) -> Vec<String> {
        let texts = tokens.iter().map(|token| token.text.to_owned());
        texts
            .filter(|text| !["\n", ";"].contains(&text.as_str()))
            .collect()
    }

    proptest! {
        #[test]
        fn every_operator_survives(line in a_line()) {
            if let Some(typed) = typed(&line) {
                prop_assert_eq!(operators(&line), operators(&typed), "{}", typed);
                prop_assert!(!typed.contains(REPORTS_VARIABLE));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[ -~\n\t\\\\]{0,60}") {
            if let Some(tokens) = tokens(&text) {
                let line = written(&tokens);
                let again = super::tokens(&line).map(|again| texts(&again));
                prop_assert_eq!(again, Some(texts(&tokens)), "{}", line);
            }
        }
    }
}
