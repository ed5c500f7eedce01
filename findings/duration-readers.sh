#!/usr/bin/env bash
# ms 2.1.3, parse-duration 2.1.9, @lukeed/ms 2.0.2, itty-time 2.0.2, enhanced-ms 5.0.0, @sapphire/duration 1.2.0 (npm);
# pytimeparse 1.1.10, pytimeparse2 1.7.1, durationpy 0.11 (PyPI); Node 26.12.1.
#
# Expected: what several of nine readers of durations take, they take for the same; what one does not know it refuses.
# Seen: `1h30m` is nothing to three; `1h30` is 90 minutes to one and 60 to two. `.5m` is 5 minutes to one, `1,5h` is 15
#   hours to two, `-1h30m` is minus 30 minutes to one and plus 90 to another. `1 h` is a millisecond to one, and `1:30` is
#   1.03 milliseconds or 90 seconds. `90` is milliseconds to four, seconds to one, nothing to four. `1m` is nothing to
#   itty-time. A month has 30 days, 30.4 or 30.4375; nobody takes `1M` for one.
# Source: the documentation of each has the units; what is done with the rest is in none.
# Why it matters: timeouts of configuration files are written like this. One that is nothing is no timeout, or 0.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 ms@2.1.3 parse-duration@2.1.9 @lukeed/ms@2.0.2 itty-time@2.0.2 enhanced-ms@5.0.0 @sapphire/duration@1.2.0
pip_packages pytimeparse==1.1.10 pytimeparse2==1.7.1 durationpy==0.11

ln -s "$folder/node_modules" node_modules
cat >read.mjs <<'CODE'
import ms from 'ms'
import parseDuration from 'parse-duration'
import { parse } from '@lukeed/ms'
import { ms as itty } from 'itty-time'
import * as enhanced from 'enhanced-ms'
import { Duration } from '@sapphire/duration'
const readers = {
  ms, 'parse-duration': parseDuration, '@lukeed/ms': parse, 'itty-time': itty,
  'enhanced-ms': enhanced.parse ?? enhanced.ms ?? enhanced.default, '@sapphire/duration': (text) => new Duration(text).offset,
}
const seconds = (value) => (Number.isFinite(value) ? value / 1000 : null)
const read = (text) => Object.entries(readers).map(([name, reader]) => [name, seconds(reader(text))])
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(read)))
CODE
cat >read.py <<'CODE'
import json, subprocess
import durationpy, pytimeparse, pytimeparse2

TEXTS = ["1m", "1M", "1.5h", "1h30m", "1h30", ".5m", "1,5h", "-1h30m", "1 h", "1:30", "90", "1mo", "1y"]

def by_durationpy(text):
    try:
        return durationpy.from_str(text).total_seconds()
    except durationpy.DurationError:
        return None

for text, answers in zip(TEXTS, json.loads(subprocess.check_output(["node", "read.mjs", json.dumps(TEXTS)]))):
    answers += [("pytimeparse", pytimeparse.parse(text)), ("pytimeparse2", pytimeparse2.parse(text)), ("durationpy", by_durationpy(text))]
    groups = {}
    for name, answer in answers:
        groups.setdefault("nothing" if answer is None else f"{answer:g} s", []).append(name)
    print(f"{text}:", "; ".join(f"{answer}: {' '.join(names)}" for answer, names in groups.items()))
CODE

observe() {
  python3 read.py
}

finding observe <<'RECORDED'
1m: 60 s: ms parse-duration @lukeed/ms enhanced-ms @sapphire/duration pytimeparse pytimeparse2 durationpy; nothing: itty-time
1M: 60 s: ms parse-duration @lukeed/ms enhanced-ms @sapphire/duration pytimeparse pytimeparse2; nothing: itty-time durationpy
1.5h: 5400 s: ms parse-duration @lukeed/ms enhanced-ms @sapphire/duration pytimeparse pytimeparse2 durationpy; nothing: itty-time
1h30m: nothing: ms @lukeed/ms itty-time; 5400 s: parse-duration enhanced-ms @sapphire/duration pytimeparse pytimeparse2 durationpy
1h30: nothing: ms @lukeed/ms itty-time pytimeparse pytimeparse2 durationpy; 5400 s: parse-duration; 3600 s: enhanced-ms @sapphire/duration
.5m: 30 s: ms parse-duration @lukeed/ms @sapphire/duration pytimeparse pytimeparse2 durationpy; nothing: itty-time; 300 s: enhanced-ms
1,5h: nothing: ms @lukeed/ms itty-time enhanced-ms pytimeparse pytimeparse2 durationpy; 54000 s: parse-duration @sapphire/duration
-1h30m: nothing: ms @lukeed/ms itty-time; -5400 s: parse-duration pytimeparse pytimeparse2 durationpy; 5400 s: enhanced-ms; -1800 s: @sapphire/duration
1 h: 3600 s: ms parse-duration @lukeed/ms enhanced-ms @sapphire/duration pytimeparse pytimeparse2; 0.001 s: itty-time; nothing: durationpy
1:30: nothing: ms @lukeed/ms itty-time enhanced-ms @sapphire/duration durationpy; 0.00103 s: parse-duration; 90 s: pytimeparse pytimeparse2
90: 0.09 s: ms parse-duration @lukeed/ms itty-time; nothing: enhanced-ms @sapphire/duration pytimeparse durationpy; 90 s: pytimeparse2
1mo: nothing: ms @lukeed/ms itty-time pytimeparse durationpy; 2.6298e+06 s: parse-duration; 2.628e+06 s: enhanced-ms @sapphire/duration; 2.592e+06 s: pytimeparse2
1y: 3.15576e+07 s: ms parse-duration @lukeed/ms; nothing: itty-time pytimeparse; 3.1536e+07 s: enhanced-ms @sapphire/duration pytimeparse2 durationpy
RECORDED
