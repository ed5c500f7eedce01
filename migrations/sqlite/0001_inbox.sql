-- The inbox: what was accepted and is not yet done. Rows of one target lie side by side, so that one range read tells
-- a job all that it covers, and one range delete finishes it. `seq` orders deliveries over all targets.
CREATE TABLE inbox (
    installation INTEGER NOT NULL,
    repository   TEXT    NOT NULL COLLATE NOCASE,  -- owner/name; '' for a whole installation
    what         TEXT    NOT NULL,                 -- pr:12, head:<sha>, base:<branch>, …
    seq          INTEGER NOT NULL,
    delivery     TEXT    NOT NULL,                 -- X-GitHub-Delivery; '' for a wake-up
    event        TEXT    NOT NULL,
    received_at  INTEGER NOT NULL,                 -- milliseconds since 1970
    hints        TEXT    NOT NULL,                 -- JSON array; '' for none
    PRIMARY KEY (installation, repository, what, seq)
) STRICT, WITHOUT ROWID;

-- Delivery ids that were accepted, so that a repeated delivery changes nothing. GitHub's log reaches back 3 days;
-- ids are kept for longer.
CREATE TABLE seen (
    delivery    TEXT    NOT NULL PRIMARY KEY,
    received_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX seen_by_time ON seen (received_at);

-- Targets whose last attempt failed: when to try again, or that they were given up (`dead_at`), and why. A target
-- given up lives again with any row newer than `dead_up_to`.
CREATE TABLE trouble (
    installation INTEGER NOT NULL,
    repository   TEXT    NOT NULL COLLATE NOCASE,
    what         TEXT    NOT NULL,
    failures     INTEGER NOT NULL,
    reason       TEXT    NOT NULL,
    retry_at     INTEGER NOT NULL,
    dead_at      INTEGER,
    dead_up_to   INTEGER,
    PRIMARY KEY (installation, repository, what)
) STRICT, WITHOUT ROWID;

-- Pull requests to look at again at a time, whether or not an event comes.
CREATE TABLE wakeup (
    installation INTEGER NOT NULL,
    repository   TEXT    NOT NULL COLLATE NOCASE,
    what         TEXT    NOT NULL,
    due_at       INTEGER NOT NULL,
    PRIMARY KEY (installation, repository, what)
) STRICT, WITHOUT ROWID;
CREATE INDEX wakeup_by_time ON wakeup (due_at);
