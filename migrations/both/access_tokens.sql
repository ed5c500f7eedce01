-- Step 8 of migrations/sqlite, and step 5 of migrations/postgres.

-- Tokens that people made for their programs. What a program shows is hashed and looked up; it stands nowhere itself.
CREATE TABLE access_token (
    digest  TEXT   NOT NULL PRIMARY KEY,     -- SHA-256, in hexadecimal digits
    owner   BIGINT NOT NULL,                 -- GitHub's id of the person
    login   TEXT   NOT NULL,                 -- as it was when the token was made
    name    TEXT   NOT NULL,
    made_at BIGINT NOT NULL,                 -- milliseconds since 1970
    used_at BIGINT,                          -- to five minutes; NULL: never
    ends_at BIGINT NOT NULL
);
CREATE INDEX access_token_by_owner ON access_token (owner);
