-- Step 9 of migrations/sqlite, and step 6 of migrations/postgres.

-- What the processes of this App have taken of the limits that GitHub sets each installation. A row goes after an hour.
CREATE TABLE taken (
    installation BIGINT NOT NULL,
    kind         BIGINT NOT NULL,            -- 0: things created, 1: points
    at           BIGINT NOT NULL,            -- until then it may be used, milliseconds since 1970
    amount       BIGINT NOT NULL
);
CREATE INDEX taken_by_time ON taken (installation, kind, at);
