#!/usr/bin/env bash
# @google/gemini-cli 0.61.0, @qwen-code/qwen-code 0.24.4, @anthropic-ai/claude-code 2.1.332 (npm), Node 26.12.1.
#
# Expected: with `--output-format json` an agent without credentials writes its error as JSON to standard output, and
#   agents of one descent do so alike.
# Seen: Gemini CLI writes it to standard error, with nothing on standard output, and with `stream-json` no JSON at all. Qwen
#   Code, made from it, writes a list to standard output. Claude Code writes one object that is both "success" and an error.
#   Statuses are 41 and 1.
# Source: no documentation found.
# Why it matters: a program that starts agents and reads standard output sees no answer, a list or an object; one that looks
#   at "subtype" takes "not logged in" for a success.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @google/gemini-cli@0.61.0 @qwen-code/qwen-code@0.24.4 @anthropic-ai/claude-code@2.1.332
processor=x64
[[ $(uname -m) == aarch64 ]] && processor=arm64

cat >say.py <<'PYTHON'
import json, sys

for name in ("output", "errors"):
    text = open(name).read().strip()
    try:
        value = json.loads(text) if text else None
    except ValueError:
        print(f"  {name}: text")
        continue
    result = value[-1] if isinstance(value, list) else value
    kept = {key: result[key] for key in ("subtype", "is_error", "error") if key in result} if result else None
    if kept and isinstance(kept.get("error"), dict):
        kept["error"] = sorted(kept["error"])
    print(f"  {name}:", type(value).__name__ if value else "nothing", kept or "")
PYTHON

ask() {
  local code=0
  echo "$1 ${*: -1}"
  HOME=$folder "${@:2}" >output 2>errors </dev/null || code=$?
  echo "  exit $code"
  python3 say.py
}

observe() {
  ask gemini gemini -p hello --output-format json
  ask gemini gemini -p hello --output-format stream-json
  ask qwen qwen -p hello --output-format json
  ask claude "$folder/node_modules/@anthropic-ai/claude-code-linux-$processor/claude" -p hello --output-format json
}

finding observe <<'RECORDED'
gemini json
  exit 41
  output: nothing 
  errors: dict {'error': ['code', 'message', 'type']}
gemini stream-json
  exit 41
  output: nothing 
  errors: text
qwen json
  exit 1
  output: list {'subtype': 'error_during_execution', 'is_error': True, 'error': ['message']}
  errors: text
claude json
  exit 1
  output: dict {'subtype': 'success', 'is_error': True}
  errors: nothing 
RECORDED
