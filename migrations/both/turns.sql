-- Step 10 of migrations/sqlite, and step 7 of migrations/postgres.

-- When a pull request that had to wait may create something, one each. A row goes when its turn is over.
CREATE TABLE turn (
    installation BIGINT NOT NULL,
    head         TEXT   NOT NULL,            -- the commit
    need         BIGINT NOT NULL,            -- for what, the most needed first
    at           BIGINT NOT NULL,            -- milliseconds since 1970
    PRIMARY KEY (installation, head)
);
