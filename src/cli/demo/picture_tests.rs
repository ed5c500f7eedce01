//! The picture of README.md: the status comment of the demo's second pull request, drawn as a page of GitHub's draws
//! it.
//!
//! `INSTA_UPDATE=always cargo test --lib picture` draws it again.

use std::fmt::Write as _;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use regex::Regex;

use super::{
    DemoWorld,
    narrator::Narrator,
    story::{status, until_it_fails_again},
};
use crate::render::folded;

const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/status-comment.svg");

#[tokio::test(flavor = "multi_thread")]
async fn the_picture_in_the_readme_is_of_the_demos_status_comment() {
    let demo_world = DemoWorld::open(None).await.unwrap();
    let pull = until_it_fails_again(&demo_world, Narrator::new(None))
        .await
        .unwrap()
        .pull()
        .unwrap();
    demo_world.close().await;
    let drawn = drawn(&folded(status(&pull)));
    // Commits of the story are made now, and have other names in each run.
    let commits = Regex::new("<code>[0-9a-f]{8}</code>").unwrap();
    let unnamed = |picture: &str| {
        commits
            .replace_all(picture, "<code>commit</code>")
            .into_owned()
    };
    let kept = std::fs::read_to_string(PICTURE).unwrap_or_default();
    if unnamed(&kept) != unnamed(&drawn) {
        loopgate_written::assert_written(PICTURE, &drawn);
    }
}

fn drawn(comment: &str) -> String {
    let mut body = String::new();
    for event in Parser::new(comment) {
        match event {
            Event::Start(tag) => body += start(&tag),
            Event::End(tag) => body += end(tag),
            Event::Text(text) => body += &escaped(&text),
            Event::Code(code) => write!(body, "<code>{}</code>", escaped(&code)).unwrap(),
            Event::InlineHtml(html) => body += &html,
            Event::SoftBreak | Event::HardBreak => body += "<br/>",
            _ => {}
        }
    }
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="860" height="560" viewBox="0 0 860 560">
<style>
.page {{ font: 14px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; color: #1f2328; }}
.head {{ background: #f6f8fa; border: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; padding: 8px 16px; color: #59636e; }}
.body {{ background: #fff; border: 1px solid #d1d9e0; border-top: 0; border-radius: 0 0 6px 6px; padding: 4px 16px 8px; }}
.page h3 {{ font-size: 17px; margin: 10px 0 12px; }}
.page p, .page ul, .page pre {{ margin: 0 0 10px; }}
.page ul {{ padding-left: 28px; }}
.page a {{ color: #0969da; }}
.page code, .page pre {{ font: 12px/1.45 ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, monospace; background: #eff1f3; border-radius: 6px; }}
.page code {{ padding: 2px 5px; }}
.page pre {{ padding: 10px 14px; background: #f6f8fa; }}
.page sub {{ font-size: 11px; color: #59636e; }}
.bot {{ border: 1px solid #d1d9e0; border-radius: 10px; padding: 0 6px; font-size: 11px; }}
</style>
<foreignObject x="0" y="0" width="860" height="560">
<div xmlns="http://www.w3.org/1999/xhtml" class="page">
<div class="head"><b style="color:#1f2328">loopgate</b> <span class="bot">bot</span> commented</div>
<div class="body">
{body}</div>
</div>
</foreignObject>
</svg>
"##
    )
}

fn start(tag: &Tag<'_>) -> &'static str {
    match tag {
        Tag::Heading { .. } => "<h3>",
        Tag::Paragraph => "<p>",
        Tag::List(_) => "<ul>",
        Tag::Item => "<li>",
        Tag::Strong => "<b>",
        Tag::Link { .. } => "<a>",
        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => "<pre>",
        Tag::HtmlBlock => "",
        other => panic!("a status comment has no {other:?} so far"),
    }
}

fn end(tag: TagEnd) -> &'static str {
    match tag {
        TagEnd::Heading(_) => "</h3>\n",
        TagEnd::Paragraph => "</p>\n",
        TagEnd::List(_) => "</ul>\n",
        TagEnd::Item => "</li>\n",
        TagEnd::Strong => "</b>",
        TagEnd::Link => "</a>",
        TagEnd::CodeBlock => "</pre>\n",
        _ => "",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
