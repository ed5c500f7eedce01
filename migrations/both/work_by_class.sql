-- Finds the targets of one class without those of the others, of which there may be a hundred thousand.
CREATE INDEX work_by_class ON work (installation, class, repository, what);
