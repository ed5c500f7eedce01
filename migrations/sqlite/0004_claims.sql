-- Processes of Loopgate, for the right to work on a target. Here there is one at a time, which is never taken for dead.
CREATE TABLE process (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    alive_until INTEGER NOT NULL
) STRICT;

-- The process that works on a target; NULL: none.
ALTER TABLE work ADD COLUMN holder INTEGER;
-- Differs for each time that work on it began.
ALTER TABLE work ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;
