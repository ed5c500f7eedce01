#!/usr/bin/env bash
# Pushes what a loop has committed to the pull request's branch.
#
# The job has run the pull request's own code, which may have changed anything in the work tree's .git and in the home
# folder: hooks, addresses, proxies. So the commits are taken into a fresh repository that reads no configuration but
# ours, and the token is offered to this server's address alone. It stands in no argument list.
set -euo pipefail

# No program inherits it before the one that needs it.
token=${LOOPGATE_PUSH_TOKEN:-}
unset LOOPGATE_PUSH_TOKEN
before=${LOOPGATE_BEFORE:-}
branch=${GITHUB_HEAD_REF:-}
if [ -z "$before" ] || [ -z "$branch" ]; then
    echo "This event is about no pull request: what was fixed stays in this job."
    exit 0
fi
after=$(git rev-parse --verify HEAD)
if [ "$after" = "$before" ]; then
    echo "Nothing was fixed, so there is nothing to push."
    exit 0
fi
if ! git merge-base --is-ancestor "$before" "$after"; then
    echo "::error title=Loopgate::The fixes are not based on the pull request's head: check out github.event.pull_request.head.sha"
    exit 64
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$(pwd)
export HOME=$work GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
git init --quiet --bare "$work/clean.git"
cd "$work/clean.git"
git fetch --quiet --no-tags "$tree" "$after:refs/heads/fix"
export GIT_CONFIG_COUNT=1
export GIT_CONFIG_KEY_0="http.$GITHUB_SERVER_URL/.extraheader"
GIT_CONFIG_VALUE_0="Authorization: Basic $(printf 'x-access-token:%s' "$token" | base64 | tr -d '\n')"
export GIT_CONFIG_VALUE_0
git push --quiet "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY" "refs/heads/fix:refs/heads/$branch"
echo "Pushed ${after:0:8} to $branch."
if [ "${LOOPGATE_OWN_TOKEN:-}" = true ]; then
    echo "::notice title=Loopgate::Commits pushed with the workflow's own token start no workflow: required checks keep waiting. Give the input github-token an App's token."
fi
