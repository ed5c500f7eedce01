//! Names of partners, `config/presets/partners.txt`, where the presets ask for them.

const NAMES: &str = include_str!("../../../config/presets/partners.txt");

/// What stands for a partner, by how sure its name is.
#[derive(Default)]
struct Partners {
    /// Mean the partner wherever they stand.
    sure: Vec<&'static str>,
    /// Mean the partner in paths. In lines they are also words of another sense.
    in_paths: Vec<&'static str>,
    /// Ordinary words, which count only with one of the roles behind them.
    ordinary: Vec<&'static str>,
    /// `client`, `api`, ...
    roles: Vec<&'static str>,
}

impl Partners {
    fn read(names: &'static str) -> Self {
        let mut all = Self::default();
        for line in names.lines().filter(|line| !line.starts_with('#')) {
            let (list, names) = match line.split_once(": ") {
                Some(("paths", names)) => (&mut all.in_paths, names),
                Some(("ordinary", names)) => (&mut all.ordinary, names),
                Some(("roles", names)) => (&mut all.roles, names),
                _ => (&mut all.sure, line),
            };
            list.extend(names.split(',').map(str::trim).filter(|name| !name.is_empty()));
        }
        all
    }

    fn named_in(&self, presets: &str) -> String {
        let sure = written(&self.sure);
        let ordinary = written(&self.ordinary);
        let with_roles = ordinary.iter().flat_map(|name| self.roles.iter().map(move |role| format!("{name} {role}")));
        let words: Vec<String> = sure.iter().cloned().chain(written(&self.in_paths)).chain(with_roles).collect();
        let less_sure = [written(&self.in_paths), ordinary.clone()].concat();
        presets
            .replace("<words of partners>", &words.join(", "))
            .replace("<partners>", &sure.join("|"))
            .replace("<ordinary partners>", &less_sure.join("|"))
            .replace("<roles of partners>", &self.roles.join("|"))
    }
}

/// Each name as words in lower case write it: `pay-pal` is `paypal` and `pay pal`.
fn written(names: &[&str]) -> Vec<String> {
    let both = |name: &&str| {
        let joined = name.contains('-').then(|| name.replace('-', ""));
        joined.into_iter().chain([name.replace('-', " ")]).collect::<Vec<_>>()
    };
    names.iter().flat_map(both).collect()
}

/// The presets with the names in their places.
pub(super) fn named_in(presets: &str) -> String {
    Partners::read(NAMES).named_in(presets)
}
