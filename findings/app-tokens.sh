#!/usr/bin/env bash
# @octokit/auth-app 8.3.1 (npm); PyGithub 2.10.0, gidgethub 6.0.0, PyJWT 2.15.1 (PyPI); Node 26.12.1.
#
# Expected: three makers of a GitHub App's token write the same claims for the same App, as GitHub describes them: a
#   minute back, ten minutes at most.
# Seen: none writes the same. octokit goes 30 s back, not 60. PyGithub's token ends after five minutes, the others' after
#   nine or more. The App's number is a number or a text in octokit as it was given, always a text in PyGithub, and an
#   error in gidgethub, whose newest PyJWT takes texts only.
# Source: docs.github.com, Generating a JSON Web Token for a GitHub App: iat 60 s in the past, exp at most 10 minutes
#   ahead; of the rest no documentation found.
# Why it matters: on a machine whose clock is 45 s ahead one client works and another gets 401; a token that is kept for
#   nine minutes is over in one of them.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @octokit/auth-app@8.3.1
pip_packages PyGithub==2.10.0 gidgethub==6.0.0 PyJWT==2.15.1

ln -s "$folder/node_modules" node_modules
node -e "console.log(require('crypto').generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }))" >key.pem
cat >tokens.mjs <<'CODE'
import fs from 'node:fs'
import { createAppAuth } from '@octokit/auth-app'
const tokens = await Promise.all([7, '7'].map(async (appId) =>
  [(await createAppAuth({ appId, privateKey: fs.readFileSync('key.pem', 'utf8') })({ type: 'app' })).token, Date.now() / 1000]))
console.log(JSON.stringify(tokens))
CODE
cat >claims.py <<'CODE'
import base64, json, subprocess, time
from github import Auth
from gidgethub.apps import get_jwt

with open("key.pem") as file:
    key = file.read()
by_octokit = json.loads(subprocess.check_output(["node", "tokens.mjs"]))
for identity, made in zip((7, "7"), by_octokit):
    makers = {
        "octokit": lambda: made,
        "PyGithub": lambda: (Auth.AppAuth(identity, key).create_jwt(), time.time()),
        "gidgethub": lambda: (get_jwt(app_id=identity, private_key=key), time.time()),
    }
    for name, make in makers.items():
        try:
            token, now = make()
            claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
            begin, end = (round((claims[name] - now) / 10) * 10 for name in ("iat", "exp"))
            shown = f"iss {claims['iss']!r}, valid from {begin:+} s to {end:+} s"
        except TypeError as error:
            shown = f"an error: {error}"
        print(f"{name}, app {identity!r}: {shown}")
CODE

observe() {
  python3 claims.py
}

finding observe <<'RECORDED'
octokit, app 7: iss 7, valid from -30 s to +570 s
PyGithub, app 7: iss '7', valid from -60 s to +300 s
gidgethub, app 7: an error: Issuer (iss) must be a string.
octokit, app '7': iss '7', valid from -30 s to +570 s
PyGithub, app '7': iss '7', valid from -60 s to +300 s
gidgethub, app '7': iss '7', valid from -60 s to +540 s
RECORDED
