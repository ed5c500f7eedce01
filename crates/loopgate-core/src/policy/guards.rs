//! The parts of a line in which a guard stands: what is called, what decorates, and what is handed to a call that puts it
//! before others.

use std::collections::BTreeSet;

/// What a program does with a thing that judges: the thing's own name counts beside it.
const JUDGES: [&str; 12] = [
    "verify", "check", "validate", "require", "ensure", "assert", "protect", "parse", "decode",
    "enforce", "can", "guard",
];

/// Words before the name of a function that begins.
const DECLARES: [&str; 8] = [
    "def", "defp", "fn", "func", "fun", "function", "sub", "proc",
];

/// The parts of a line. `through` are the names, in lower case, of calls and keys that put what follows before others:
/// `use`, `before_action`.
pub(crate) fn guarding_parts(line: &str, through: &BTreeSet<String>) -> String {
    let line = line.trim_start();
    if line.starts_with(['@', '[']) || line.starts_with("#[") {
        return line.to_owned();
    }
    let mut parts = Vec::new();
    for name in pattern!(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*").find_iter(line)
    {
        let rest = &line[name.end()..];
        let last = name
            .as_str()
            .rsplit(['.', ':', '>'])
            .next()
            .unwrap_or_default();
        // What is declared is not called.
        let before = line[..name.start()].split_whitespace().next_back();
        let is_declared = before.is_some_and(|word| DECLARES.contains(&word));
        let is_call = !is_declared && rest.trim_start_matches('!').starts_with('(');
        if through.contains(&last.to_lowercase()) && hands_over(rest) {
            parts.push(rest);
            break;
        }
        if is_call {
            let judges = JUDGES
                .iter()
                .any(|verb| last.to_lowercase().starts_with(verb));
            parts.push(if judges { name.as_str() } else { last });
        }
    }
    parts.join(" ; ")
}

/// Whether a name is followed by what it is given: an argument, a list, or a symbol.
fn hands_over(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['!', '?', '"', '\'']).trim_start();
    rest.starts_with(['(', ':', '=', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_decorates_or_is_handed_on_is_a_part() {
        let through = BTreeSet::from(["use", "depends", "before_action"].map(str::to_owned));
        for (line, parts) in [
            ("@jwt_required()", "@jwt_required()"),
            ("    check_admin_referer('save');", "check_admin_referer"),
            ("    admin.site.register(Order)", "register"),
            ("    jwt.verify(text)", "jwt.verify"),
            ("    r.Use(mw.Auth)", "(mw.Auth)"),
            ("  before_action :require_user", " :require_user"),
            ("def a(u=Depends(get_user)):", "(get_user)):"),
            ("    const role = user.role;", ""),
            ("use crate::auth;", ""),
        ] {
            assert_eq!(guarding_parts(line, &through), parts, "{line}");
        }
    }
}
