//! The first hour: under the file that `loopgate init` writes everybody gets to a merge, and no comment is about the
//! set-up.

use std::{fs, path::Path, process::Command};

use loopgate_core::RepoName;

use crate::world::{GitHub, Look, UPDATER, Work, World};

const CI: &str = ".github/workflows/ci.yml";
const VERIFY: &str = "loopgate / verify";
const GATES: &str = "loopgate / gates";

/// What a repository holds before Loopgate comes, and its jobs on a pull request.
struct Project {
    files: &'static [(&'static str, &'static str)],
    jobs: &'static [&'static str],
    /// What `init` writes of the tests.
    follows: &'static str,
}

const WIDGETS: Project = Project {
    files: &[
        ("go.mod", "module widgets\n"),
        ("widgets.go", "package widgets\n"),
        ("docs/use.md", "Use them.\n"),
        (
            CI,
            "\
name: CI
on: { pull_request: { paths-ignore: ['docs/**'] } }
jobs:
  lint: { steps: [{ run: make lint }] }
  test: { name: 'Test on ${{ matrix.os }}', strategy: { matrix: { os: [linux, macos] } }, steps: [{ run: make test }] }
",
        ),
    ],
    jobs: &["lint", "Test on linux", "Test on macos"],
    follows: "check: 'Test on*'",
};

/// A change that no gate asks about.
const MORE: &[(&str, &str)] = &[("widgets.go", "package widgets\n\nconst More = 1\n")];

/// A repository with the configuration that `init` writes for it. Its main branch takes no merge without Loopgate.
fn set_up(world: &World, name: &str, project: &Project) -> RepoName {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in project.files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    runs(folder.path(), "git", &["init", "--quiet"]);
    runs(folder.path(), env!("CARGO_BIN_EXE_loopgate"), &["init"]);
    let written = fs::read_to_string(folder.path().join(".github/loopgate.yml"));
    let written = written.expect("what init wrote");
    assert!(written.contains(project.follows), "{written}");
    let configured = [(".github/loopgate.yml", written.as_str())];
    let repo = world.repository(name, &[project.files, &configured].concat());
    world.protects(&repo, "main", &[VERIFY, GATES]);
    repo
}

fn runs(folder: &Path, program: &str, words: &[&str]) {
    let mut command = Command::new(program);
    let ended = command.args(words).current_dir(folder).output();
    let ended = ended.expect("a program");
    assert!(ended.status.success(), "{ended:?}");
}

/// What people read of the status comment: its folds are for those who ask.
fn read_by_people(look: &Look) -> &str {
    let status = look.status();
    status.split("<details>").next().unwrap_or(status)
}

/// Nothing that people read is about the set-up.
fn says_nothing_of_the_set_up(look: &Look) {
    let others = look.comments.iter().map(String::as_str);
    let others = others.filter(|text| !text.starts_with("<!-- loopgate:status -->"));
    for text in others.chain([read_by_people(look)]) {
        for word in [
            "score",
            "phase",
            "stage",
            "team",
            "kind:",
            "preset",
            "deploy",
            "configuration",
        ] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

/// It can be merged, and nothing that is read on the way is about the set-up.
fn is_ready(look: &Look) {
    let text = read_by_people(look);
    assert!(text.contains("eady to merge"), "{text}");
    look.concludes(VERIFY, Some("success"));
    assert_eq!(look.concluded(GATES), Some("success"));
    says_nothing_of_the_set_up(look);
}

/// Olga owns the repository, and nobody else is there to ask.
pub async fn who_is_alone_gets_to_a_merge(world: World) {
    let repo = set_up(&world, "alone", &WIDGETS);
    let olga = world.person("olga");
    let pr = olga.opens(&repo, "feat: more", MORE).await;
    world.ci_passes(&pr, CI, WIDGETS.jobs).await;
    is_ready(&world.look(&pr));
    olga.merges(&pr).await;
}

pub async fn a_change_of_the_documentation_gets_to_a_merge(world: World) {
    let repo = set_up(&world, "documented", &WIDGETS);
    let alice = world.person("alice");
    let change = [("docs/use.md", "Use them well.\n")];
    let pr = alice.opens(&repo, "docs: a word", &change).await;
    is_ready(&world.look(&pr));
    alice.merges(&pr).await;
}

pub async fn an_agents_change_gets_to_a_merge(world: World) {
    let repo = set_up(&world, "mended", &WIDGETS);
    let alice = world.person("alice");
    let pr = alice.opens(&repo, "feat: more", MORE).await;
    let work = Work {
        message: "feat: one more\n\nCo-authored-by: Claude <noreply@anthropic.com>",
        files: &[("widgets.go", "package widgets\n\nconst More = 2\n")],
        ..Work::default()
    };
    alice.commits(&pr, &work).await;
    world.ci_passes(&pr, CI, WIDGETS.jobs).await;
    is_ready(&world.look(&pr));
    alice.merges(&pr).await;
}

/// Alice and Olga own it together: one writes, the other reads and merges.
pub async fn two_people_get_to_a_merge(world: World) {
    let repo = set_up(&world, "together", &WIDGETS);
    world.lets_own(&repo, "alice").await;
    let (alice, olga) = (world.person("alice"), world.person("olga"));
    let pr = alice.opens(&repo, "feat: more", MORE).await;
    says_nothing_of_the_set_up(&world.look(&pr));
    assert!(olga.is_refused_to_merge(&pr).await, "before the CI");
    world.ci_passes(&pr, CI, WIDGETS.jobs).await;
    is_ready(&world.look(&pr));
    olga.merges(&pr).await;

    let signs_in = [(
        "auth/session.go",
        "package auth\n\nfunc Login(user, password string) bool {\n\treturn password == passwords[user]\n}\n",
    )];
    let pr = alice.opens(&repo, "feat: sessions", &signs_in).await;
    let look = world.look(&pr);
    says_nothing_of_the_set_up(&look);
    // The emulator lists neither what a collaborator may do nor who owns the organisation.
    if let GitHub::Simulated(_) = world.github {
        let asked = look.marked("<!-- loopgate:gate:security:1 -->")[0];
        assert!(asked.contains("maintain access (olga) @olga"), "{asked}");
    }
    world.ci_passes(&pr, CI, WIDGETS.jobs).await;
    says_nothing_of_the_set_up(&world.look(&pr));
    alice.says(&pr, "security approved").await;
    assert!(olga.is_refused_to_merge(&pr).await, "an own word");
    olga.says(&pr, "security approved").await;
    is_ready(&world.look(&pr));
    olga.merges(&pr).await;
}

const PACKAGE: &str = r#"{
  "name": "widgets",
  "version": "1.0.0",
  "scripts": { "test": "node --test" },
  "dependencies": { "left-pad": "^1.2.0" }
}
"#;
const LOCK: &str = r#"{
  "name": "widgets",
  "version": "1.0.0",
  "lockfileVersion": 3,
  "requires": true,
  "packages": {
    "": { "name": "widgets", "version": "1.0.0", "dependencies": { "left-pad": "^1.2.0" } },
    "node_modules/left-pad": {
      "version": "1.2.0",
      "resolved": "https://registry.npmjs.org/left-pad/-/left-pad-1.2.0.tgz",
      "integrity": "sha512-OfWMdLBCVNnF6YGwLNCKkRzbSlrVQBgVQoTvEIlXcIYEmnYhUaCYFbXCkjUQKJ9XWOwAtBYNqPqgmaVbbNtnYA==",
      "license": "WTFPL"
    }
  }
}
"#;
const NODE_CI: &str = "\
name: CI
on: pull_request
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: npm ci && npm test
";
const NODE: Project = Project {
    files: &[
        ("package.json", PACKAGE),
        ("package-lock.json", LOCK),
        ("index.js", "module.exports = require('left-pad');\n"),
        (CI, NODE_CI),
    ],
    jobs: &["test"],
    follows: "check: 'test'",
};

/// A bot updates what the project depends on: its manifest and lock, then an Action of its workflow. Nobody is asked.
pub async fn an_update_gets_to_a_merge(world: World) {
    world.installs(UPDATER);
    let repo = set_up(&world, "updated", &NODE);
    let renovate = world.person(UPDATER);
    let newer = |text: &str| {
        let text = text.replace("1.2.0", "1.3.0");
        text.replace("OfWMdLBC", "XI5MPzVN")
    };
    let (package, lock) = (newer(PACKAGE), newer(LOCK));
    let update = [
        ("package.json", package.as_str()),
        ("package-lock.json", &lock),
    ];
    renovate
        .pushes_to(&repo, "renovate/left-pad-1.x", &update)
        .await;
    let title = "chore(deps): update dependency left-pad to ^1.3.0";
    let pr = renovate
        .opens_from(&repo, title, "renovate/left-pad-1.x", "main")
        .await;
    says_nothing_of_the_set_up(&world.look(&pr));
    assert!(renovate.is_refused_to_merge(&pr).await, "before the CI");
    world.ci_passes(&pr, CI, NODE.jobs).await;
    is_ready(&world.look(&pr));
    renovate.merges(&pr).await;

    let action = NODE_CI.replace("checkout@v4", "checkout@v5");
    renovate
        .pushes_to(&repo, "renovate/actions-checkout-5.x", &[(CI, &action)])
        .await;
    let title = "chore(deps): update actions/checkout action to v5";
    let pr = renovate
        .opens_from(&repo, title, "renovate/actions-checkout-5.x", "main")
        .await;
    world.ci_passes(&pr, CI, NODE.jobs).await;
    says_nothing_of_the_set_up(&world.look(&pr));
    assert!(
        renovate.is_refused_to_merge(&pr).await,
        "it edits what is checked"
    );
    world.person("olga").says(&pr, "security approved").await;
    is_ready(&world.look(&pr));
    renovate.merges(&pr).await;
}
