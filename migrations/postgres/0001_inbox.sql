-- The tables of migrations/sqlite, for several processes at once. What columns mean is said there. Times are
-- milliseconds since 1970.

-- As COLLATE NOCASE there.
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- Each transaction takes a block of numbers.
CREATE SEQUENCE numbers INCREMENT 1000000;

-- The database's clock: those of the processes may differ.
CREATE FUNCTION clock_millis() RETURNS BIGINT LANGUAGE sql VOLATILE
    RETURN (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT;

-- A process whose time is over holds nothing any more.
CREATE TABLE process (
    id          BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    alive_until BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Rows come and go: vacuumed by their number, however many there are, and with room to be updated in place.
CREATE TABLE work (
    installation  BIGINT NOT NULL,
    repository    TEXT   NOT NULL COLLATE nocase,
    what          TEXT   NOT NULL COLLATE "C",
    newest        BIGINT NOT NULL,
    delivery      TEXT   NOT NULL,
    event         TEXT   NOT NULL,
    received_at   BIGINT NOT NULL,
    waiting_since BIGINT,
    hints         TEXT   NOT NULL DEFAULT '',
    failures      BIGINT NOT NULL DEFAULT 0,
    failing_since BIGINT,
    reason        TEXT   NOT NULL DEFAULT '',
    retry_at      BIGINT,
    begun         BIGINT NOT NULL DEFAULT 0,
    holder        BIGINT,
    fence         BIGINT NOT NULL DEFAULT 0,
    dead_at       BIGINT,
    PRIMARY KEY (installation, repository, what)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX dead_letters ON work (dead_at) WHERE dead_at IS NOT NULL;

-- Delivery ids by the day they came, modulo the number of parts. Nothing is deleted: the part that tomorrow needs is
-- emptied as a whole, and leaves nothing to be vacuumed.
CREATE TABLE seen (
    part     BIGINT NOT NULL,
    delivery BYTEA  NOT NULL
) PARTITION BY LIST (part);

DO $$ BEGIN
    FOR part IN 0..10 LOOP
        EXECUTE format('CREATE TABLE seen_%s PARTITION OF seen FOR VALUES IN (%s)', part, part);
        EXECUTE format('CREATE UNIQUE INDEX ON seen_%s (delivery)', part);
    END LOOP;
END $$;

-- Empties a part, unless somebody reads it: nobody is made to wait, and there is a whole day to try again.
CREATE FUNCTION empty_part(part BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    is_used BOOLEAN;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM seen_%s)', part) INTO is_used;
    IF is_used THEN
        EXECUTE format('LOCK TABLE seen_%s IN ACCESS EXCLUSIVE MODE NOWAIT', part);
        EXECUTE format('TRUNCATE seen_%s', part);
    END IF;
EXCEPTION WHEN lock_not_available THEN
    NULL;
END $$;

CREATE TABLE wakeup (
    installation BIGINT NOT NULL,
    repository   TEXT   NOT NULL COLLATE nocase,
    what         TEXT   NOT NULL COLLATE "C",
    due_at       BIGINT NOT NULL,
    PRIMARY KEY (installation, repository, what)
);
CREATE INDEX wakeup_by_time ON wakeup (due_at);

CREATE TABLE probe (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    at BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE failed_delivery (
    guid      TEXT   NOT NULL PRIMARY KEY,
    attempt   BIGINT NOT NULL,
    failures  BIGINT NOT NULL,
    failed_at BIGINT NOT NULL,
    due_at    BIGINT
);

CREATE TABLE progress (
    what TEXT   NOT NULL PRIMARY KEY,
    at   BIGINT NOT NULL
);

CREATE TABLE open_pull (
    installation BIGINT NOT NULL,
    repository   TEXT   NOT NULL COLLATE nocase,
    what         TEXT   NOT NULL COLLATE "C",
    updated_at   BIGINT NOT NULL,
    head         TEXT   NOT NULL,
    is_final     BIGINT NOT NULL DEFAULT 0,
    listed_at    BIGINT NOT NULL,
    looked_at    BIGINT,
    asked_at     BIGINT,
    PRIMARY KEY (installation, repository, what)
);
CREATE INDEX wanted_pull ON open_pull (installation, updated_at) WHERE looked_at IS NULL;
