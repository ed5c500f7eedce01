//! Data that does not have the expected form: parsing, validation, databases, snapshots, mocks.

use super::{About, Known};
use crate::evidence::RootCauseCategory::{ConfigurationError, LogicError, MissingValidation};

pub(super) const TABLE: &[Known] = &[
    Known::new(
        "json_invalid",
        concat!(
            r"JSONDecodeError|Expecting value: line|in JSON at position|is not valid JSON",
            r"|Unexpected end of JSON input|invalid character .+ looking for beginning of value|JsonParseException",
            r"|JSON parse error|JsonException",
        ),
        MissingValidation,
        80,
    )
    .says(
        "A text that is not JSON is parsed as JSON.",
        "Check status and content type of the answer before it is parsed at this line, and handle an empty one.",
        "An empty body or an error page in HTML are the usual texts here, and neither is JSON.",
    ),
    Known::new(
        "number_invalid",
        concat!(
            r"invalid digit found in string|invalid literal for int\(\)|could not convert string to float",
            r"|NumberFormatException|strconv\.[A-Za-z]+: parsing|invalid float literal",
            r"|cannot parse integer from empty string|Input string was not in a correct format",
        ),
        MissingValidation,
        85,
    )
    .says(
        "A text that is no number is parsed as one.",
        "Validate the text before it is parsed at this line, and return an error that names it.",
        "The input holds something else than digits on this path; white space and an empty text count.",
    ),
    Known::new(
        "field_invalid",
        concat!(
            r"missing field `(?P<name>[^`\n]+)`|unknown field `(?P<other>[^`\n]+)`|unknown variant `",
            r"|invalid type: .+, expected |Unrecognized field|Field required|KeyError: |validation errors? for ",
            r"|is a required property",
        ),
        MissingValidation,
        75,
    )
    .says(
        "The data and the declared fields differ.",
        "Make the data that is read at this line match the declared fields.",
        "The value cannot be built from data of another form.",
    ),
    Known::new(
        "constraint_violated",
        concat!(
            r"violates (?:not-null|unique|foreign key|check) constraint",
            r"|(?:UNIQUE|NOT NULL|FOREIGN KEY|CHECK) constraint failed|Duplicate entry .+ for key|IntegrityError",
            r"|duplicate key value",
        ),
        MissingValidation,
        85,
    )
    .says(
        "A row breaks a constraint of the database.",
        "Validate the value before it is written at this line; in a test, start from an empty table.",
        "The database refuses the whole statement when one row breaks a constraint.",
    ),
    Known::new(
        "schema_missing",
        concat!(
            r"no such (?:table|column): |relation .+ does not exist|column .+ does not exist",
            r"|Table '.+' doesn't exist|Unknown column|unapplied migration",
        ),
        ConfigurationError,
        85,
    )
    .says(
        "The database lacks a table or column that the code uses.",
        "Add the migration that creates it, and run the migrations before this check.",
        "The code and the schema of the database are of different versions.",
    ),
    Known::new(
        "snapshot_differs",
        concat!(
            r"(?i)snapshot assertion for|snapshots? (?:.+ )?(?:mismatched|does not match|doesn't match|failed)",
            r"|toMatch(?:Inline)?Snapshot|obsolete snapshot",
        ),
        LogicError,
        75,
    )
    .about(About::Everything)
    .says(
        "The output differs from the stored snapshot.",
        "Read the difference and correct the code that writes the output; accept the new snapshot only for a change \
         that the pull request intends.",
        "A snapshot accepted unread hides the very change it is there to show.",
    ),
    Known::new(
        "mock_not_called",
        concat!(
            r"toHaveBeenCalled|Wanted but not invoked|Expected number of calls: *>?=? ?[1-9]",
            r"|Expected '\S+' to (?:have been|be) called|missing call\(s\) to|Verification failed: call",
        ),
        LogicError,
        75,
    )
    .about(About::Everything)
    .says(
        "The code does not make a call that the test expects.",
        "Follow the path of this test from the entry to the expected call, and correct the condition that turns off \
         before it.",
        "The mock was ready, so the call was never reached, or was made with other arguments.",
    ),
];

#[cfg(test)]
mod tests {
    #[test]
    fn examples() {
        super::super::tests::check(
            super::TABLE,
            &[
                ("json_invalid", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
                ("json_invalid", "invalid character '<' looking for beginning of value"),
                ("number_invalid", "ValueError: invalid literal for int() with base 10: ''"),
                ("field_invalid", "missing field `tax` at line 3 column 1"),
                ("constraint_violated", "UNIQUE constraint failed: carts.id"),
                ("schema_missing", "sqlite3.OperationalError: no such table: carts"),
                ("snapshot_differs", "insta snapshot assertion for 'total' failed in line 12"),
                ("mock_not_called", "expect(jest.fn()).toHaveBeenCalledWith(...expected)"),
            ],
        );
    }
}
