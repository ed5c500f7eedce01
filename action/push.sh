#!/usr/bin/env bash
# Pushes what the loop of another job has committed to the pull request's branch. Nothing of the pull request is checked
# out or executed here. Its commits come as a bundle, which may hold anything: they are taken into a fresh repository that
# checks every object and reads no configuration but ours, and must stand on the pull request's head, one after the other,
# and change nothing that is not for a fixer to change. The token is in no argument list.
set -euo pipefail

die() {
    printf '::error title=Loopgate::%s\n' "$1"
    exit 64
}

# No program inherits it before the one that needs it.
token=${LOOPGATE_PUSH_TOKEN:-}
unset LOOPGATE_PUSH_TOKEN
before=${LOOPGATE_BEFORE:-}
branch=${GITHUB_HEAD_REF:-}
bundle=${LOOPGATE_BUNDLE:-}
[ -n "$before" ] && [ -n "$branch" ] || die "this event is about no pull request, so there is no branch to push to"
[ "${LOOPGATE_HEAD_REPOSITORY:-}" = "$GITHUB_REPOSITORY" ] || die "the branch is another repository's: fixes of a fork are pushed by its owner"
if [ ! -f "$bundle" ]; then
    echo "There is no bundle, so nothing was fixed and there is nothing to push."
    exit 0
fi
bundle=$(realpath "$bundle")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_TEMPLATE_DIR=
git init --quiet "$work/clean"
cd "$work/clean"
git config core.hooksPath /dev/null
git config transfer.fsckObjects true
with_token() {
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="http.$GITHUB_SERVER_URL/.extraheader" \
        GIT_CONFIG_VALUE_0="Authorization: Basic $(printf 'x-access-token:%s' "$token" | base64 | tr -d '\n')" "$@"
}
remote=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY
with_token git fetch --quiet --no-tags --depth=1 "$remote" "$before" ||
    die "the pull request's head cannot be fetched: is it gone, or may the token not read the repository?"
git fetch --quiet --no-tags "$bundle" HEAD:refs/heads/fix || die "the bundle holds no sound commits on the pull request's head"
count=$(git rev-list --count "$before..refs/heads/fix")
if [ "$count" = 0 ]; then
    echo "Nothing was fixed, so there is nothing to push."
    exit 0
fi
[ "$(git rev-parse --verify --quiet "refs/heads/fix~$count")" = "$before" ] && [ -z "$(git rev-list --min-parents=2 "$before..refs/heads/fix")" ] ||
    die "the fixes are not based on the pull request's head, one after the other"
# A link leads where its reader has files.
links=$(git log --format= --raw --no-renames "$before..refs/heads/fix" | sed -n '/^:[0-7]* 120000 /p')
[ -z "$links" ] || die "the fixes bring a symbolic link: nothing was pushed"
if command -v sha256sum > /dev/null; then found=$(sha256sum < "${LOOPGATE_PROGRAM:?}"); else found=$(shasum -a 256 < "${LOOPGATE_PROGRAM:?}"); fi
[ "${found%% *}" = "${LOOPGATE_PROGRAM_SHA256:?}" ] || die "the program is not the one that was installed: it is not run"
# It judges every commit: what one brings and the next takes away is pushed all the same.
"$LOOPGATE_PROGRAM" loop judge "$before" "$(git rev-parse refs/heads/fix)" ||
    die "the fixes change what is not for a fixer to change: nothing was pushed"
with_token git push --quiet "$remote" "refs/heads/fix:refs/heads/$branch" ||
    die "the branch did not take the fixes: has it moved on, is it protected, or may the token not write?"
echo "Pushed $count commits to $branch."
if [ "${LOOPGATE_OWN_TOKEN:-}" = true ]; then
    echo "::notice title=Loopgate::Commits pushed with the workflow's own token start no workflow: required checks keep waiting. Give the input github-token an App's token."
fi
