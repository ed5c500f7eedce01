//! Whose rights matter: who talks as if approving or commanding, and whom the policy names.

use super::authority::AuthorityQuestions;
use crate::core::{
    RepoName,
    policy::Policy,
    snapshot::{Account, AppIdentity, Comment, Review},
};

/// A word without which a comment neither approves, rejects nor commands.
const WORDS: [&str; 5] = ["approve", "reject", "changes requested", "/loop", "/dismiss"];

pub(super) fn questions(
    repository: &RepoName,
    us: &AppIdentity,
    policy: &Policy,
    comments: &[Comment],
    reviews: &[Review],
) -> AuthorityQuestions {
    let mut questions = AuthorityQuestions::default();
    for gate in policy.gates.values() {
        questions.logins.extend(gate.approvers.users.iter().cloned());
        questions.teams.extend(gate.approvers.teams.iter().cloned());
        let preset = gate.approvers.preset_team.as_ref();
        questions.teams.extend(preset.and_then(|slug| format!("{}/{slug}", repository.owner()).parse().ok()));
    }
    let speaks = |body: &str| {
        let body = body.to_lowercase();
        WORDS.iter().any(|word| body.contains(word))
    };
    let commenters = comments.iter().filter(|comment| speaks(&comment.body)).map(|comment| &comment.author);
    let reviewers = reviews.iter().map(|review| &review.author);
    let ours = |account: &&Account| Some(account.id) != us.bot_id && account.login != us.bot;
    questions.people.extend(commenters.chain(reviewers).filter(ours).map(|who| (who.id, who.login.clone())));
    questions
}
