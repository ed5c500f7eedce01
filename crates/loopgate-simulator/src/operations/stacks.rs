//! Native stacks: made, rebased, merged from the bottom, dissolved
//! (<https://docs.github.com/en/pull-requests/reference/stacked-pull-requests>).

use crate::{
    git::{Commit, Merge, Object},
    refused::Refused,
    world::{
        RepoId, World,
        account::Role,
        app::Actor,
        issue::Issue,
        repo::{Repo, Stack},
    },
};
use loopgate_core::{PrNumber, Sha};

impl World {
    /// Each layer targets the branch of the one beneath.
    pub fn make_stack(
        &mut self,
        actor: Actor,
        repo: RepoId,
        layers: Vec<PrNumber>,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let base = match layers.first() {
            Some(bottom) => self.pull(repo, *bottom)?.base_branch.clone(),
            None => return Err(Refused::unprocessable("A stack has layers.")),
        };
        for pair in layers.windows(2) {
            let [lower, upper] = pair else { continue };
            if self.pull(repo, *upper)?.base_branch != self.pull(repo, *lower)?.head.branch {
                return Err(Refused::unprocessable("Pull requests must form a stack."));
            }
        }
        let (id, created_at) = (self.sequence.number(), self.now());
        let stacks = &mut self.repo_mut(repo)?.stacks;
        let number = stacks.len() as u64 + 1;
        stacks.push(Stack {
            id,
            number,
            base,
            layers: layers.clone(),
            created_at,
        });
        for layer in layers {
            let event = self.pull_event("stacked", actor, repo, layer)?;
            self.emit(event);
        }
        Ok(())
    }

    pub fn unstack(&mut self, actor: Actor, repo: RepoId, number: PrNumber) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        self.repo_mut(repo)?
            .stacks
            .retain(|stack| !stack.layers.contains(&number));
        Ok(())
    }

    /// The open layers, the lowest first.
    pub(super) fn open_layers(&self, repo: &Repo, stack: &Stack) -> Vec<PrNumber> {
        let open = |number: &PrNumber| repo.issue(*number).is_some_and(Issue::is_open);
        stack.layers.iter().copied().filter(open).collect()
    }

    pub fn rebase_stack(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let found = self.repo(repo)?;
        let stack = found.stack_of(number).ok_or_else(Refused::not_found)?;
        let (mut onto, layers) = (stack.base.clone(), self.open_layers(found, stack));
        // What each stood on is known before any of them moves.
        let standing = layers.iter().map(|layer| {
            let pull = self.pull(repo, *layer)?.clone();
            let stood_on = found.branch(&pull.base_branch).unwrap_or(pull.base_sha);
            Ok((
                *layer,
                self.objects(found).merge_base(stood_on, pull.head.sha),
                pull,
            ))
        });
        for (layer, since, pull) in standing.collect::<Result<Vec<_>, Refused>>()? {
            let tip = self
                .repo(repo)?
                .branch(&onto)
                .ok_or_else(Refused::not_found)?;
            let moved = self.layer_on(repo, (since, pull.head.sha), tip)?;
            if pull.base_branch != onto {
                let edit = super::pulls::PullEdit {
                    base: Some(onto),
                    ..Default::default()
                };
                self.edit_pull(actor, repo, layer, edit)?;
            }
            self.set_ref(
                actor,
                repo,
                &format!("refs/heads/{}", pull.head.branch),
                Some(moved),
            )?;
            onto = pull.head.branch;
        }
        Ok(())
    }

    /// What a head changes since it left what it stood on, as one commit on another tip.
    fn layer_on(
        &mut self,
        repo: RepoId,
        (since, head): (Option<Sha>, Sha),
        tip: Sha,
    ) -> Result<Sha, Refused> {
        let objects = self.objects_mut(repo)?;
        if objects.is_fast_forward(tip, head) {
            return Ok(head);
        }
        let Merge::Clean(tree) = objects.merge_since(since, tip, head) else {
            return Err(Refused::unprocessable("the stack has conflicts"));
        };
        let Some(old) = objects.commit(head).cloned() else {
            return Err(Refused::not_found());
        };
        Ok(objects.put(Object::Commit(Commit {
            tree,
            parents: vec![tip],
            ..old
        })))
    }

    /// After the bottom was merged, the next layer targets the stack's base by itself.
    pub(super) fn restack(
        &mut self,
        actor: Actor,
        repo: RepoId,
        merged: PrNumber,
    ) -> Result<(), Refused> {
        match self.repo(repo)?.stack_of(merged) {
            Some(_) => self.rebase_stack(actor, repo, merged),
            None => Ok(()),
        }
    }
}
