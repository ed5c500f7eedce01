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

# Evaluates each line of the file `expressions` by @actions/expressions and by act, and prints `EXPRESSION|VALUE|VALUE`. Further
# steps of act's job may be given, as a JSON list. Needs Node, that package, esbuild and act; keeps act's log.
evaluated_by_both() {
  local further=${1:-[]}
  cat >evaluate.mjs <<'CODE'
import fs from 'node:fs'
import { Lexer, Parser, Evaluator, data } from '@actions/expressions'
for (const line of fs.readFileSync('expressions', 'utf8').trim().split('\n')) {
  try {
    const tree = new Parser(new Lexer(line).lex().tokens, [], []).parse()
    console.log(JSON.stringify(new Evaluator(tree, new data.Dictionary()).evaluate().coerceString()))
  } catch {
    console.log('an error')
  }
}
CODE
  NODE_PATH="$folder/node_modules" node "$folder/node_modules/esbuild/bin/esbuild" evaluate.mjs \
    --bundle --platform=node --outfile=evaluate.cjs --log-level=error
  mkdir -p .github/workflows "$folder/home"
  python3 - "$further" >.github/workflows/ci.yml <<'CODE'
import json, sys
lines = open("expressions", encoding="utf-8").read().splitlines()
variables = {f"V{at:02}": "${{ " + line + " }}" for at, line in enumerate(lines)}
show = """python3 -c 'import json, os; [print(name, json.dumps(os.environ[name])) for name in sorted(os.environ) if name[0] == "V"]'"""
steps = [{"run": show, "env": variables}, *json.loads(sys.argv[1])]
print(json.dumps({"on": "push", "jobs": {"one": {"runs-on": "ubuntu-latest", "steps": steps}}}))
CODE
  git init --quiet --initial-branch main
  git -c user.name=a -c user.email=a@example.org commit --quiet --allow-empty --message first
  HOME="$folder/home" XDG_CACHE_HOME="$folder/home" act push --platform ubuntu-latest=-self-hosted >"$folder/log" 2>&1 || cat "$folder/log"
  paste -d '|' expressions <(node evaluate.cjs) <(sed -n 's/^.*   *| V[0-9]* //p' "$folder/log")
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
