-- What is wrong with the configuration that governs a loop, and which look noticed it first; '' where nothing is.
ALTER TABLE open_loop ADD COLUMN problem TEXT NOT NULL DEFAULT '';
ALTER TABLE open_loop ADD COLUMN problem_since INTEGER NOT NULL DEFAULT 0;
