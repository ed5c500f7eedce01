#!/usr/bin/env bash
# cron-parser 5.10.6, croner 11.0.1, cron 4.4.0 (npm); croniter 7.0.0, cronsim 2.8, pycron 3.3.0, APScheduler 3.11.3 (PyPI);
# Node 26.12.1.
#
# Expected: five fields name the same days everywhere, but for APScheduler's Monday that is 0: day of month and day of week are
#   joined by "or" where both are set, 7 is Sunday, and a range that runs backwards is refused.
# Seen: with `*/10` and Monday two readers want both, and the others either. `1-31` with Monday is every day, but Mondays with
#   cron. `5-7` has no Sunday with pycron, `7` is never. `FRI-MON` is refused by five, has its Sunday with croniter and loses
#   Sunday and Monday with pycron. 29 February is an error with cron. APScheduler wants both always.
# Source: crontab(5) of Debian has the "or", and the rule that a field with a star in front does not count.
# Why it matters: who reads the schedule of a workflow to tell when its next run is due gets the day of another one.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 cron-parser@5.10.6 croner@11.0.1 cron@4.4.0
pip_packages croniter==7.0.0 cronsim==2.8 pycron==3.3.0 apscheduler==3.11.3

cat >next.cjs <<'CODE'
const { CronExpressionParser } = require("cron-parser");
const { Cron } = require("croner");
const { CronTime } = require("cron");
const start = new Date("2027-01-01T00:00:30Z");
const name = (date) => new Date(date).toISOString().slice(5, 10) + " " + ["Su", "Mo", "Tu", "We", "Th", "Fr", "Sa"][new Date(date).getUTCDay()];
const readers = {
  "cron-parser": (text) => {
    const dates = CronExpressionParser.parse(text, { currentDate: start, tz: "UTC" });
    return [1, 2, 3].map(() => dates.next().toDate());
  },
  croner: (text) => new Cron(text, { timezone: "UTC", paused: true }).nextRuns(3, start),
  cron: (text) => {
    const time = new CronTime(text, "UTC");
    const dates = [start];
    for (const _ of [1, 2, 3]) dates.push(time.getNextDateFrom(dates.at(-1), "UTC").toJSDate());
    return dates.slice(1);
  },
};
for (const [reader, read] of Object.entries(readers)) {
  let seen;
  try { seen = read(process.argv[2]).map(name).join(", "); } catch { seen = "an error"; }
  console.log(`  ${reader}: ${seen}`);
}
CODE
cat >next.py <<'CODE'
import sys
from datetime import datetime, timedelta, timezone
from itertools import islice
import croniter, cronsim, pycron
from apscheduler.triggers.cron import CronTrigger

text, start = sys.argv[1], datetime(2027, 1, 1, 0, 0, 30, tzinfo=timezone.utc)

def by_pycron():
    days = (datetime(2027, 1, 2, tzinfo=timezone.utc) + timedelta(days=day) for day in range(5000))
    return list(islice((day for day in days if pycron.is_now(text, day)), 3))

def by_apscheduler():
    trigger, dates, now = CronTrigger.from_crontab(text, timezone="UTC"), [], start
    for _ in range(3):
        dates.append(trigger.get_next_fire_time(None, now))
        now = dates[-1] + timedelta(seconds=1)
    return dates

readers = {
    "croniter": lambda: islice(croniter.croniter(text, start, ret_type=datetime).all_next(datetime), 3),
    "cronsim": lambda: islice(cronsim.CronSim(text, start), 3),
    "pycron": by_pycron,
    "apscheduler": by_apscheduler,
}
for name, read in readers.items():
    try:
        seen = ", ".join(date.strftime("%m-%d ") + date.strftime("%a")[:2] for date in read()) or "never"
    except Exception:
        seen = "an error"
    print(f"  {name}: {seen}")
CODE

observe() {
  local text
  for text in '0 0 */10 * 1' '0 0 1-31 * 1' '0 0 * * 5-7' '0 0 * * 7' '0 0 * * FRI-MON' '0 0 29 2 *'; do
    echo "$text"
    NODE_PATH="$folder/node_modules" TZ=UTC node next.cjs "$text"
    python3 -W ignore next.py "$text"
  done
}

finding observe <<'RECORDED'
0 0 */10 * 1
  cron-parser: 01-04 Mo, 01-11 Mo, 01-18 Mo
  croner: 01-04 Mo, 01-11 Mo, 01-18 Mo
  cron: 01-04 Mo, 01-11 Mo, 01-18 Mo
  croniter: 01-04 Mo, 01-11 Mo, 01-18 Mo
  cronsim: 01-11 Mo, 02-01 Mo, 03-01 Mo
  pycron: 01-11 Mo, 02-01 Mo, 03-01 Mo
  apscheduler: 05-11 Tu, 06-01 Tu, 08-31 Tu
0 0 1-31 * 1
  cron-parser: 01-02 Sa, 01-03 Su, 01-04 Mo
  croner: 01-02 Sa, 01-03 Su, 01-04 Mo
  cron: 01-04 Mo, 01-11 Mo, 01-18 Mo
  croniter: 01-02 Sa, 01-03 Su, 01-04 Mo
  cronsim: 01-02 Sa, 01-03 Su, 01-04 Mo
  pycron: 01-02 Sa, 01-03 Su, 01-04 Mo
  apscheduler: 01-05 Tu, 01-12 Tu, 01-19 Tu
0 0 * * 5-7
  cron-parser: 01-02 Sa, 01-03 Su, 01-08 Fr
  croner: 01-02 Sa, 01-03 Su, 01-08 Fr
  cron: 01-02 Sa, 01-03 Su, 01-08 Fr
  croniter: 01-02 Sa, 01-03 Su, 01-08 Fr
  cronsim: 01-02 Sa, 01-03 Su, 01-08 Fr
  pycron: 01-02 Sa, 01-08 Fr, 01-09 Sa
  apscheduler: an error
0 0 * * 7
  cron-parser: 01-03 Su, 01-10 Su, 01-17 Su
  croner: 01-03 Su, 01-10 Su, 01-17 Su
  cron: 01-03 Su, 01-10 Su, 01-17 Su
  croniter: 01-03 Su, 01-10 Su, 01-17 Su
  cronsim: 01-03 Su, 01-10 Su, 01-17 Su
  pycron: never
  apscheduler: an error
0 0 * * FRI-MON
  cron-parser: an error
  croner: an error
  cron: an error
  croniter: 01-02 Sa, 01-03 Su, 01-04 Mo
  cronsim: an error
  pycron: 01-02 Sa, 01-08 Fr, 01-09 Sa
  apscheduler: an error
0 0 29 2 *
  cron-parser: 02-29 Tu, 02-29 Su, 02-29 Fr
  croner: 02-29 Tu, 02-29 Su, 02-29 Fr
  cron: an error
  croniter: 02-29 Tu, 02-29 Su, 02-29 Fr
  cronsim: 02-29 Tu, 02-29 Su, 02-29 Fr
  pycron: 02-29 Tu, 02-29 Su, 02-29 Fr
  apscheduler: 02-29 Tu, 02-29 Su, 02-29 Fr
RECORDED
