//! A GitHub to try Loopgate's commands against by hand: `cargo run --package loopgate-simulator --example github`.
//!
//! It has the organisation `acme` and its repository `acme/widgets`, without an App. Each line on standard input makes
//! something happen there:
//!
//! - `file PATH TEXT`: the owner pushes a file to `main`; `\n` in it ends a line
//! - `open BRANCH PATH TEXT`: alice opens a pull request with a file
//! - `push NUMBER PATH TEXT`: she pushes a file to it
//! - `check NUMBER NAME CONCLUSION`: another App's check run on its head ends, with `success` or `failure`
//! - `token`: prints the token of a workflow's job, for `loopgate reconcile`
//! - `run NUMBER FILE`: this workflow begins to run on its head; prints the run and the head
//! - `end RUN CONCLUSION ARCHIVE`: it ends, with a zip archive of evidence
//! - `show NUMBER`: prints its check runs, labels and comments

use std::io::BufRead as _;

use loopgate_core::{PrNumber, RepoName, WorkflowRunId};
use loopgate_simulator::{
    CheckSpec, CommitSpec, Conclusion, Config, Pr, PullSpec, RunSpec, Simulator,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let github = Simulator::start(Config::default()).await?;
    let repo = github.create_private_repo("acme/widgets", &[("README.md", "Widgets.\n")])?;
    github.admin().uninstall_app()?;
    let url = github.url();
    println!("LOOPGATE_GITHUB_API_URL={url} LOOPGATE_GITHUB_WEB_URL={url}");
    for line in std::io::stdin().lock().lines() {
        let line = line?.replace("\\n", "\n");
        if let Err(error) = happen(&github, &repo, &line) {
            eprintln!("{line}: {error}");
        }
    }
    Ok(())
}

fn conclusion(word: &str) -> Conclusion {
    if word == "success" {
        Conclusion::Success
    } else {
        Conclusion::Failure
    }
}

fn happen(github: &Simulator, repo: &RepoName, line: &str) -> Result<(), Failure> {
    let pr = |number: &str| {
        Ok::<_, Failure>(Pr {
            repo: repo.clone(),
            number: PrNumber::new(number.parse()?),
        })
    };
    match line.splitn(4, ' ').collect::<Vec<_>>()[..] {
        ["file", path, ..] => {
            let text = line.splitn(3, ' ').nth(2).unwrap_or_default();
            github.user("olga").push_to(
                repo,
                "main",
                CommitSpec::new("Update").files(&[(path, text)]),
            )?;
        }
        ["open", branch, path, text] => {
            let spec = PullSpec::new(branch).branch(branch).file(path, text);
            println!(
                "#{}",
                github.user("alice").open_pull_request(repo, spec)?.number
            );
        }
        ["push", number, path, text] => {
            github
                .user("alice")
                .push(&pr(number)?, &[(path, text)], "Update")?;
        }
        ["check", number, name, ended] => {
            let head = github.pull_request(&pr(number)?)?.head_sha;
            github.ci("other-ci").check_run(
                repo,
                head,
                CheckSpec::concluded(name, conclusion(ended)),
            )?;
        }
        ["token"] => println!("GITHUB_TOKEN={}", github.actions_token(repo, None)?),
        ["run", number, file] => {
            let head = github.pull_request(&pr(number)?)?.head_sha;
            let spec = RunSpec::new(head, file).jobs(&["verify"]);
            println!(
                "GITHUB_RUN_ID={} HEAD={head}",
                github.start_workflow(repo, spec)?
            );
        }
        ["end", run, ended, archive] => {
            let evidence = vec![(
                "loopgate-evidence".to_owned(),
                std::fs::read(archive)?.into(),
            )];
            github.finish_workflow(
                repo,
                WorkflowRunId::new(run.parse()?),
                conclusion(ended),
                evidence,
            )?;
        }
        ["show", number] => {
            let pull = github.pull_request(&pr(number)?)?;
            println!("{:#?}\n{:?}", pull.check_runs, pull.labels);
            pull.comments
                .iter()
                .for_each(|comment| println!("{}: {}", comment.author, comment.body));
        }
        _ => return Err("file, open, push, check, token, run, end or show".into()),
    }
    Ok(())
}
