//! Types and names that do not fit: what compilers and interpreters say of wrong calls.

use super::Known;
use crate::evidence::RootCauseCategory::{ApiMisuse, ConfigurationError, LogicError, Other, TypeMismatch};

pub(super) const TABLE: &[Known] = &[
    Known::new(
        "misspelt_name",
        r"(?:Property|name|attribute|argument|member(?: named)?) '(?P<name>[^'\n]+)'[^\n]*[.?] Did you mean:? '(?P<right>[^'\n]+)'",
        TypeMismatch,
        90,
    )
    .says(
        "{name} does not exist; the nearest name that does is {right}.",
        "Write {right} in place of {name} at this line.",
        "The names differ by a few letters, and only {right} is declared.",
    ),
    Known::new(
        "ts_missing_property",
        r"Property '(?P<name>[^'\n]+)' does not exist on type '(?P<type>[^'\n]+)'",
        TypeMismatch,
        90,
    )
    .says(
        "{name} is no property of {type}.",
        "Correct {name} to a property that {type} declares; declare it there if it is new.",
        "The compiler knows {type} by its declaration alone.",
    ),
    Known::new(
        "ts_not_assignable",
        concat!(
            r"(?:Type|Argument of type) '(?P<given>[^\n]+?)' is not assignable to (?:type",
            r"|parameter of type) '(?P<wanted>[^\n]+?)'(?:\.|\n|$)",
        ),
        TypeMismatch,
        90,
    )
    .says(
        "A value of type {given} is given where {wanted} is needed.",
        "Convert the value to {wanted} before this line.",
        "The two types have no common value shape that the compiler accepts.",
    ),
    Known::new(
        "ts_possibly_nothing",
        r"\bTS(?:2531|2532|2533|18046|18047|18048|18049)\b|(?:is|Object is) possibly '(?:null|undefined)'",
        TypeMismatch,
        90,
    )
    .says(
        "A value that can be null or undefined is used without a check.",
        "Check the value for null and undefined before this line.",
        "Under `strict` the compiler refuses the use until a check has removed null and undefined from the type.",
    ),
    Known::new(
        "ts_argument_count",
        r"Expected (?P<wanted>[0-9-]+) arguments?, but got (?P<given>[0-9]+)",
        ApiMisuse,
        90,
    )
    .says(
        "A function that takes {wanted} arguments is called with {given}.",
        "Call it with the arguments its declaration names.",
        "The declaration of the function and this call differ.",
    ),
    Known::new(
        "ts_unknown_name",
        concat!(
            r"Cannot find name '(?P<name>[^'\n]+)'|Module '[^\n]+' has no exported member '(?P<name2>[^'\n]+)'",
            r"|\bTS2305\b",
        ),
        ApiMisuse,
        85,
    )
    .says(
        "A name is used that is neither declared nor exported where it is looked for.",
        "Import the name from the module that exports it, spelt as it is exported.",
        "The compiler resolves names only through declarations and imports.",
    ),
    Known::new(
        "js_not_a_function",
        concat!(
            r"(?P<name>[A-Za-z_$][A-Za-z0-9_$.]*(?:\([^()\n]*\))?(?:\.[A-Za-z0-9_$]+)*) is not a (?P<kind>function",
            r"|constructor)",
        ),
        ApiMisuse,
        80,
    )
    .says(
        "{name} is called, but it holds no {kind}.",
        "Correct where {name} comes from, so that it names a {kind} that exists.",
        "A default import in place of a named one, a misspelt name or an incomplete mock leaves no {kind} there.",
    ),
    Known::new(
        "js_test_environment",
        r"\b(?P<name>document|window|localStorage|navigator) is not defined",
        ConfigurationError,
        85,
    )
    .says(
        "The code uses the browser's {name}, but the test runs without a browser environment.",
        "Set the test environment of this file to `jsdom`.",
        "Node has no {name}; the test runner provides it only in that environment.",
    ),
    Known::new(
        "python_unexpected_argument",
        concat!(
            r"(?P<function>[A-Za-z0-9_.<>]+)\(\) (?:got an unexpected keyword argument '(?P<name>[^'\n]+)'",
            r"|missing (?P<count>[0-9]+) required (?:positional|keyword-only) arguments?",
            r"|takes (?:from )?[0-9]+ (?:to [0-9]+ )?positional arguments? but [0-9]+",
            r"|got multiple values for argument)",
        ),
        ApiMisuse,
        90,
    )
    .says(
        "{function} is called with other arguments than it takes.",
        "Call {function} with the parameters that its definition names.",
        "The definition of {function} and this call differ.",
    ),
    Known::new(
        "python_missing_attribute",
        concat!(
            r"(?:'(?P<type>[A-Za-z0-9_.]+)' object|type object '[^'\n]+'",
            r"|module '[^'\n]+') has no attribute '(?P<name>[^'\n]+)'",
        ),
        TypeMismatch,
        85,
    )
    .says(
        "{name} is no attribute of the object it is read from.",
        "Correct {name} to an attribute that the object's class defines; define it there if it is new.",
        "Python looks the name up when the line runs and finds nothing.",
    ),
    Known::new(
        "python_operand_types",
        r"unsupported operand type\(s\) for (?P<operator>[^:\n]+): '(?P<left>[^'\n]+)' and '(?P<right>[^'\n]+)'",
        TypeMismatch,
        90,
    )
    .says(
        "{operator} is applied to {left} and {right}.",
        "Convert one side at this line so that both have one type.",
        "Python converts neither side by itself.",
    ),
    Known::new(
        "python_type_mismatch",
        concat!(
            r"can only concatenate (?:str|list|tuple)|must be str, not",
            r"|'(?P<type>[A-Za-z_]+)' object is not (?:subscriptable|iterable|callable)",
            r"|not supported between instances of|unhashable type|indices must be integers",
        ),
        TypeMismatch,
        85,
    )
    .says(
        "A value has another type than the operation at this line needs.",
        "Convert the value to the needed type before this line.",
        "Python converts no types by itself.",
    ),
    Known::new(
        "undefined_name",
        concat!(
            r"(?:name '(?P<python>[^'\n]+)' is not defined|cannot access local variable '(?P<local>[^'\n]+)'",
            r"|\b(?P<js>[A-Za-z_$][A-Za-z0-9_$]*) is not defined\b|undefined local variable or method",
            r"|uninitialized constant|Undefined variable|Undefined constant)",
        ),
        ApiMisuse,
        85,
    )
    .says(
        "A name is used that is not defined at this line.",
        "Bring the name into scope before this line, spelt as it is used here.",
        "The name is looked up when the line runs, and there is none in scope.",
    ),
    Known::new(
        "mypy_type",
        concat!(
            r"Incompatible (?:types in assignment|return value type|default for argument)|has incompatible type ",
            r"|Unsupported (?:left )?operand types? for|Item \x22None\x22 of",
        ),
        TypeMismatch,
        85,
    )
    .says(
        "The type checker finds a value of another type than declared.",
        "Change the value at this line to the declared type.",
        "Declaration and value differ on this line.",
    ),
    Known::new("rust_mismatched_types", r"\bE0308\b|mismatched types", TypeMismatch, 85).says(
        "An expression has another type than its place needs.",
        "Convert the expression at this line to the expected type.",
        "Rust converts no types by itself.",
    ),
    Known::new(
        "rust_moved_value",
        r"\bE0382\b|(?:borrow|use) of (?:partially )?moved value: `(?P<name>[^`\n]+)`",
        ApiMisuse,
        90,
    )
    .says(
        "A value is used after it was moved away.",
        "Borrow the value where it is moved first.",
        "A moved value belongs to its new owner, and the old name is dead.",
    ),
    Known::new(
        "rust_borrow_conflict",
        concat!(
            r"\b(?:E0499|E0502|E0505|E0506|E0716|E0597|E0515|E0521)\b",
            r"|cannot borrow `(?P<name>[^`\n]+)` as (?:mutable|immutable)|does not live long enough",
            r"|cannot (?:assign to|move out of) `[^`\n]+` because it is borrowed",
            r"|cannot return (?:reference to|value referencing) ",
        ),
        ApiMisuse,
        85,
    )
    .says(
        "A value is changed, moved or dropped while it is still borrowed.",
        "End the borrow before this line: copy what is needed out of it.",
        "Rust allows either one mutable borrow or any number of shared ones at a time.",
    ),
    Known::new(
        "rust_not_mutable",
        concat!(
            r"\b(?:E0384|E0594|E0596)\b|cannot assign twice to immutable",
            r"|as mutable, as it is not declared as mutable",
        ),
        ApiMisuse,
        90,
    )
    .says(
        "A binding is changed that is not declared mutable.",
        "Declare the binding with `mut`.",
        "Bindings and references are immutable unless declared otherwise.",
    ),
    Known::new(
        "rust_trait_bound",
        concat!(
            r"\bE0277\b|the trait bound `(?P<bound>[^`\n]+)` is not satisfied",
            r"|doesn't implement `(?P<trait>[^`\n]+)`",
        ),
        TypeMismatch,
        85,
    )
    .says(
        "A type lacks a trait that this use needs.",
        "Implement the trait that the message names for the type it names.",
        "The called function accepts only types with that trait.",
    ),
    Known::new(
        "rust_unknown_method",
        r"\bE0599\b|no (?:method|function or associated item|variant)[^\n]* named `(?P<name>[^`\n]+)` found",
        ApiMisuse,
        85,
    )
    .says(
        "A method or variant is used that the type does not have.",
        "Correct the name to one that the type has; a method of a trait needs the trait in scope.",
        "Methods of a trait exist only where the trait is in scope.",
    ),
    Known::new(
        "rust_unknown_name",
        concat!(
            r"\b(?:E0425|E0412|E0405|E0422|E0531|E0433)\b",
            r"|cannot find (?:value|function|type|struct|macro|trait)[^\n]* `(?P<name>[^`\n]+)` in this scope",
        ),
        ApiMisuse,
        85,
    )
    .says(
        "A name is used that is not in scope.",
        "Bring the name into scope with `use`, spelt as it is declared.",
        "Names are resolved through declarations and imports of this module only.",
    ),
    Known::new(
        "rust_argument_count",
        r"\bE0061\b|this (?:function|method) takes (?P<wanted>[0-9]+) arguments? but (?P<given>[0-9]+)",
        ApiMisuse,
        90,
    )
    .says(
        "A function is called with another number of arguments than it takes.",
        "Pass the arguments that the definition names.",
        "The definition of the function and this call differ.",
    ),
    Known::new("rust_non_exhaustive", r"\bE0004\b|non-exhaustive patterns", LogicError, 90).says(
        "A `match` leaves out a case.",
        "Add an arm for the pattern that the message names.",
        "A `match` has to say what happens for every value.",
    ),
    Known::new(
        "rust_missing_field",
        concat!(
            r"\b(?:E0063|E0560|E0609)\b|missing fields? `(?P<name>[^`\n]+)` in initializer",
            r"|no field `(?P<other>[^`\n]+)` on type",
        ),
        TypeMismatch,
        90,
    )
    .says(
        "A struct is built or read with other fields than it declares.",
        "Use exactly the fields that the struct declares.",
        "Every field has to be set when a struct is built, and only declared ones can be read.",
    ),
    Known::new("rust_private", r"\b(?:E0603|E0616|E0624)\b|is private$", ApiMisuse, 90).says(
        "A private item is used from outside its module.",
        "Use the public function that offers it.",
        "Items are private to their module unless declared otherwise.",
    ),
    Known::new(
        "go_type",
        concat!(
            r"cannot use .+ \((?:variable|constant|value|untyped)[^\n]*\) as .+ (?:value|type) in",
            r"|(?:not enough|too many) (?:arguments in call|return values)|assignment mismatch",
        ),
        TypeMismatch,
        90,
    )
    .says(
        "A value or call does not fit the declared types.",
        "Change this line to the types that the message names after `as` and `want`.",
        "Go converts no types by itself.",
    ),
    Known::new("go_unused", r"declared and not used|imported and not used", Other, 95).says(
        "A variable or import is not used.",
        "Remove the unused name from this line.",
        "Go refuses to compile unused variables and imports.",
    ),
    Known::new(
        "go_undefined",
        r"(?m)(?:^|: )(?:undefined|undeclared name): (?P<name>\S+)|\.(?P<field>[A-Za-z0-9_]+) undefined \(type",
        ApiMisuse,
        85,
    )
    .says(
        "A name is used that the package does not define.",
        "Correct the name to one that is declared; names of other packages begin with a capital letter.",
        "Go resolves names through declarations and imports only.",
    ),
    Known::new(
        "unknown_symbol",
        concat!(
            r"cannot find symbol|[Uu]nresolved reference(?::? '?(?P<name>[A-Za-z0-9_]+)'?)?",
            r"|\bCS(?:0103|0117|0246|1061)\b|cannot find '[^'\n]+' in scope|has no member (?:named )?'",
            r"|use of undeclared identifier|was not declared in this scope|undeclared \(first use",
        ),
        ApiMisuse,
        85,
    )
    .says(
        "A name is used that the compiler does not know.",
        "Bring the name into scope, spelt as it is declared.",
        "The compiler resolves names through declarations and imports only.",
    ),
    Known::new(
        "java_incompatible_types",
        concat!(
            r"incompatible types: (?P<given>[^\n]+?) cannot be converted to (?P<wanted>[^\n]+)|[Tt]ype mismatch",
            r"|\bCS(?:0029|1503|0266)\b|cannot convert (?:value of type )?'[^'\n]+' to ",
        ),
        TypeMismatch,
        90,
    )
    .says(
        "A value has another type than its place needs.",
        "Convert the value at this line to the needed type.",
        "The compiler converts only where no information is lost.",
    ),
    Known::new(
        "class_cast",
        concat!(
            r"ClassCastException|class (?P<given>\S+) cannot be cast to class (?P<wanted>\S+)|InvalidCastException",
            r"|Could not cast value of type",
        ),
        TypeMismatch,
        85,
    )
    .says(
        "An object is cast to a type it does not have.",
        "Check the type with a pattern match before this line and handle the other case.",
        "The object's real type is decided where it is created, not where it is cast.",
    ),
    Known::new("checked_exception", r"unreported exception (?P<name>[A-Za-z0-9_.]+)", Other, 90).says(
        "{name} can be thrown here and is neither caught nor declared.",
        "Declare `throws` {name} on this method.",
        "Java checks that every such exception is handled somewhere.",
    ),
    Known::new(
        "php_type",
        concat!(
            r"must be of (?:the )?type (?P<wanted>[^\s,]+), (?P<given>[^\s,]+) (?:given|returned)",
            r"|Return value must be of type",
        ),
        TypeMismatch,
        90,
    )
    .says(
        "A value of another type is passed or returned than declared.",
        "Give a value of the declared type at this line.",
        "PHP checks declared types when the call runs.",
    ),
    Known::new(
        "unknown_function",
        concat!(
            r"Call to undefined (?:function|method) (?P<name>[^\s(]+)",
            r"|undefined method [`'](?P<method>[^'\n]+)' for|undefined reference to [`'](?P<symbol>[^'\n]+)'",
            r"|wrong number of arguments \(given",
        ),
        ApiMisuse,
        85,
    )
    .says(
        "A function is called that does not exist in this form.",
        "Call a function that exists, with the parameters its definition names.",
        "The name is looked up when the call is linked or runs, and nothing matches it.",
    ),
    Known::new("react_hook", r"Invalid hook call", ApiMisuse, 90).says(
        "A React hook is called outside a function component.",
        "Move the hook call to the top level of a component, or of a hook of your own.",
        "React finds a hook's state by the order of calls while a component renders.",
    ),
    Known::new(
        "tokio_runtime",
        r"there is no reactor running|Cannot (?:start a runtime from within|drop a runtime in a context)",
        ApiMisuse,
        90,
    )
    .says(
        "An async operation runs without a runtime, or a runtime is started inside another.",
        "Run this code inside the one existing runtime, for example under `#[tokio::test]`.",
        "Timers and sockets need the runtime that drives them, and runtimes do not nest.",
    ),
];

#[cfg(test)]
mod tests {
    #[test]
    fn examples() {
        super::super::tests::check(
            super::TABLE,
            &[
                ("misspelt_name", "TS2551: Property 'prize' does not exist on type 'Line'. Did you mean 'price'?"),
                ("misspelt_name", "AttributeError: 'Cart' object has no attribute 'totl'. Did you mean: 'total'?"),
                ("misspelt_name", "NameError: name 'totl' is not defined. Did you mean: 'total'?"),
                ("ts_missing_property", "TS2339: Property 'prize' does not exist on type 'Line'."),
                (
                    "ts_not_assignable",
                    "TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.",
                ),
                ("ts_possibly_nothing", "TS18048: 'line' is possibly 'undefined'."),
                ("ts_argument_count", "TS2554: Expected 2 arguments, but got 1."),
                ("ts_unknown_name", "TS2304: Cannot find name 'Cart'."),
                ("js_not_a_function", "TypeError: cart.total is not a function"),
                ("js_test_environment", "ReferenceError: document is not defined"),
                ("python_unexpected_argument", "TypeError: total() missing 1 required positional argument: 'tax'"),
                ("python_unexpected_argument", "TypeError: Cart.__init__() got an unexpected keyword argument 'tax'"),
                ("python_missing_attribute", "AttributeError: 'Cart' object has no attribute 'totl'"),
                ("python_operand_types", "TypeError: unsupported operand type(s) for +: 'int' and 'str'"),
                ("python_type_mismatch", "TypeError: can only concatenate str (not \"int\") to str"),
                ("undefined_name", "NameError: name 'total' is not defined"),
                ("undefined_name", "ReferenceError: total is not defined"),
                ("mypy_type", "Argument 1 to \"total\" has incompatible type \"str\"; expected \"int\""),
                ("rust_mismatched_types", "E0308: mismatched types"),
                ("rust_moved_value", "E0382: borrow of moved value: `cart`"),
                (
                    "rust_borrow_conflict",
                    "E0502: cannot borrow `cart` as mutable because it is also borrowed as immutable",
                ),
                ("rust_not_mutable", "E0596: cannot borrow x"),
                ("rust_trait_bound", "E0277: the trait bound `Cart: Clone` is not satisfied"),
                ("rust_unknown_method", "E0599: no method named `totl` found for struct `Cart` in the current scope"),
                ("rust_unknown_name", "E0425: cannot find value `totl` in this scope"),
                ("rust_argument_count", "E0061: this function takes 2 arguments but 1 argument was supplied"),
                ("rust_non_exhaustive", "E0004: non-exhaustive patterns: `Kind::Gift` not covered"),
                ("rust_missing_field", "E0063: missing field `tax` in initializer of `Line`"),
                ("rust_private", "E0603: function `sum` is private"),
                ("go_type", "cannot use \"x\" (untyped string constant) as int value in argument to Total"),
                ("go_unused", "declared and not used: tax"),
                ("go_undefined", "undefined: Totl"),
                ("go_undefined", "undeclared name: Totl"),
                ("unknown_symbol", "error: cannot find symbol"),
                ("unknown_symbol", "Unresolved reference: totl"),
                ("java_incompatible_types", "incompatible types: String cannot be converted to int"),
                ("class_cast", "class com.acme.Gift cannot be cast to class com.acme.Line"),
                (
                    "checked_exception",
                    "unreported exception java.io.IOException; must be caught or declared to be thrown",
                ),
                ("php_type", "total(): Argument #1 ($tax) must be of type int, string given"),
                ("unknown_function", "Call to undefined method Acme\\Cart::totl()"),
                (
                    "react_hook",
                    "Error: Invalid hook call. Hooks can only be called inside of the body of a function component.",
                ),
                (
                    "tokio_runtime",
                    "there is no reactor running, must be called from the context of a Tokio 1.x runtime",
                ),
            ],
        );
    }
}
