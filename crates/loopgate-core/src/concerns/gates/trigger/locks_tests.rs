use super::*;

/// What changes between two texts of a lock file.
fn changes(path: &str, old: &str, new: &str) -> Vec<String> {
    let found = changed_identities(path, [old, new]);
    found.iter().map(IdentityChange::shown).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn an_address_or_resolution_names_the_package_of_its_entry() {
    let npm = |name: &str, address: &str| {
        format!(
            r#"{{"packages": {{"node_modules/{name}": {{"version": "1.0.0",
                "resolved": "https://registry.npmjs.org/{address}/-/a-1.0.0.tgz"}}}}}}"#
        )
    };
    for (name, address, expected) in [
        ("jose", "jose", &[][..]),
        ("jose", "j0se", &["jose is j0se"]),
        ("@acme/kit", "@acme/kit", &[]),
        ("@acme/kit", "@acme%2fkit", &[]),
        ("@acme/kit", "kit", &["@acme/kit is kit"]),
    ] {
        let new = npm(name, address);
        assert_eq!(changes("package-lock.json", "{}", &new), expected, "{new}");
        // What was so before is no change.
        assert_eq!(changes("package-lock.json", &new, &new), NONE);
    }
    let compact = npm("jose", "j0se").replace(['\n', ' '], "");
    assert_eq!(
        changes("package-lock.json", "{}", &compact),
        ["jose is j0se"]
    );
    let escaped = npm("jose", r"j\u0030se");
    assert_eq!(
        changes("package-lock.json", "{}", &escaped),
        ["jose is j0se"]
    );
    let old = npm("jose", "jose");
    let declared = npm("jose", "j0se").replace(
        "\"version\"",
        "\"dependencies\": {\"jose\": \"npm:j0se@1\"}, \"version\"",
    );
    assert_eq!(
        changes("package-lock.json", &old, &declared),
        ["jose is j0se", "jose 1.0.0"],
        "a package that was there becomes no alias by being called one"
    );
    assert_eq!(changes("package-lock.json", "{}", &declared), NONE);
}

#[test]
fn each_format_has_names_and_sums() {
    for (path, old, new, expected) in [
        (
            "yarn.lock",
            "jose@^5:\n  version \"5.1.0\"\n  integrity sha512-AA",
            "jose@^5:\n  version \"5.1.0\"\n  integrity sha512-BB",
            "jose 5.1.0",
        ),
        (
            "yarn.lock",
            "",
            "\"jose@npm:^5\":\n  version: 5.1.0\n  resolution: \"j0se@npm:5.1.0\"",
            "jose is j0se",
        ),
        (
            "bun.lock",
            "",
            "    \"jose\": [\"j0se@5.1.0\", \"\", {}, \"sha512-AA\"],",
            "jose is j0se",
        ),
        (
            "gems.locked",
            "  rack (3.0.0) sha256=aa",
            "  rack (3.0.0) sha256=bb",
            "rack 3.0.0",
        ),
        (
            "go.sum",
            "a.test/b v1.0.0 h1:aa",
            "a.test/b v1.0.0 h1:bb",
            "a.test/b v1.0.0",
        ),
        (
            "poetry.lock",
            "[[package]]\nname = \"a\"\nversion = \"1.0\"\nfiles = [{file = \"a-1.0.tar.gz\", hash = \"sha256:aa\"}]",
            "[[package]]\nname = \"a\"\nversion = \"1.0\"\nfiles = [{file = \"a-1.0.tar.gz\", hash = \"sha256:bb\"}]",
            "a 1.0",
        ),
        (
            "packages.lock.json",
            r#"{"dependencies": {"net8.0": {"Kit": {"version": "1.0", "contentHash": "aa=="}}}}"#,
            r#"{"dependencies": {"net8.0": {"Kit": {"version": "1.0", "contentHash": "bb=="}}}}"#,
            "Kit 1.0",
        ),
    ] {
        assert_eq!(changes(path, old, new), [expected], "{path}");
        assert_eq!(changes(path, new, new), NONE, "{path}");
    }
}

#[test]
fn another_algorithm_or_another_version_is_no_other_package() {
    for (path, old, new) in [
        (
            "yarn.lock",
            "jose@^5:\n  version \"5.1.0\"\n  integrity sha1-AA",
            "jose@^5:\n  version \"5.1.0\"\n  integrity sha512-BB",
        ),
        (
            "yarn.lock",
            "\"a@npm:b@^5\":\n  version: 5\n  resolution: \"b@npm:5\"",
            "\"a@npm:b@^6\":\n  version: 6\n  resolution: \"b@npm:6\"",
        ),
        ("go.sum", "a.test/b v1.0.0 h1:aa", "a.test/b v1.0.1 h1:bb"),
        (
            "uv.lock",
            "[[package]]\nname = \"a-b\"\nversion = \"1.0\"",
            "[[package]]\nname = \"a-b\"\nversion = \"1.0\"\nwheels = [{url = \"https://x.test/a_b-1.0-py3.whl\", hash = \"sha256:a\"}]",
        ),
    ] {
        assert_eq!(changes(path, old, new), NONE, "{path} {new}");
    }
}
