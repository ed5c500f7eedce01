//! Modules, packages and versions that are not there, and imports that run in circles.

use super::Known;
use crate::evidence::RootCauseCategory::{ConfigurationError, DependencyIssue, Environment};

pub(super) const TABLE: &[Known] = &[
    // Circles first: their messages also name a module that cannot be imported.
    Known::new(
        "python_circular_import",
        concat!(
            r"cannot import name '(?P<name>[^'\n]+)' from partially initialized module '(?P<module>[^'\n]+)'",
            r"|partially initialized module '(?P<module2>[^'\n]+)' has no attribute",
        ),
        DependencyIssue,
        95,
    )
    .says(
        "Two modules import each other, and one of them is used before it has run.",
        "Move what both modules need into a third one that imports neither.",
        "Python runs a module once, from the top; the second import sees only what had run by then.",
    ),
    Known::new(
        "import_cycle",
        concat!(
            r"import cycle not allowed|cyclic (?:package )?dependency",
            r"|[Cc]ircular (?:import|dependency|reference between modules)|BeanCurrentlyInCreationException",
        ),
        DependencyIssue,
        90,
    )
    .says(
        "The imports form a cycle.",
        "Move what the members of the cycle share into a package that imports none of them.",
        "Nothing in a cycle can be built or initialised before the rest of it.",
    ),
    Known::new(
        "js_used_before_initialization",
        r"Cannot access '(?P<name>[^'\n]+)' before initialization",
        DependencyIssue,
        75,
    )
    .says(
        "{name} is read before its declaration has run; between two modules this is an import cycle.",
        "Move the declaration of {name} into a module that does not import this one.",
        "`let`, `const` and `class` exist only from their declaration on, and a cycle runs one of its modules too \
         early.",
    ),
    Known::new(
        "js_relative_module",
        r#"(?:Cannot find module|Failed to resolve import|Could not resolve) ['"](?P<name>\.{1,2}/[^'"\n]*)['"]"#,
        DependencyIssue,
        90,
    )
    .says(
        "{name} is imported, but no file stands at that path.",
        "Correct the import path {name} to the file's real name, letter case and extension included.",
        "Relative imports are resolved from the importing file; on Linux letter case counts.",
    ),
    Known::new(
        "js_missing_module",
        concat!(
            r"(?:Cannot find (?:module|package)|Failed to resolve import|Could not resolve",
            r#"|Can't resolve) ['"](?P<name>[^'"\n]+)['"]|TS2307: Cannot find module '(?P<name2>[^']+)'"#,
        ),
        DependencyIssue,
        90,
    )
    .says(
        "The package {name} is imported but not installed.",
        "Add {name} to `package.json` and commit the updated lock file.",
        "CI installs exactly what the lock file names; a package present only on one machine is missing here.",
    ),
    Known::new(
        "js_module_format",
        concat!(
            r"Cannot use import statement outside a module|Unexpected token 'export'|require\(\) of ES Module",
            r"|is not a CommonJS module|exports is not defined in ES module scope|ERR_REQUIRE_ESM",
        ),
        ConfigurationError,
        85,
    )
    .says(
        "A file is loaded as the other kind of JavaScript module than it is written in.",
        "Set `\"type\"` in `package.json` to the kind this file is written in.",
        "`import` works only in ES modules and `require` only in CommonJS; Node decides by that setting.",
    ),
    Known::new("python_missing_module", r"No module named '?(?P<name>[A-Za-z0-9_.]+)'?", DependencyIssue, 90).says(
        "The module {name} is imported but not installed.",
        "Add the package that provides {name} to the project's dependencies.",
        "The import runs before anything else in the file, so no test of the file can start.",
    ),
    Known::new(
        "python_missing_name",
        r"cannot import name '(?P<name>[^'\n]+)' from '(?P<module>[^'\n]+)'",
        DependencyIssue,
        85,
    )
    .says(
        "{module} has no {name}.",
        "Import a name that {module} defines.",
        "The import runs before anything else in the file, so no test of the file can start.",
    ),
    Known::new(
        "rust_missing_crate",
        concat!(
            r"(?:can't find crate for|use of (?:undeclared|unresolved) (?:crate(?: or module)?",
            r"|module(?: or unlinked crate)?)|use of unresolved item) `(?P<name>[^`\n]+)`",
            r"|unresolved import `(?P<path>[^`\n]+)`",
        ),
        DependencyIssue,
        85,
    )
    .says(
        "An import names something that this crate does not know.",
        "Declare what this line imports under exactly that name: a crate in `Cargo.toml`, a module with `mod`.",
        "Paths are resolved against declared modules and dependencies only; a file on disk is not enough.",
    ),
    Known::new(
        "cargo_resolution",
        r"failed to select a version for|no matching package named `(?P<name>[^`\n]+)` found",
        DependencyIssue,
        90,
    )
    .says(
        "Cargo finds no version of a dependency that fits every requirement.",
        "Change the version requirement in `Cargo.toml` that the message names last to one that the others allow.",
        "Nothing is compiled before the versions are settled.",
    ),
    Known::new(
        "cargo_lock_outdated",
        concat!(
            r"lock file .*needs to be updated but --(?:locked|frozen)",
            r"|cannot update the lock file .*because --(?:locked|frozen)",
        ),
        ConfigurationError,
        95,
    )
    .says(
        "`Cargo.lock` does not match `Cargo.toml`.",
        "Run `cargo update --workspace` and commit `Cargo.lock`.",
        "CI builds with `--locked`, which refuses a lock file that needs a change.",
    ),
    Known::new(
        "npm_lock_outdated",
        concat!(
            r"can only install packages when your package\.json and (?:package-lock\.json",
            r"|npm-shrinkwrap\.json).* (?:are )?in sync|ERR_PNPM_OUTDATED_LOCKFILE",
            r"|lockfile would have been (?:modified|created|updated) by this install",
            r"|Your lockfile needs to be updated",
        ),
        ConfigurationError,
        95,
    )
    .says(
        "The lock file does not match `package.json`.",
        "Run the package manager's install command and commit the lock file it writes.",
        "CI installs from the lock file alone and stops when it does not match.",
    ),
    Known::new(
        "npm_peer_conflict",
        r"\bERESOLVE\b|unable to resolve dependency tree|ERR_PNPM_PEER_DEP_ISSUES",
        DependencyIssue,
        90,
    )
    .says(
        "Two packages ask for versions of a third that exclude each other.",
        "Change the version in `package.json` of the package that the message names first to one whose peer range \
         fits.",
        "Nothing is installed while a peer requirement is not met.",
    ),
    Known::new(
        "go_missing_module",
        concat!(
            r"no required module provides package (?P<name>[^\s;:]+)|cannot find package \W?(?P<name2>[^\s\x22]+)",
            r"|missing go\.sum entry for",
        ),
        DependencyIssue,
        90,
    )
    .says(
        "A package is imported that `go.mod` and `go.sum` do not provide.",
        "Run `go mod tidy` and commit `go.mod` and `go.sum`.",
        "Go builds only with modules whose version and checksum are recorded.",
    ),
    Known::new(
        "java_missing_package",
        concat!(
            r"error: package (?P<name>[A-Za-z0-9_.]+) does not exist",
            r"|package (?P<name2>[a-z][A-Za-z0-9_.]+) does not exist",
        ),
        DependencyIssue,
        85,
    )
    .says(
        "A Java package is imported that is not on the class path.",
        "Add the dependency that contains this package to the build file.",
        "The compiler sees only what the build file declares for this source set.",
    ),
    Known::new(
        "java_missing_class",
        r"(?:ClassNotFoundException|NoClassDefFoundError): (?P<name>[A-Za-z0-9_.$/]+)",
        DependencyIssue,
        85,
    )
    .says(
        "The class {name} is missing at run time.",
        "Add the dependency that contains {name} to the run-time class path.",
        "It was there when the code was compiled, so only the run-time scope lacks it.",
    ),
    Known::new(
        "java_version_conflict",
        r"(?:NoSuchMethodError|NoSuchFieldError|AbstractMethodError|UnsupportedClassVersionError)\b",
        DependencyIssue,
        80,
    )
    .says(
        "A class was compiled against another version of a library, or of Java, than the one it runs with.",
        "Align the version of the library that the message names in the build file, so that one version is on the \
         class path.",
        "The compiler saw a member that the version loaded at run time does not have.",
    ),
    Known::new(
        "maven_resolution",
        concat!(
            r"Could not (?:resolve dependencies for project|find artifact)",
            r"|Could not find (?P<name>[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+)",
        ),
        DependencyIssue,
        80,
    )
    .says(
        "A dependency of the build is in none of the configured repositories.",
        "Correct group, name and version of the dependency that the message names.",
        "Nothing is compiled before every dependency is found.",
    ),
    Known::new(
        "ruby_missing_file",
        r"cannot load such file -- (?P<name>\S+)|Could not find gem '(?P<gem>[^'\n]+)'",
        DependencyIssue,
        90,
    )
    .says(
        "A file or gem is required that is not installed.",
        "Add the gem to the `Gemfile` and commit `Gemfile.lock`.",
        "CI installs what `Gemfile.lock` names and nothing else.",
    ),
    Known::new(
        "php_missing_class",
        r#"(?:Class|Interface|Trait) "(?P<name>[^"\n]+)" not found|Attempted to load class"#,
        DependencyIssue,
        80,
    )
    .says(
        "A PHP class is used that the autoloader does not find.",
        "Correct the namespace so that it matches the autoload rule in `composer.json`.",
        "The autoloader derives the file from the class name, letter case included.",
    ),
    Known::new("dotnet_missing_assembly", r"Could not load file or assembly '(?P<name>[^'\n,]+)", DependencyIssue, 85)
        .says(
            "The assembly {name} is missing at run time.",
            "Add a package reference for {name} to the project that loads it.",
            "Assemblies are loaded when first used, so the build alone does not notice that one is missing.",
        ),
    Known::new(
        "c_missing_header",
        r"fatal error: '?(?P<name>[A-Za-z0-9_./+-]+)'?(?:: No such file or directory| file not found)",
        DependencyIssue,
        85,
    )
    .says(
        "The header {name} is not on the include path.",
        "Add the directory of {name} to the target's include directories, and its package to the CI image.",
        "The preprocessor searches only the directories the build names.",
    ),
    Known::new(
        "shared_library_missing",
        concat!(
            r"error while loading shared libraries: (?P<name>[^\s:]+)",
            r"|(?P<name2>\S+\.so[.0-9]*): cannot open shared object file",
        ),
        Environment,
        85,
    )
    .says(
        "A shared library is missing on the machine that runs the check.",
        "Install the package of the library in the step before this check.",
        "The program starts only when every library it was linked with is found.",
    ),
    Known::new(
        "command_not_found",
        concat!(
            r"(?:^|\n|: )(?P<name>[A-Za-z0-9_./-]+): (?:command )?not found(?:\n|$)",
            r"|executable file not found in \$PATH|is not recognized as an internal or external command",
        ),
        Environment,
        85,
    )
    .says(
        "The check calls a program that is not installed where it runs.",
        "Install the program in a step before this check.",
        "The shell found no such program on its path, so the check itself never started.",
    ),
];

#[cfg(test)]
mod tests {
    #[test]
    fn examples() {
        super::super::tests::check(
            super::TABLE,
            &[
                (
                    "python_circular_import",
                    "cannot import name 'Cart' from partially initialized module 'shop.cart' (most likely due to a circular import)",
                ),
                ("import_cycle", "import cycle not allowed in test"),
                ("js_used_before_initialization", "Cannot access 'Cart' before initialization"),
                ("js_relative_module", "Cannot find module './carts' from 'src/a.test.ts'"),
                ("js_missing_module", "Cannot find module 'zod' from 'src/a.ts'"),
                ("js_missing_module", "Cannot find package '@acme/core' imported from /w/src/a.mjs"),
                ("js_missing_module", "Failed to resolve import \"zod\" from \"src/a.ts\". Does the file exist?"),
                ("js_missing_module", "TS2307: Cannot find module 'zod' or its corresponding type declarations."),
                ("js_module_format", "SyntaxError: Cannot use import statement outside a module"),
                ("python_missing_module", "ModuleNotFoundError: No module named 'requests'"),
                ("python_missing_name", "cannot import name 'Cart' from 'shop' (/w/shop/__init__.py)"),
                ("rust_missing_crate", "failed to resolve: use of unresolved module or unlinked crate `serde_yaml`"),
                ("rust_missing_crate", "unresolved import `crate::cart::Line`"),
                ("cargo_resolution", "error: failed to select a version for `openssl-sys`."),
                (
                    "cargo_lock_outdated",
                    "error: the lock file /w/Cargo.lock needs to be updated but --locked was passed to prevent this",
                ),
                (
                    "npm_lock_outdated",
                    "npm ci can only install packages when your package.json and package-lock.json or npm-shrinkwrap.json are in sync",
                ),
                ("npm_peer_conflict", "npm error code ERESOLVE"),
                ("go_missing_module", "cart.go:4:2: no required module provides package github.com/x/y; to add it:"),
                ("java_missing_package", "src/A.java:3: error: package com.acme.tax does not exist"),
                ("java_missing_class", "java.lang.NoClassDefFoundError: com/acme/Tax"),
                ("java_version_conflict", "java.lang.NoSuchMethodError: 'void com.acme.Tax.of(int)'"),
                ("maven_resolution", "Could not find artifact com.acme:tax:jar:9.9 in central"),
                ("ruby_missing_file", "cannot load such file -- money"),
                ("php_missing_class", "Error: Class \"Acme\\Tax\" not found"),
                ("dotnet_missing_assembly", "Could not load file or assembly 'Acme.Tax, Version=1.0.0.0'"),
                ("c_missing_header", "src/a.c:1:10: fatal error: zlib.h: No such file or directory"),
                (
                    "shared_library_missing",
                    "./shop: error while loading shared libraries: libpq.so.5: cannot open shared object file",
                ),
                ("command_not_found", "/bin/sh: 1: protoc: not found"),
            ],
        );
    }
}
