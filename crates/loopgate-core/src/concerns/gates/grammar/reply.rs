//! Quoted e-mails without quote marks: what some mail programs append below an answer sent by e-mail.
//!
//! After a line that introduces a quoted mail, the rest is somebody else's words. When a Markdown quote follows that
//! line, the quote is the quoted mail, and what comes after it is the writer's own.

use super::visible::VisibleLine;
use crate::concerns::gates::report::Inside;

/// How many lines an introduction may be wrapped over.
const WRAPPED: usize = 3;

/// Marks every line of a quoted mail.
pub(super) fn mark(lines: &mut [VisibleLine]) {
    let quoted_from =
        (0..lines.len()).find_map(|at| introduced(&lines[at..]).map(|length| at + length));
    for line in lines.iter_mut().skip(quoted_from.unwrap_or(usize::MAX)) {
        if line.alien.is_none_or(|(at, _)| at > 0) {
            line.alien = Some((0, Inside::EmailReply));
        }
    }
}

/// The number of lines that introduce a quoted mail here, if any do and no Markdown quote follows them.
///
/// "On Mon, 16 Nov 2026 at 10:00, Alice <…> wrote:" in the languages mail programs most often speak, with a mail
/// address or a date; German may put the name after the verb. "-----Original Message-----" and its like. "From: …" with
/// another header below it.
fn introduced(lines: &[VisibleLine]) -> Option<usize> {
    let form = pattern!(
        r"(?isx) \A\s* (?:
            (?: on\s.*[\d@].*wrote | am\s.*[\d@].*schrieb.* | am\s.*schrieb.*[\d@].* | le\s.*[\d@].*écrit\s
              | el\s.*[\d@].*escribió | il\s.*[\d@].*scritto | em\s.*[\d@].*escreveu | op\s.*[\d@].*schreef ) :\s*\z
          | [-—–_][-—–_\ ]* (?: original\ message | forwarded\ message | ursprüngliche\ nachricht
              | message\ d'origine | mensaje\ original ) [-—–_\ ]*\s*\z
          | (?: from | von | de | da | van ): [^\n]*\n
              \s* (?: sent | date | to | subject | cc | gesendet | an | betreff | envoyé\ | objet\ ): )"
    );
    let mut joined = String::new();
    let last = lines.iter().take(WRAPPED).position(|line| {
        joined.push_str(&line.text);
        joined.push('\n');
        form.is_match(&joined)
    })?;
    let quote_follows = lines
        .get(last + 1)
        .is_some_and(|next| next.wholly_inside() == Some(Inside::Quote));
    (!quote_follows).then_some(last + 1)
}

#[cfg(test)]
mod tests {
    use super::{super::visible::lines, mark};

    fn own(body: &str) -> Vec<String> {
        let mut lines = lines(body);
        mark(&mut lines);
        lines
            .into_iter()
            .filter(|line| line.alien.is_none())
            .map(|line| line.text)
            .collect()
    }

    #[test]
    fn what_follows_an_introduction_is_quoted() {
        for introduction in [
            "On Mon, Nov 16, 2026 at 10:00 AM Alice Example <notifications@example.com> wrote:",
            "On Mon, Nov 16, 2026 at 10:00 AM Alice Example <\nnotifications@example.com> wrote:",
            "On 16/11/2026 10:00, Alice wrote:",
            "Am 16.11.2026 um 10:00 schrieb Alice:",
            "Le 16 nov. 2026 à 10:00, Alice a écrit :",
            "-----Original Message-----",
            "---------- Forwarded message ---------",
            "From: Alice\nSent: Monday\nTo: Bob\nSubject: Re: x",
        ] {
            let body = format!("thanks\n\n{introduction}\n\nsecurity approved\n\nmore");
            let own = own(&body);
            assert!(
                !own.iter()
                    .any(|line| line.contains("approved") || line == "more"),
                "{introduction}: {own:?}"
            );
            assert_eq!(own.first().map(String::as_str), Some("thanks"));
        }
    }

    #[test]
    fn an_answer_below_a_marked_quote_is_the_writers_own() {
        assert_eq!(
            own("On 16/11/2026, Alice wrote:\n> what about it?\n\nsecurity approved")
                .last()
                .unwrap(),
            "security approved"
        );
    }

    #[test]
    fn prose_is_not_an_introduction() {
        for prose in [
            "On Monday I wrote:",
            "From: here to there",
            "On 3 machines it works",
            "From: x\nthen: y",
            "---\n\nx",
        ] {
            assert!(
                own(&format!("{prose}\n\nsecurity approved"))
                    .contains(&"security approved".to_owned()),
                "{prose}"
            );
        }
    }
}
