-- How each open loop stood when it was last looked at. A cache: whatever is missing is written by the next look.
CREATE TABLE open_loop (
    installation INTEGER NOT NULL,
    repository   TEXT    NOT NULL COLLATE NOCASE,
    what         TEXT    NOT NULL,             -- pr:12, as in work
    part         TEXT    NOT NULL,             -- who acts next
    who          TEXT    NOT NULL,             -- people and teams, in lower case, each between spaces
    author       TEXT    NOT NULL,             -- in lower case
    agent        TEXT    NOT NULL,             -- in lower case; '' where none wrote it
    since        INTEGER NOT NULL,             -- milliseconds since 1970
    looked_at    INTEGER NOT NULL,
    loop         TEXT    NOT NULL,             -- all of it, as JSON
    PRIMARY KEY (installation, repository, what)
) STRICT, WITHOUT ROWID;
-- With all that rows are chosen by, so that counting them reads no row.
CREATE INDEX open_loop_by_part ON open_loop (part, since, repository, what, who, author, agent);

-- The next resync looks at every open pull request, and so fills it.
UPDATE open_pull SET looked_at = NULL;
