# Shared by the findings: a folder that is removed at the end, pinned packages, and the comparison with what is recorded.
# shellcheck shell=bash
set -euo pipefail

# What tools write depends on the environment. Only what an installation needs is kept.
for name in $(compgen -e); do
  case $name in
    PATH | HOME | TMPDIR | *CERT* | *CA_BUNDLE | *CAINFO | *_proxy | *_PROXY) ;;
    npm_config_* | NPM_CONFIG_* | PIP_* | PYENV_*) ;;
    *) unset "$name" ;;
  esac
done
export CI=true NO_COLOR=1 LC_ALL=C.UTF-8

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/work"
echo '{ "private": true }' | tee "$folder/package.json" >"$folder/work/package.json"
cd "$folder/work"

# Installs packages of npm, each as name@version.
npm_packages() {
  local options=(--prefer-offline --no-audit --no-fund --ignore-scripts)
  if ! (cd "$folder" && npm install "${options[@]}" "$@") >"$folder/install.log" 2>&1; then
    cat "$folder/install.log" >&2
    exit 2
  fi
  PATH="$folder/node_modules/.bin:$PATH"
}

# Installs Node itself, as its package for this processor, and further packages of npm.
node_and_npm_packages() {
  local version=$1 processor=x64
  [[ $(uname -m) == aarch64 ]] && processor=arm64
  npm_packages "node-linux-$processor@$version" "${@:2}"
  PATH="$folder/node_modules/node-linux-$processor/bin:$PATH"
}

# Installs bun, as its package for this processor.
bun_package() {
  local processor=x64
  [[ $(uname -m) == aarch64 ]] && processor=aarch64
  npm_packages "bun@$1" "@oven/bun-linux-$processor@$1"
  PATH="$folder/node_modules/@oven/bun-linux-$processor/bin:$PATH"
}

# Installs Deno, which keeps what it loads in the folder.
deno_package() {
  npm_packages "deno@$1"
  PATH="$(echo "$folder"/node_modules/@deno/linux-*-glibc):$PATH"
  export DENO_DIR="$folder/deno" DENO_NO_UPDATE_CHECK=1
}

# Installs packages of PyPI, each as name==version.
pip_packages() {
  if ! python3 -m pip install --quiet --no-compile --target "$folder/python" "$@" >"$folder/install.log" 2>&1; then
    cat "$folder/install.log" >&2
    exit 2
  fi
  PATH="$folder/python/bin:$PATH"
  export PYTHONPATH="$folder/python" PYTHONDONTWRITEBYTECODE=1
}

# Runs a command and prints what it ends with. `shown` in front shows its output too, which is kept in a file.
ends_with() {
  local show=false code=0
  if [[ $1 == shown ]]; then
    show=true
    shift
  fi
  echo "\$ $*"
  "$@" >"$folder/output" 2>&1 || code=$?
  ! $show || cat "$folder/output"
  echo "exit $code"
}

# Prints suites and cases of a JUnit file, without times.
junit() {
  python3 - "$1" <<'PYTHON'
import sys, xml.etree.ElementTree as tree

for node in tree.parse(sys.argv[1]).getroot().iter():
    if node.tag in ("testsuites", "testsuite"):
        totals = [f"{key}={node.get(key)}" for key in ("tests", "failures", "errors", "skipped") if node.get(key)]
        print(f"{node.tag} {node.get('name')!r}:", *totals)
    elif node.tag == "testcase":
        marks = [child.tag for child in node if child.tag in ("failure", "error", "skipped")]
        print(f"  case {node.get('name')!r}:", ", ".join(marks) or "passed")
PYTHON
}

# Calls a function, shows what it prints, and compares that with the record on standard input.
finding() {
  cat >"$folder/recorded"
  "$1" >"$folder/raw"
  sed "s#$folder/work#WORK#g; s#$folder#FOLDER#g" "$folder/raw" | tee "$folder/seen"
  if diff -u --label recorded --label seen "$folder/recorded" "$folder/seen"; then
    echo "As recorded."
  else
    exit 1
  fi
}
