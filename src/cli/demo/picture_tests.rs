//! The picture of README.md: the status comment of the demo's second pull request, drawn as a page of GitHub's draws
//! it, in the light and the dark of whoever looks.
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
use loopgate_render::folded;

/// Small enough that a phone shows letters that can be read.
const WIDTH: usize = 680;
/// Characters that a line of the picture holds, in the widest of its fonts.
const CHARACTERS: usize = 80;
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
    let height = height(&body);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">
<style>
.page {{ --text: #1f2328; --muted: #59636e; --line: #d1d9e0; --head: #f6f8fa; --body: #fff; --link: #0969da; --code: #eff1f3; }}
@media (prefers-color-scheme: dark) {{
.page {{ --text: #f0f6fc; --muted: #9198a1; --line: #3d444d; --head: #151b23; --body: #0d1117; --link: #4493f8; --code: #262c36; }}
}}
.page {{ font: 15px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; color: var(--text); }}
.head {{ background: var(--head); border: 1px solid var(--line); border-radius: 6px 6px 0 0; padding: 8px 16px; color: var(--muted); }}
.head b {{ color: var(--text); }}
.body {{ background: var(--body); border: 1px solid var(--line); border-top: 0; border-radius: 0 0 6px 6px; padding: 4px 16px 8px; }}
.page h3 {{ font-size: 17px; margin: 10px 0 12px; }}
.page p, .page ul, .page pre {{ margin: 0 0 10px; }}
.page ul {{ padding-left: 28px; }}
.page a {{ color: var(--link); }}
.page code, .page pre {{ font: 13px/1.45 ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, monospace; background: var(--code); border-radius: 6px; }}
.page code {{ padding: 2px 5px; }}
.page pre {{ padding: 10px 14px; }}
.page sub {{ font-size: 12px; color: var(--muted); }}
.bot {{ border: 1px solid var(--line); border-radius: 10px; padding: 0 6px; font-size: 12px; }}
</style>
<foreignObject x="0" y="0" width="{WIDTH}" height="{height}">
<div xmlns="http://www.w3.org/1999/xhtml" class="page">
<div class="head"><b>loopgate</b> <span class="bot">bot</span> commented</div>
<div class="body">
{body}</div>
</div>
</foreignObject>
</svg>
"##
    )
}

/// Pixels that a body takes with the head above it: what the style says of each block and line. A picture in a page has a
/// fixed height.
fn height(body: &str) -> usize {
    let times = |tag: &str| body.matches(tag).count();
    let code = body.split("<pre>").skip(1);
    let code = code.filter_map(|rest| rest.split("</pre>").next());
    let lines_of_code: usize = code.map(|code| code.lines().count()).sum();
    let tag = Regex::new("<[^>]*>").unwrap();
    let wrapped = |line: &str| tag.replace_all(line, "").chars().count() / CHARACTERS;
    let wrapped: usize = body.lines().map(wrapped).sum();
    62 + 48 * times("<h3>")
        + 33 * times("<p>")
        + 10 * times("<ul>")
        + 23 * (times("<li>") + wrapped)
        + 30 * times("<pre>")
        + 19 * lines_of_code
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
