-- When the first of the failures in a row was. NULL: the last look ended well.
ALTER TABLE work ADD COLUMN failing_since INTEGER;
-- How often work began and did not end: the process died meanwhile.
ALTER TABLE work ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;

-- A row that means nothing, written to see whether the database can be written.
CREATE TABLE probe (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL
) STRICT;
