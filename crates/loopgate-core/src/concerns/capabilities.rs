//! Capabilities: the task list under a `Capabilities` heading of the pull request's body.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::{state::CapabilityProgress, text};

/// Longest name shown, in characters; names come from the author.
const NAME_LIMIT: usize = 100;
/// Most items read.
const ITEM_LIMIT: usize = 200;

/// Reads the task-list items between a heading called `Capabilities` (any level, any case) and the next heading.
///
/// ```
/// let progress = loopgate_core::concerns::capabilities::read("## Capabilities\n- [x] parse\n- [ ] render\n- [ ] save\n");
/// assert_eq!((progress.total, progress.completed), (3, 1));
/// assert_eq!(progress.current.as_deref(), Some("render"));
/// ```
pub fn read(body: &str) -> CapabilityProgress {
    let mut progress = CapabilityProgress::default();
    let mut heading: Option<String> = None;
    let mut under_heading = false;
    // The task item being read: ticked or not, and its text so far.
    let mut item: Option<(bool, String)> = None;
    for event in Parser::new_ext(body, Options::ENABLE_TASKLISTS) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let title = heading.take().unwrap_or_default();
                under_heading = title
                    .trim()
                    .trim_end_matches(':')
                    .eq_ignore_ascii_case("capabilities");
            }
            Event::TaskListMarker(ticked) if under_heading => {
                item = Some((ticked, String::new()));
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                } else if let Some((_, name)) = &mut item {
                    name.push_str(&text);
                }
            }
            // An item ends with its text: what is nested below it is an item of its own.
            Event::End(TagEnd::Item | TagEnd::Paragraph)
            | Event::Start(Tag::List(_))
            | Event::SoftBreak => {
                if let Some((is_ticked, name)) = item.take().filter(|_| progress.total < ITEM_LIMIT)
                {
                    progress.total += 1;
                    progress.completed += usize::from(is_ticked);
                    progress
                        .remaining
                        .extend((!is_ticked).then(|| text::start(name.trim(), NAME_LIMIT)));
                }
            }
            _ => {}
        }
    }
    progress.current = (!progress.remaining.is_empty()).then(|| progress.remaining.remove(0));
    progress
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_task_items_under_the_heading_count() {
        let table = [
            ("", 0, 0, None),
            ("- [ ] template box\n", 0, 0, None),
            ("# capabilities:\n\n- [ ] one\n- plain\n", 1, 0, Some("one")),
            (
                "## Capabilities\n- [x] a\n- [X] b\n\n## Checklist\n- [ ] read the guide\n",
                2,
                2,
                None,
            ),
            (
                "## Capabilities\n- [x] a\n  - [ ] nested `b`\n- [ ] c\n",
                3,
                1,
                Some("nested b"),
            ),
            ("```\n## Capabilities\n- [ ] in code\n```\n", 0, 0, None),
        ];
        for (body, total, completed, current) in table {
            let got = read(body);
            assert_eq!(
                (got.total, got.completed, got.current.as_deref()),
                (total, completed, current),
                "{body}"
            );
            let after = total - completed - usize::from(current.is_some());
            assert_eq!(
                got.remaining.len(),
                after,
                "what comes after the current one: {body}"
            );
        }
    }
}
