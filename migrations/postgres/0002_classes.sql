-- As migrations/sqlite/0005_classes.sql.
ALTER TABLE work ADD COLUMN class BIGINT NOT NULL DEFAULT 1;
