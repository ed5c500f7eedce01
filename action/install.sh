#!/usr/bin/env bash
# Puts the loopgate program on this runner and tells its path as the output `program`, and what the steps that run it
# compare it with as the output `sha256`.
#
# From the environment, which action.yml sets from its inputs: LOOPGATE_BINARY (a program that is there: nothing is
# downloaded), else LOOPGATE_VERSION (default: the version of the Cargo.toml beside this action) of LOOPGATE_REPOSITORY's
# releases at LOOPGATE_DOWNLOAD_URL. What lies in the runner's folders already is not used. What is downloaded is used only if
# its SHA-256 is the one in the release's checksums and, where there is a gh that can tell, the release workflow made it.
set -euo pipefail

die() {
    printf '::error title=Loopgate::%s\n' "$1"
    exit 64
}

sha256() {
    if command -v sha256sum > /dev/null; then sha256sum < "$1"; else shasum -a 256 < "$1"; fi | cut -d ' ' -f 1
}

tell() {
    local found
    found=$(sha256 "$1")
    "$1" --version || die "the program that was installed cannot be executed on this runner"
    printf 'program=%s\nsha256=%s\n' "$1" "$found" >> "${GITHUB_OUTPUT:?}"
}

case ${LOOPGATE_COMMAND:-} in
    verify | loop | push | reconcile) ;;
    *) die "the input command is one of verify, loop, push and reconcile" ;;
esac

if [ -n "${LOOPGATE_BINARY:-}" ]; then
    case $LOOPGATE_BINARY in *$'\n'*) die "the input binary is not a path" ;; esac
    # A file, and no word of the shell. Later steps have other working directories.
    program=$(type -P -- "$LOOPGATE_BINARY") || die "the input binary names no program that can be executed"
    case $program in /* | ?:*) ;; *) program=$PWD/$program ;; esac
    tell "$program"
    exit 0
fi

version=${LOOPGATE_VERSION:-}
version=${version#v}
if [ -z "$version" ]; then
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$GITHUB_ACTION_PATH/../Cargo.toml" | head -n 1)
fi
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || die "the input version is not a release such as 1.0.0"
[[ ${LOOPGATE_REPOSITORY:-} =~ ^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$ ]] ||
    die "an action of the checked-out repository has no release to download: give the input binary"

case ${RUNNER_OS:-}-${RUNNER_ARCH:-} in
    Linux-X64) target=x86_64-unknown-linux-gnu ;;
    Linux-ARM64) target=aarch64-unknown-linux-gnu ;;
    macOS-ARM64) target=aarch64-apple-darwin ;;
    Windows-X64) target=x86_64-pc-windows-msvc ;;
    *) die "there is no release for ${RUNNER_OS:-this system} ${RUNNER_ARCH:-}: build it and give the input binary" ;;
esac

name=loopgate-$version-$target
program=loopgate
case $target in *windows*) program=loopgate.exe ;; esac
base=${LOOPGATE_DOWNLOAD_URL:?}/v$version
archive=$name.tar.gz
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
fetch() {
    curl --fail --silent --show-error --location --retry 3 --max-time 300 --output "$download/$1" "$base/$1" ||
        die "$base/$1 cannot be downloaded"
}
fetch "$archive"
fetch SHA256SUMS
# One line, of this archive alone: a second line could not make up for a wrong first.
expected=$(awk -v file="$archive" '$2 == file || $2 == "*" file { print $1 }' "$download/SHA256SUMS")
[[ $expected =~ ^[0-9a-f]{64}$ ]] || die "SHA256SUMS of release $version has not exactly one line for $archive"
[ "$(sha256 "$download/$archive")" = "$expected" ] || die "the SHA-256 of $archive is not the one in SHA256SUMS: it is not used"
# By the bundle of the release: asking GitHub's API takes a token, which no step of a job that runs others' code is given.
if gh attestation verify --help > /dev/null 2>&1; then
    fetch attestations.jsonl
    gh attestation verify "$download/$archive" --bundle "$download/attestations.jsonl" --repo "$LOOPGATE_REPOSITORY" \
        --signer-workflow "$LOOPGATE_REPOSITORY/.github/workflows/release.yml" ||
        die "gh finds no attestation that the release workflow of $LOOPGATE_REPOSITORY made $archive: it is not used"
    echo "$archive: its SHA-256 and its attestation are right"
else
    echo "$archive: its SHA-256 is right; there is no gh that could verify its attestation"
fi

# A folder that nobody has prepared.
folder=$(mktemp -d "${RUNNER_TEMP:?}/$name.XXXXXX")
tar -xzf "$download/$archive" -C "$folder" "$program" || die "$archive cannot be unpacked: it is not used"
[ -f "$folder/$program" ] && [ ! -L "$folder/$program" ] || die "$archive holds no program: it is not used"
chmod 755 "$folder/$program"
tell "$folder/$program"
