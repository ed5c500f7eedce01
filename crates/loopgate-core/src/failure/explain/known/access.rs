//! Values that are not there: null, nil, none, and places beyond an end.

use super::Known;
use crate::evidence::RootCauseCategory::{
    LogicError, MissingErrorHandling, MissingValidation, NullUndefinedAccess, OffByOne, ResourceLeak,
};

pub(super) const TABLE: &[Known] = &[
    Known::new(
        "js_property_of_nothing",
        concat!(
            r"Cannot (?:read|set) propert(?:y|ies) of (?P<nothing>undefined|null) \((?:reading",
            r"|setting) '(?P<name>[^'\n]*)'\)",
        ),
        NullUndefinedAccess,
        90,
    )
    .says(
        "{name} is read from a value that is {nothing}.",
        "Add a check for {nothing} before {name} is read at this line, and decide there what a missing value means.",
        "The read throws as soon as the value is {nothing}, and nothing after it runs.",
    ),
    Known::new(
        "js_property_of_nothing_old",
        concat!(
            r"Cannot (?:read|set) property '(?P<name>[^'\n]*)' of (?P<nothing>undefined|null)",
            r"|(?:undefined|null) is not an object|can't access property|(?:undefined|null) is not iterable",
            r"|Cannot convert undefined or null to object|Cannot destructure property",
        ),
        NullUndefinedAccess,
        85,
    )
    .says(
        "A property is read from a value that is null or undefined.",
        "Add a check for the missing value before this line, and decide there what it means.",
        "The read throws as soon as the value is missing, and nothing after it runs.",
    ),
    Known::new(
        "python_none_attribute",
        r"'NoneType' object has no attribute '(?P<name>[^'\n]+)'",
        NullUndefinedAccess,
        90,
    )
    .says(
        "{name} is read from a value that is `None`.",
        "Add a check for `None` before {name} is read at this line, and decide there what a missing value means.",
        "The function that gave the value returned nothing on this path.",
    ),
    Known::new(
        "python_none_used",
        concat!(
            r"'NoneType' object (?:is not|cannot be|does not support)",
            r"|unsupported operand type\(s\) for .*'NoneType'|argument of type 'NoneType'",
        ),
        NullUndefinedAccess,
        85,
    )
    .says(
        "`None` is used where a value is needed.",
        "Return a value on every path of the function that gives this `None`.",
        "A Python function without a `return` on some path gives `None` there.",
    ),
    Known::new(
        "java_null_call",
        r#"Cannot (?P<what>invoke|read|load|store|throw|enter)[^\n]*because "(?P<name>[^"\n]+)" is null"#,
        NullUndefinedAccess,
        90,
    )
    .says(
        "{name} is null where it is used.",
        "Set {name} on every path that leads to this line.",
        "The call throws before the method is entered.",
    ),
    Known::new(
        "null_pointer",
        concat!(
            r"NullPointerException|NullReferenceException|Object reference not set to an instance of an object",
            r"|lateinit property (?P<name>\S+) has not been initialized",
        ),
        NullUndefinedAccess,
        80,
    )
    .says(
        "A reference is null where an object is needed.",
        "Set the reference that this line uses on every path that leads here.",
        "The access throws before anything else on the line happens.",
    ),
    Known::new(
        "rust_unwrap_none",
        r"called `Option::(?P<call>unwrap|expect)\(\)` on a `None` value",
        NullUndefinedAccess,
        90,
    )
    .says(
        "`Option::unwrap` meets `None`.",
        "Replace the `unwrap` at this line with `ok_or` and `?`, so that a missing value is an error with a name.",
        "`unwrap` turns the missing value into a panic that the caller cannot handle.",
    ),
    Known::new(
        "rust_unwrap_err",
        concat!(
            r"called `Result::(?:unwrap|expect)\(\)` on an `Err` value: (?P<error>[^\n]+)",
            r"|called `Result::unwrap_err\(\)`",
        ),
        MissingErrorHandling,
        80,
    )
    .says(
        "`Result::unwrap` meets an error: {error}.",
        "Mend what causes this error on this path, and return it with `?` in place of the `unwrap`.",
        "`unwrap` turns the error into a panic that the caller cannot handle.",
    ),
    Known::new(
        "go_nil",
        r"invalid memory address or nil pointer dereference|assignment to entry in nil map",
        NullUndefinedAccess,
        90,
    )
    .says(
        "A nil pointer or nil map is used.",
        "Initialise the value on every path that leads to this line.",
        "A nil pointer has no fields, and a nil map takes no entries.",
    ),
    Known::new("ruby_nil", r"undefined method [`'](?P<name>[^'\n]+)' for nil", NullUndefinedAccess, 90).says(
        "{name} is called on `nil`.",
        "Add a check for `nil` before {name} is called at this line, and decide there what a missing value means.",
        "`nil` has no such method, so the call raises at once.",
    ),
    Known::new(
        "php_null",
        concat!(
            r"Call to a member function (?P<name>[A-Za-z0-9_]+)\(\) on null",
            r"|Attempt to (?:read|assign) property .* on null",
            r"|Trying to access array offset on (?:value of type )?null",
        ),
        NullUndefinedAccess,
        90,
    )
    .says(
        "A method or property of null is used.",
        "Add a check for `null` before this line, and decide there what a missing value means.",
        "`null` has no methods and no properties.",
    ),
    Known::new("swift_nil", r"Unexpectedly found nil while (?:implicitly )?unwrapping", NullUndefinedAccess, 90).says(
        "A force-unwrapped optional is nil.",
        "Replace the force unwrap at this line with `guard let` and handle nil.",
        "Unwrapping nil by force ends the process.",
    ),
    Known::new(
        "rust_index",
        r"index out of bounds: the len is (?P<length>[0-9]+) but the index is (?P<index>[0-9]+)",
        OffByOne,
        85,
    )
    .says(
        "Index {index} is read from a sequence of {length} elements.",
        "Correct the bound that this index comes from, so that it stays below {length}.",
        "Elements are counted from 0, so the last one has the index length - 1.",
    ),
    Known::new(
        "go_index",
        concat!(
            r"index out of range \[(?P<index>-?[0-9]+)\](?: with length (?P<length>[0-9]+))?",
            r"|slice bounds out of range",
        ),
        OffByOne,
        85,
    )
    .says(
        "An index or slice bound lies beyond the end of the slice.",
        "Correct the bound that this index comes from, so that it stays below `len`.",
        "Elements are counted from 0, so the last one has the index len - 1.",
    ),
    Known::new("java_index", r"Index (?P<index>-?[0-9]+) out of bounds for length (?P<length>[0-9]+)", OffByOne, 85)
        .says(
            "Index {index} is read from {length} elements.",
            "Correct the bound that this index comes from, so that it stays below {length}.",
            "Elements are counted from 0, so the last one has the index length - 1.",
        ),
    Known::new(
        "index_out_of_range",
        concat!(
            r"(?i)(?:list|string|tuple|array|pop) (?:assignment )?index out of range|index out of range",
            r"|IndexOutOfBoundsException|Index was (?:out of range|outside the bounds)",
            r"|range (?:start|end) index [0-9]+ out of range|_M_range_check|pop from empty list",
            r"|(?:heap|stack|global)-buffer-overflow|Offset .* out of bounds",
        ),
        OffByOne,
        80,
    )
    .says(
        "An element beyond the end of a sequence is used.",
        "Correct the bound that this index comes from, and handle the empty sequence.",
        "Elements are counted from 0, so the last one has the index length - 1; an empty sequence has none.",
    ),
    Known::new("char_boundary", r"byte index (?P<index>[0-9]+) is not a char boundary", OffByOne, 90).says(
        "A string is cut in the middle of a character, at byte {index}.",
        "Cut at a position that `char_indices` or `floor_char_boundary` gives.",
        "Characters outside ASCII take several bytes; a slice must begin and end between characters.",
    ),
    Known::new(
        "division_by_zero",
        concat!(
            r"(?i)attempt to (?:divide by zero|calculate the remainder with a divisor of zero)|division by zero",
            r"|divide by zero|/ by zero|ZeroDivisionError|divided by 0",
        ),
        MissingValidation,
        90,
    )
    .says(
        "A number is divided by zero.",
        "Handle a zero divisor before this line, and decide there what the result is.",
        "The divisor is zero for this input, and the division has no result.",
    ),
    Known::new(
        "overflow",
        concat!(
            r"attempt to (?P<operation>add|subtract|multiply|negate|shift left|shift right) with overflow",
            r"|(?i:integer overflow|arithmetic overflow|OverflowError",
            r"|Arithmetic operation resulted in an overflow)",
        ),
        MissingValidation,
        85,
    )
    .says(
        "A calculation leaves the range of its integer type.",
        "Use the checked operation of the type at this line, and handle its failure.",
        "The result does not fit; a subtraction of unsigned numbers overflows as soon as it goes below zero.",
    ),
    Known::new(
        "endless_recursion",
        concat!(
            r"maximum recursion depth exceeded|Maximum call stack size exceeded|StackOverflowError",
            r"|has overflowed its stack|stack overflow|goroutine stack exceeds|stack level too deep",
            r"|too much recursion",
        ),
        LogicError,
        90,
    )
    .says(
        "A function calls itself without end.",
        "Add the missing end condition to the function that repeats in the trace.",
        "Each call takes stack, and the recursion stopped only when there was none left.",
    ),
    Known::new(
        "use_after_free",
        concat!(
            r"heap-use-after-free|stack-use-after-(?:return|scope)|double[- ]free",
            r"|attempting free on address which was not malloc",
        ),
        ResourceLeak,
        90,
    )
    .says(
        "Memory is used or freed after it was already freed.",
        "Give the object one owner: remove the earlier of the two frees that the report shows.",
        "The report names where the memory was freed and where it is used again.",
    ),
    Known::new(
        "segmentation_fault",
        r"(?i:segmentation fault)|SIGSEGV|SEGV on unknown address|EXC_BAD_ACCESS|signal 11\b|Access violation",
        NullUndefinedAccess,
        65,
    )
    .says(
        "The process read or wrote memory that is not its own.",
        "Check the pointer used at the innermost own frame against null before it is used.",
        "The operating system ends a process at such an access, so no error handling runs.",
    ),
];

#[cfg(test)]
mod tests {
    #[test]
    fn examples() {
        super::super::tests::check(
            super::TABLE,
            &[
                ("js_property_of_nothing", "TypeError: Cannot read properties of undefined (reading 'price')"),
                ("js_property_of_nothing_old", "TypeError: Cannot read property 'price' of undefined"),
                ("js_property_of_nothing_old", "TypeError: undefined is not an object (evaluating 'line.price')"),
                ("python_none_attribute", "AttributeError: 'NoneType' object has no attribute 'price'"),
                ("python_none_used", "TypeError: 'NoneType' object is not subscriptable"),
                (
                    "java_null_call",
                    "java.lang.NullPointerException: Cannot invoke \"Line.price()\" because \"line\" is null",
                ),
                ("null_pointer", "java.lang.NullPointerException"),
                (
                    "null_pointer",
                    "System.NullReferenceException : Object reference not set to an instance of an object.",
                ),
                ("rust_unwrap_none", "called `Option::unwrap()` on a `None` value"),
                ("rust_unwrap_err", "called `Result::unwrap()` on an `Err` value: ParseIntError { kind: Empty }"),
                ("go_nil", "panic: runtime error: invalid memory address or nil pointer dereference"),
                ("ruby_nil", "undefined method `price' for nil:NilClass"),
                ("php_null", "Call to a member function price() on null"),
                ("swift_nil", "Fatal error: Unexpectedly found nil while unwrapping an Optional value"),
                ("rust_index", "index out of bounds: the len is 3 but the index is 3"),
                ("go_index", "runtime error: index out of range [3] with length 3"),
                ("java_index", "Index 3 out of bounds for length 3"),
                ("index_out_of_range", "IndexError: list index out of range"),
                ("index_out_of_range", "range end index 5 out of range for slice of length 3"),
                ("char_boundary", "byte index 1 is not a char boundary; it is inside 'ä' (bytes 0..2)"),
                ("division_by_zero", "ZeroDivisionError: division by zero"),
                ("overflow", "attempt to subtract with overflow"),
                ("endless_recursion", "RangeError: Maximum call stack size exceeded"),
                ("use_after_free", "AddressSanitizer: heap-use-after-free on address 0x6"),
                ("segmentation_fault", "Segmentation fault (core dumped)"),
            ],
        );
    }
}
