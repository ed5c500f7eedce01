-- What waits to be looked at: one row per target, however many deliveries concern it. A row goes when a look that began
-- after its newest delivery ended well.
CREATE TABLE work (
    installation INTEGER NOT NULL,
    repository   TEXT    NOT NULL COLLATE NOCASE,  -- owner/name; '' for a whole installation
    what         TEXT    NOT NULL,                 -- pr:12, head:<sha>, base:<branch>, …
    newest       INTEGER NOT NULL,                 -- grows with each delivery, over all targets
    delivery     TEXT    NOT NULL,                 -- X-GitHub-Delivery of the newest; '' for a wake-up
    event        TEXT    NOT NULL,                 -- of the newest
    received_at  INTEGER NOT NULL,                 -- of the newest, milliseconds since 1970
    hints        TEXT    NOT NULL DEFAULT '',      -- of all: one JSON value per line
    failures     INTEGER NOT NULL DEFAULT 0,       -- in a row
    reason       TEXT    NOT NULL DEFAULT '',      -- of the last failure
    retry_at     INTEGER,                          -- not before
    dead_at      INTEGER,                          -- given up then, until somebody replays it or a delivery comes
    PRIMARY KEY (installation, repository, what)
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_letters ON work (dead_at) WHERE dead_at IS NOT NULL;

-- Delivery ids that were accepted, so that a repeated delivery changes nothing. In the order of their arrival, so that
-- the oldest are found without an index over time.
CREATE TABLE seen (
    seq         INTEGER NOT NULL PRIMARY KEY,
    delivery    BLOB    NOT NULL UNIQUE,
    received_at INTEGER NOT NULL
) STRICT;

-- Pull requests to look at again at a time, whether or not an event comes.
CREATE TABLE wakeup (
    installation INTEGER NOT NULL,
    repository   TEXT    NOT NULL COLLATE NOCASE,
    what         TEXT    NOT NULL,
    due_at       INTEGER NOT NULL,
    PRIMARY KEY (installation, repository, what)
) STRICT, WITHOUT ROWID;
CREATE INDEX wakeup_by_time ON wakeup (due_at);
