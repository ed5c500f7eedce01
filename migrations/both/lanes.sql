-- Step 11 of migrations/sqlite, and step 8 of migrations/postgres.

-- What waits in a lane, class by class: a page is read there without what is before it, and without other classes.
CREATE INDEX work_by_class ON work (installation, class, repository, what) WHERE dead_at IS NULL;
