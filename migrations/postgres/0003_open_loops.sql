-- As migrations/sqlite/0006_open_loops.sql.
CREATE TABLE open_loop (
    installation BIGINT NOT NULL,
    repository   TEXT   NOT NULL COLLATE nocase,
    what         TEXT   NOT NULL COLLATE "C",
    part         TEXT   NOT NULL COLLATE "C",
    who          TEXT   NOT NULL COLLATE "C",
    author       TEXT   NOT NULL COLLATE "C",
    agent        TEXT   NOT NULL COLLATE "C",
    since        BIGINT NOT NULL,
    looked_at    BIGINT NOT NULL,
    loop         TEXT   NOT NULL COLLATE "C",
    PRIMARY KEY (installation, repository, what)
) WITH (fillfactor = 70);
CREATE INDEX open_loop_by_part ON open_loop (part, since, repository, what);

UPDATE open_pull SET looked_at = NULL;
