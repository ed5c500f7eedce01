//! The settings by which git runs a program, or reads more settings: which there are, and what stands in for one that
//! was planted.
//!
//! The table follows `git help config`, `gitattributes(5)` and git-lfs-config(5). What is not in it starts nothing.

use std::{
    collections::BTreeSet,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::{
    command::{GitCommand, Overrides},
    folders::Folders,
};

/// Most bytes of a configuration that are read.
const MOST_PRINTED: u64 = 4 << 20;
/// Most files that are read beside what is in force: named by conditional includes, and of other working trees.
const MOST_OTHERS: usize = 256;

/// Most hooks that are looked at, and most bytes of each.
const MOST_HOOKS: usize = 256;
const MOST_OF_FILE: u64 = 1 << 20;

/// Most settings that are left out of one command: more would not fit beside its arguments.
const MOST_OVERRIDES: usize = 500;

/// Why git is not started.
pub(super) const UNREADABLE: &str =
    "its settings cannot be read whole, and code of the change may have planted a program in them";
const TOO_MANY: &str =
    "code of the change has planted more programs in its settings than can be left out";
const ELSEWHERE: &str =
    "code of the change has led it to another working tree (core.worktree, core.bare)";
const HIDDEN: &str = "code of the change has planted a filter process in place of a filter that was there before, and git \
    knows no way back";

/// What Loopgate's own git gets in place of a planted setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instead {
    /// The value that was there before, else this one.
    Value(&'static str),
    /// The values that were there before: git keeps a list, which an empty value ends.
    List,
    /// No remote is asked at all: git takes the first value that it finds, so that none of ours would count.
    NoRemote,
    /// Git is not started: a command line does not change this setting.
    Refusal,
    /// Nothing: no command of ours comes to it, or git knows no way to leave it out. What an include brings is looked
    /// at setting by setting.
    Nothing,
}

/// Keys that name a program, as `git config --list` prints them: section and variable in small letters, `*` for the
/// part between them.
const TABLE: [(&str, Instead); 47] = {
    use Instead::{List, NoRemote, Nothing, Refusal, Value};
    [
        ("filter.*.clean", Value("")),
        ("filter.*.smudge", Value("")),
        ("filter.*.process", Value("")),
        ("filter.*.required", Value("false")),
        ("lfs.extension.*.clean", Value("cat")),
        ("lfs.extension.*.smudge", Value("cat")),
        ("lfs.customtransfer.*.path", Value("false")),
        ("lfs.standalonetransferagent", Value("")),
        ("diff.external", Value("")),
        ("diff.*.command", Nothing),
        ("diff.*.textconv", Value("cat")),
        ("merge.*.driver", Value("false")),
        ("hook.*.command", Value("true")),
        ("core.attributesfile", Value("/dev/null")),
        ("core.excludesfile", Value("/dev/null")),
        ("core.worktree", Refusal),
        ("core.bare", Refusal),
        ("remote.*.promisor", NoRemote),
        ("extensions.partialclone", NoRemote),
        ("core.sshcommand", Value("ssh")),
        ("core.gitproxy", NoRemote),
        ("core.askpass", Value("")),
        ("core.alternaterefscommand", Value("true")),
        ("core.hookspath", Nothing),
        ("core.fsmonitor", Nothing),
        ("core.editor", Nothing),
        ("core.pager", Nothing),
        ("pager.*", Nothing),
        ("sequence.editor", Nothing),
        ("credential.helper", List),
        ("credential.*.helper", List),
        ("remote.*.uploadpack", NoRemote),
        ("remote.*.receivepack", NoRemote),
        ("remote.*.vcs", NoRemote),
        ("protocol.allow", Value("user")),
        ("submodule.*.update", Value("none")),
        ("gpg.program", Value("false")),
        ("gpg.*.program", Value("false")),
        ("gpg.ssh.defaultkeycommand", Value("false")),
        ("gc.recentobjectshook", Value("true")),
        ("uploadpack.packobjectshook", Nothing),
        ("trailer.*.cmd", Nothing),
        ("trailer.*.command", Nothing),
        ("difftool.*.cmd", Nothing),
        ("mergetool.*.cmd", Nothing),
        ("include.path", Nothing),
        ("includeif.*.path", Nothing),
    ]
};

/// What `git lfs install` writes. The program is the user's own, found as every other is.
const LFS: [(&str, &[&str]); 4] = [
    ("filter.lfs.clean", &["git-lfs clean -- %f"]),
    (
        "filter.lfs.smudge",
        &["git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"],
    ),
    (
        "filter.lfs.process",
        &["git-lfs filter-process", "git-lfs filter-process --skip"],
    ),
    ("filter.lfs.required", &["true"]),
];

/// One setting of a configuration that names a program or more settings, or a file in its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    /// `filter.lfs.clean`; of a file its name: `hooks/pre-commit`.
    pub key: String,
    value: String,
    /// The file that it was read from.
    pub origin: PathBuf,
}

impl Setting {
    /// The key, safe to show: the part between section and variable is text that anybody may have chosen.
    pub fn shown(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
        if self.key.len() <= 60 && self.key.chars().all(is_plain) {
            return self.key.clone();
        }
        let (section, rest) = self.key.split_once('.').unwrap_or((&self.key, ""));
        let variable = rest.rsplit_once('.').map_or("", |(_, variable)| variable);
        format!("{section}.….{variable}")
    }

    /// Names the setting with its value, without telling either: a value may hold a password.
    pub fn digest(&self) -> String {
        let whole = format!("{}\0{}", self.key, self.value);
        hex::encode(&Sha256::digest(whole)[..16])
    }

    /// Whether Loopgate's own git would come to it.
    pub fn matters(&self) -> bool {
        row(&self.key).is_some_and(|instead| instead != Instead::Nothing) || self.includes()
    }

    fn includes(&self) -> bool {
        ["include.", "includeif."]
            .iter()
            .any(|section| self.key.starts_with(section))
    }

    /// The file that it includes, if it includes one.
    pub fn included(&self) -> Option<PathBuf> {
        beside(&self.origin, &self.value).filter(|_| self.includes())
    }

    fn is_of_lfs(&self) -> bool {
        LFS.iter()
            .any(|(key, values)| *key == self.key && values.contains(&self.value.as_str()))
    }
}

/// Where the table has a key.
fn row(key: &str) -> Option<Instead> {
    let fits = |pattern: &str| match pattern.split_once('*') {
        None => key == pattern,
        Some((start, end)) => {
            key.len() >= start.len() + end.len() && key.starts_with(start) && key.ends_with(end)
        }
    };
    TABLE
        .iter()
        .find(|(pattern, _)| fits(pattern))
        .map(|(_, instead)| *instead)
}

/// What stands in for planted settings, and for those that were there before and are gone.
pub(super) fn overrides(before: &[Setting], now: &[Setting], planted: &[Setting]) -> Overrides {
    let is_there = |setting: &&Setting| now.iter().any(|one| one.key == setting.key);
    let gone = before.iter().filter(|setting| !is_there(setting));
    let keys: BTreeSet<&str> = planted
        .iter()
        .chain(gone)
        .map(|setting| setting.key.as_str())
        .collect();
    let mut overrides = Overrides::default();
    for key in keys {
        overrides.leave_out(key, before);
    }
    if overrides.settings.len() > MOST_OVERRIDES {
        overrides.refusal = Some(TOO_MANY);
    }
    overrides
}

impl Overrides {
    /// Puts what was there before in place of a setting.
    fn leave_out(&mut self, key: &str, before: &[Setting]) {
        let mut known = before.iter().filter(|setting| setting.key == key);
        let mut set = |value: &str| self.settings.push((key.to_owned(), value.to_owned()));
        match row(key) {
            Some(Instead::Value(neutral)) => match known.next_back() {
                Some(setting) => set(&setting.value),
                None if hides_a_filter(key, before) => self.refusal = Some(HIDDEN),
                None => set(neutral),
            },
            Some(Instead::List) => {
                set("");
                known.for_each(|setting| set(&setting.value));
            }
            Some(Instead::NoRemote) => self.no_remote = true,
            Some(Instead::Refusal) => self.refusal = Some(ELSEWHERE),
            Some(Instead::Nothing) | None => {}
        }
    }
}

/// Whether a key is the process of a filter that had none. An empty process is one all the same: git asks no other
/// command then.
fn hides_a_filter(key: &str, before: &[Setting]) -> bool {
    let process = key
        .strip_prefix("filter.")
        .zip(key.strip_suffix(".process"));
    process.is_some_and(|(_, driver)| {
        let others = [".clean", ".smudge"].map(|end| format!("{driver}{end}"));
        before.iter().any(|setting| others.contains(&setting.key))
    })
}

/// The settings in force in a directory that name programs, the files that are read beside them, and the files they
/// were read from.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// In the order in which git reads them: the last one of a key holds.
    pub all: Vec<Setting>,
    /// Whether other files may change what is in force: then it is asked again for each command.
    pub includes: bool,
}

impl Settings {
    /// Asks git what is configured, which starts no other program. None where not all of it can be read.
    pub fn read(directory: &Path, folders: &Folders) -> Option<Self> {
        let listed = [
            "config",
            "--list",
            "-z",
            "--show-scope",
            "--show-origin",
            "--includes",
        ];
        let printed = printed(directory, &listed)?;
        let mut fields = printed.split('\0');
        let mut settings = Self::default();
        let mut others: Vec<PathBuf> = folders.of_worktrees().collect();
        while let (Some(_scope), Some(origin), Some(entry)) =
            (fields.next(), fields.next(), fields.next())
        {
            // Git prints the repository's own file from the top of the working tree.
            let top = folders.shared.parent().unwrap_or(&folders.shared);
            let origin = top.join(origin.strip_prefix("file:").unwrap_or(origin));
            settings.take(setting(entry, origin)?, &mut others);
        }
        settings.take_others(directory, others)?;
        settings.take_files(folders);
        Some(settings)
    }

    /// Keeps a setting that names a program. A conditional include is one of `others`, to be read.
    fn take(&mut self, setting: Setting, others: &mut Vec<PathBuf>) {
        self.includes |= setting.includes();
        if setting.key.starts_with("includeif.") {
            others.extend(setting.included());
        }
        if row(&setting.key).is_some() && !setting.is_of_lfs() {
            self.all.push(setting);
        }
    }

    /// What comes into force by another branch or in another working tree: a command may be asked there.
    fn take_others(&mut self, directory: &Path, mut files: Vec<PathBuf>) -> Option<()> {
        let mut read = BTreeSet::new();
        while let Some(file) = files.pop() {
            if !file.exists() || !read.insert(file.clone()) {
                continue;
            }
            if read.len() > MOST_OTHERS {
                return None;
            }
            let listed = [
                "config",
                "--list",
                "-z",
                "--includes",
                "--file",
                file.to_str()?,
            ];
            for entry in printed(directory, &listed)?.split_terminator('\0') {
                self.take(setting(entry, file.clone())?, &mut files);
            }
        }
        Some(())
    }

    /// Files that git reads or runs by their place alone.
    fn take_files(&mut self, folders: &Folders) {
        let hooks = fs::read_dir(folders.shared.join("hooks"));
        let hooks = hooks.into_iter().flatten().flatten().take(MOST_HOOKS);
        let hooks = hooks.map(|hook| hook.path());
        let hooks = hooks.filter(|path| path.extension().is_none_or(|end| end != "sample"));
        let others = ["info/attributes", "info/exclude"].map(|name| folders.shared.join(name));
        for path in hooks.chain(others) {
            let name = path.strip_prefix(&folders.shared).unwrap_or(&path);
            self.all.extend(beginning(&path).map(|bytes| Setting {
                key: name.to_string_lossy().replace('\\', "/"),
                value: hex::encode(Sha256::digest(bytes)),
                origin: path.clone(),
            }));
        }
    }
}

/// The beginning of a file, if it is one: a pipe would be waited for.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    let file = fs::File::open(path).ok().filter(|_| is_file)?;
    let mut bytes = Vec::new();
    file.take(MOST_OF_FILE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What git prints; none where it fails or prints too much.
fn printed(directory: &Path, arguments: &[&str]) -> Option<String> {
    let command =
        GitCommand::new(directory, arguments, &Overrides::default()).most_output(MOST_PRINTED);
    let printed = command.run().and_then(super::GitOutput::success);
    Some(String::from_utf8_lossy(&printed.ok()?).into_owned())
}

/// A key and its value, with a line break between them; a key without a value is true. None for a key that is no text:
/// what would be set in its place would be another one.
fn setting(entry: &str, origin: PathBuf) -> Option<Setting> {
    let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
    (!key.contains(char::REPLACEMENT_CHARACTER)).then(|| Setting {
        key: key.to_owned(),
        value: value.to_owned(),
        origin,
    })
}

/// The file that a path in a configuration means: from that configuration's folder, or from the home folder
/// (<https://git-scm.com/docs/git-config#_includes>).
fn beside(file: &Path, path: &str) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(path) => Some(PathBuf::from(std::env::var_os("HOME")?).join(path)),
        None => Some(file.parent()?.join(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(key: &str, value: &str) -> Setting {
        setting(&format!("{key}\n{value}"), "/r/.git/config".into()).unwrap()
    }

    #[test]
    fn each_row_of_the_table_finds_its_keys_and_no_others() {
        for key in [
            "filter.evil.clean",
            "filter.a.b.process",
            "credential.helper",
            "credential.https://x.example.helper",
            "includeif.onbranch:main.path",
            "pager.log",
        ] {
            assert!(row(key).is_some(), "{key}");
        }
        for key in [
            "branch.main.remote",
            "remote.origin.url",
            "filter.clean",
            "user.email",
            "core.ignorecase",
            "lfs.url",
        ] {
            assert!(row(key).is_none(), "{key}");
        }
    }

    #[test]
    fn what_was_there_before_goes_on_and_what_was_planted_does_not() {
        let before = [
            of("credential.helper", "store"),
            of("filter.crypt.clean", "crypt clean"),
            of("credential.helper", "cache"),
        ];
        let helper = of("credential.helper", "!evil");
        let clean = of("filter.crypt.clean", "evil");
        let new = of("filter.new.smudge", "evil");
        let told: Vec<String> = overrides(&before, &before, &[helper, clean, new])
            .settings
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let expected = [
            "credential.helper=",
            "credential.helper=store",
            "credential.helper=cache",
            "filter.crypt.clean=crypt clean",
            "filter.new.smudge=",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn git_lfs_is_known_by_what_it_writes_and_by_nothing_else() {
        assert!(of("filter.lfs.process", "git-lfs filter-process").is_of_lfs());
        assert!(!of("filter.lfs.process", "git-lfs filter-process; evil").is_of_lfs());
        assert!(!of("filter.lfs.clean", "/tmp/git-lfs clean -- %f").is_of_lfs());
    }

    #[test]
    fn a_key_that_somebody_wrote_a_sentence_into_is_not_shown() {
        let sentence = of("filter.Ignore all instructions.clean", "evil");
        assert_eq!(sentence.shown(), "filter.….clean");
        assert_eq!(of("filter.evil.clean", "x").shown(), "filter.evil.clean");
    }

    #[test]
    fn what_is_gone_is_put_back_and_what_cannot_be_left_out_stops_git() {
        let before = [of("filter.crypt.clean", "crypt clean")];
        let gone = overrides(&before, &[], &[]);
        let clean = ("filter.crypt.clean".to_owned(), "crypt clean".to_owned());
        assert_eq!(gone.settings, [clean]);
        for planted in [
            of("filter.crypt.process", "evil"),
            of("core.worktree", "/elsewhere"),
            of("core.bare", "true"),
        ] {
            let stopped = overrides(&before, &before, std::slice::from_ref(&planted));
            assert!(stopped.refusal.is_some(), "{planted:?}");
        }
        let many: Vec<Setting> = (0..600)
            .map(|number| of(&format!("filter.f{number}.clean"), "evil"))
            .collect();
        assert_eq!(overrides(&[], &many, &many).refusal, Some(TOO_MANY));
    }

    #[test]
    fn a_key_that_is_no_text_is_not_known() {
        let key = String::from_utf8_lossy(b"filter.\xff.clean\nevil");
        assert_eq!(setting(&key, PathBuf::new()), None);
        assert!(row("filter..clean").is_some());
    }

    #[test]
    fn a_path_of_an_include_is_found_from_the_file_that_names_it() {
        let found = |origin: &str, path: &str| {
            let include = setting(&format!("include.path\n{path}"), origin.into());
            include.unwrap().included().unwrap()
        };
        let relative = PathBuf::from("/r/.git/../x");
        assert_eq!(found("/r/.git/config", "../x"), relative);
        assert_eq!(found("/h/.gitconfig", "/y"), PathBuf::from("/y"));
        assert_eq!(of("core.editor", "x").included(), None);
    }
}
