//! lcov tracefiles: `SF:` a file, `DA:` its lines, `end_of_record`. Functions and branches are passed over.

use crate::{Collector, Mark, Unreadable, Window, each_line, numbers};

pub(super) const MARK: Mark = Mark::Line(|line| line.starts_with("TN:") || line.starts_with("SF:"));

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.coverage.expected = true;
    let mut open: Option<String> = None;
    let (mut covered, mut total) = (0, 0);
    each_line(window, out, |line, out| {
        let line = line.trim();
        if let Some(path) = line.strip_prefix("SF:") {
            out.coverage.file(path);
            open = Some(path.to_owned());
        } else if let Some(data) = line.strip_prefix("DA:") {
            let data = line_data(data).filter(|_| open.is_some());
            return data
                .map(|(line, hits)| out.coverage.line(line, hits))
                .is_some();
        } else if let Some(lines) = line.strip_prefix("LF:").filter(|_| open.is_some()) {
            total = numbers::count(lines.trim()).unwrap_or(0);
        } else if let Some(lines) = line.strip_prefix("LH:").filter(|_| open.is_some()) {
            covered = numbers::count(lines.trim()).unwrap_or(0);
        } else if line == "end_of_record" {
            out.coverage.counter(covered, total);
            (covered, total, open) = (0, 0, None);
        }
        true
    })?;
    match open {
        Some(path) => Err(Unreadable::CutShort {
            place: format!("the record of {path}"),
        }),
        None => Ok(()),
    }
}

/// `12,3` or `12,3,checksum`. Tools that lost count write a negative one, which proves nothing was run.
fn line_data(data: &str) -> Option<(u32, u64)> {
    let mut fields = data.split(',');
    let line = numbers::line(fields.next()?)?;
    let hits = fields.next()?.trim();
    let hits = if hits.starts_with('-') && hits.len() > 1 {
        0
    } else {
        numbers::count(hits).ok()?
    };
    Some((line, hits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let table = [
            ("12,3", Some((12, 3))),
            ("12,0,abc", Some((12, 0))),
            ("12,-1", Some((12, 0))),
            ("12,1e3", Some((12, 1000))),
            ("0,1", None),
            ("12", None),
            ("12,-", None),
            ("x,1", None),
        ];
        for (data, expected) in table {
            assert_eq!(line_data(data), expected, "{data}");
        }
    }
}
