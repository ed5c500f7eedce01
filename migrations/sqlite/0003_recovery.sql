-- Deliveries that GitHub's log shows as failed. A row goes when a later attempt is taken.
CREATE TABLE failed_delivery (
    guid      TEXT    NOT NULL PRIMARY KEY,
    attempt   INTEGER NOT NULL,             -- the newest failed one, as the log names it
    failures  INTEGER NOT NULL,
    failed_at INTEGER NOT NULL,             -- the newest
    due_at    INTEGER                       -- when to ask for another attempt; NULL: asked for
) STRICT, WITHOUT ROWID;

-- How far something has come, by name.
CREATE TABLE progress (
    what TEXT    NOT NULL PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What is known of open pull requests. A resync looks at those of which a list says something else.
CREATE TABLE open_pull (
    installation INTEGER NOT NULL,
    repository   TEXT    NOT NULL COLLATE NOCASE,
    what         TEXT    NOT NULL,             -- pr:12, as in work
    updated_at   INTEGER NOT NULL,             -- GitHub's time of the last change that is known
    head         TEXT    NOT NULL,
    is_final     INTEGER NOT NULL DEFAULT 0,   -- every check had ended when it was looked at
    listed_at    INTEGER NOT NULL,             -- when it was last known to be open
    looked_at    INTEGER,                      -- the last look that ended well; NULL: one is wanted
    asked_at     INTEGER,                      -- when a resync last made it work
    PRIMARY KEY (installation, repository, what)
) STRICT, WITHOUT ROWID;
CREATE INDEX wanted_pull ON open_pull (installation, updated_at) WHERE looked_at IS NULL;

-- When the oldest delivery came that is not yet dealt with. NULL: before this was noted.
ALTER TABLE work ADD COLUMN waiting_since INTEGER;
