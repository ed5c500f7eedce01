//! A GitHub to try Loopgate's commands against by hand: `cargo run --package loopgate-simulator --example github`.
//!
//! It has the organisation `acme` and its repository `acme/widgets`, without an App. Each line on standard input makes
//! something happen there:
//!
//! - `file PATH TEXT`: the owner pushes a file to `main`; `\n` in it ends a line
//! - `open BRANCH PATH TEXT`: alice opens a pull request with a file
//! - `check NUMBER NAME CONCLUSION`: another App's check run on its head ends, with `success` or `failure`
//! - `show NUMBER`: prints its check runs, labels and comments

use std::io::BufRead as _;

use loopgate_core::{PrNumber, RepoName};
use loopgate_simulator::{CheckSpec, CommitSpec, Conclusion, Config, Pr, PullSpec, Simulator};

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

fn happen(github: &Simulator, repo: &RepoName, line: &str) -> Result<(), Failure> {
    let pr = |number: &str| Ok::<_, Failure>(Pr { repo: repo.clone(), number: PrNumber::new(number.parse()?) });
    match line.splitn(4, ' ').collect::<Vec<_>>()[..] {
        ["file", path, ..] => {
            let text = line.splitn(3, ' ').nth(2).unwrap_or_default();
            github.user("olga").push_to(repo, "main", CommitSpec::new("Update").files(&[(path, text)]))?;
        }
        ["open", branch, path, text] => {
            let spec = PullSpec::new(branch).branch(branch).file(path, text);
            println!("#{}", github.user("alice").open_pull_request(repo, spec)?.number);
        }
        ["check", number, name, conclusion] => {
            let conclusion = if conclusion == "success" { Conclusion::Success } else { Conclusion::Failure };
            let head = github.pull_request(&pr(number)?)?.head_sha;
            github.ci("other-ci").check_run(repo, head, CheckSpec::concluded(name, conclusion))?;
        }
        ["show", number] => {
            let pull = github.pull_request(&pr(number)?)?;
            println!("{:#?}\n{:?}", pull.check_runs, pull.labels);
            pull.comments.iter().for_each(|comment| println!("{}: {}", comment.author, comment.body));
        }
        _ => return Err("file, open, check or show".into()),
    }
    Ok(())
}
