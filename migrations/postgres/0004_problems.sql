-- As migrations/sqlite/0007_problems.sql.
ALTER TABLE open_loop ADD COLUMN problem TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE open_loop ADD COLUMN problem_since BIGINT NOT NULL DEFAULT 0;
