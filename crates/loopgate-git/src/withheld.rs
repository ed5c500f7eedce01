//! The variables that no program gets which code of a pull request can influence.

use std::process::Command;

/// Tokens and keys, the files by which a step of a workflow passes values to the steps after it, and what a shell reads
/// before its line. Checks and fixers work on files: what they need beyond them is given to them by `env`, so that they
/// can never do more to GitHub than the person or job that runs them hands over on purpose
/// (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>).
const WITHHELD: &str = "GITHUB_TOKEN GH_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN INPUT_GITHUB-TOKEN \
    ACTIONS_RUNTIME_TOKEN ACTIONS_ID_TOKEN_REQUEST_TOKEN ACTIONS_RUNTIME_URL ACTIONS_RESULTS_URL \
    ACTIONS_ID_TOKEN_REQUEST_URL LOOPGATE_TOKEN LOOPGATE_PUSH_TOKEN LOOPGATE_PRIVATE_KEY \
    LOOPGATE_WEBHOOK_SECRET LOOPGATE_WEBHOOK_SECRET_PREVIOUS LOOPGATE_CLIENT_SECRET LOOPGATE_SIGNING_KEY \
    LOOPGATE_SLACK_WEBHOOK_URL LOOPGATE_SMTP_URL GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_STATE \
    GITHUB_STEP_SUMMARY BASH_ENV ENV";

/// Keeps tokens and keys from a program that is to be started.
pub fn withhold(command: &mut Command) {
    for name in WITHHELD.split_whitespace() {
        command.env_remove(name);
    }
}
