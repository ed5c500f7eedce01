-- Who waits for a target: 0 a person, 1 an author, 2 nobody yet, 3 nobody. The best of those that asked.
ALTER TABLE work ADD COLUMN class INTEGER NOT NULL DEFAULT 1;
