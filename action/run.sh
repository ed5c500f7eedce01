#!/usr/bin/env bash
# Runs one command of the program that install.sh told. Everything comes from the environment, and every value stays one
# argument whatever it holds.
set -euo pipefail

arguments=()
option() { # option FLAG VALUE: given only where there is a value
    if [ -n "$2" ]; then arguments+=("$1=$2"); fi
}

program=${LOOPGATE_PROGRAM:?}
case ${LOOPGATE_COMMAND:?} in
    verify)
        arguments=(verify)
        option --config "${LOOPGATE_CONFIG:-}"
        option --checks "${LOOPGATE_CHECKS:-}"
        ;;
    reconcile)
        arguments=(reconcile)
        ;;
    loop)
        arguments=(loop new --yes)
        option --config "${LOOPGATE_CONFIG:-}"
        option --fix-command "${LOOPGATE_FIX_COMMAND:-}"
        option --max-iterations "${LOOPGATE_MAX_ATTEMPTS:-}"
        "$program" "${arguments[@]}" -- "${LOOPGATE_TASK:-make the checks pass}"
        code=0
        "$program" loop run || code=$?
        # Another job pushes it, where nothing of the pull request runs.
        if [ -n "${LOOPGATE_BEFORE:-}" ] && [ "$(git rev-parse HEAD)" != "$LOOPGATE_BEFORE" ]; then
            bundle=${RUNNER_TEMP:?}/loopgate-fixes/fixes.bundle
            mkdir -p "${bundle%/*}"
            git bundle create --quiet "$bundle" "$LOOPGATE_BEFORE..HEAD"
            printf 'bundle-path=%s\n' "$bundle" >> "${GITHUB_OUTPUT:?}"
        fi
        exit "$code"
        ;;
esac
exec "$program" "${arguments[@]}"
