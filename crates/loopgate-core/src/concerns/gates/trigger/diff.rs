//! What the changed files of a pull request are read by.

use std::collections::BTreeSet;

use crate::{
    ids::Sha,
    observed::{
        AccountKind, ChangedFile, ChangedFiles, Commit, Contents, FileAt, FileStatus, Push,
        PushContent, Snapshot,
    },
};

/// The changed files and the texts on both sides. What the rules of the presets find depends on nothing else of a
/// snapshot, and so it is the same as long as this is.
#[derive(Clone, Copy, Hash)]
pub(super) struct Diff<'a> {
    pub(super) files: &'a ChangedFiles,
    contents: &'a Contents,
    /// The old side of the files.
    old: Sha,
    head: Sha,
    /// The tip of the base, at which workflows are read.
    base: Sha,
    base_folders: Option<&'a BTreeSet<String>>,
    /// The pull request is an update bot's, and nothing in it is anybody else's.
    pub(super) is_by_update_bot: bool,
}

impl<'a> Diff<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
        let pull_request = &snapshot.pull_request;
        Self {
            files: &snapshot.files,
            contents: &snapshot.contents,
            // Where GitHub compares nothing, a text that the patch does not fit is noticed.
            old: snapshot.merge_base.unwrap_or(pull_request.base.sha),
            head: pull_request.head.sha,
            base: pull_request.base.sha,
            base_folders: snapshot.base_folders.as_ref(),
            is_by_update_bot: is_by_update_bot(snapshot),
        }
    }

    /// The file at the base and at the head, where it is there.
    pub(super) fn sides(&self, file: &ChangedFile) -> [Option<FileAt>; 2] {
        let at_old =
            (file.status != FileStatus::Added).then(|| (self.old, file.old_path().to_owned()));
        let at_head = (file.status != FileStatus::Removed).then(|| (self.head, file.path.clone()));
        [at_old, at_head]
    }

    /// The texts of a file at the base and at the head, where both were read. A file that is not there is empty.
    pub(super) fn texts(&self, file: &ChangedFile) -> Option<[&'a str; 2]> {
        let [old, new] = self.sides(file).map(|side| match side {
            Some((commit, path)) => self.contents.text(commit, &path),
            None => Some(""),
        });
        Some([old?, new?])
    }

    /// The texts that were read at the tip of the base, with their paths.
    pub(super) fn texts_of_base(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let (contents, base) = (self.contents, self.base);
        let paths = contents
            .texts
            .keys()
            .filter(move |(commit, _)| *commit == base);
        paths.filter_map(move |(_, path)| Some((path.as_str(), contents.text(base, path)?)))
    }

    /// The folders at the top of the base. Where they are not known, a folder in which something is changed or removed
    /// is known to exist.
    pub(super) fn existing_folders(&self) -> BTreeSet<&'a str> {
        match self.base_folders {
            Some(folders) => folders.iter().map(String::as_str).collect(),
            None => {
                let files = self.files.known().iter();
                let old_names = files.filter_map(|file| {
                    file.previous_path
                        .as_deref()
                        .or((!arrives(file)).then_some(&file.path))
                });
                old_names
                    .filter_map(|path| Some(path.split_once('/')?.0))
                    .collect()
            }
        }
    }
}

/// Whether a pull request is an update bot's, and nothing in it is anybody else's but merges of the base.
fn is_by_update_bot(snapshot: &Snapshot) -> bool {
    let bot = &snapshot.pull_request.author;
    let login = bot.login.as_str().to_lowercase();
    let is_bot = bot.kind == AccountKind::Bot
        && ["dependabot", "renovate"]
            .iter()
            .any(|name| login.contains(name));
    let is_bots = |commit: &Commit| {
        commit.update_merge || commit.author.as_ref().is_some_and(|by| by.id == bot.id)
    };
    let pushed = |push: &Push| push.content == PushContent::Merged || push.by.id == bot.id;
    is_bot
        && snapshot.commits.is_complete
        && !snapshot.makers.has_unknown_pusher
        && snapshot.commits.items.iter().all(is_bots)
        && snapshot.makers.pushes.iter().all(pushed)
}

/// Whether a file is new where it stands.
pub(super) fn arrives(file: &ChangedFile) -> bool {
    matches!(
        file.status,
        FileStatus::Added | FileStatus::Renamed | FileStatus::Copied
    )
}
