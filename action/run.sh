#!/usr/bin/env bash
# Runs one command of the program that install.sh told. Everything comes from the environment, and every value stays one
# argument whatever it holds.
set -euo pipefail

arguments=()
option() { # option FLAG VALUE: given only where there is a value
    if [ -n "$2" ]; then arguments+=("$1=$2"); fi
}

program=${LOOPGATE_PROGRAM:?}
# Other steps may have written here since it was installed.
if command -v sha256sum > /dev/null; then found=$(sha256sum < "$program"); else found=$(shasum -a 256 < "$program"); fi
if [ "${found%% *}" != "${LOOPGATE_PROGRAM_SHA256:?}" ]; then
    echo '::error title=Loopgate::the program is not the one that was installed: it is not run'
    exit 69
fi
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
        arguments=(loop run)
        ;;
esac
# The checks may read the environment of every process of this user, and root's checks of any process. So what the
# program does not need is not in its environment at all: this shell becomes the program without it.
unset GITHUB_ENV GITHUB_PATH GITHUB_STATE BASH_ENV
withheld=(-u LOOPGATE_PROGRAM_SHA256)
if [ "$LOOPGATE_COMMAND" != reconcile ]; then
    # Runners other than GitHub's pass the inputs of an action, and their own tokens, to each of its steps. A name with a
    # hyphen is none of this shell's variables, so that env takes it away.
    for name in GITHUB_TOKEN GH_TOKEN INPUT_GITHUB-TOKEN ACTIONS_RUNTIME_TOKEN ACTIONS_ID_TOKEN_REQUEST_TOKEN; do
        withheld+=(-u "$name")
    done
fi
# The runner reads the two streams apart. In one, a command stands where it was written, and never between the lines
# that stop commands.
exec env "${withheld[@]}" "$program" "${arguments[@]}" 2>&1
