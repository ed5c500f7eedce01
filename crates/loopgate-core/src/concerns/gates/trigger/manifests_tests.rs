use super::*;

fn manifest(path: &str, patch: &str) -> ChangedFile {
    ChangedFile {
        path: path.into(),
        previous_path: None,
        status: FileStatus::Modified,
        additions: 1,
        deletions: 0,
        blob: None,
        patch: Some(patch.into()),
    }
}

fn read(file: &ChangedFile) -> Option<Vec<(u32, String)>> {
    added_dependencies(file, file.read_patch().as_ref())
}

fn names(path: &str, patch: &str) -> Vec<String> {
    let names = read(&manifest(path, patch)).unwrap_or_else(|| panic!("{path} cannot be read"));
    names.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn new_names_in_every_ecosystem() {
    for (path, patch, expected) in [
        (
            "Cargo.toml",
            "@@ -5,2 +5,3 @@\n [dependencies]\n serde = \"1\"\n+regex = \"1.11\"",
            &["regex"][..],
        ),
        (
            "a/Cargo.toml",
            "@@ -5 +5,4 @@\n a = \"1\"\n+b.workspace = true\n+c = { git = \"https://x\" }\n+[dev-dependencies.d]",
            &["b", "c", "d"],
        ),
        (
            "Cargo.toml",
            "@@ -0,0 +1,6 @@\n+[package]\n+version = \"1.0.0\"\n+[target.'cfg(unix)'.dependencies]\n+nix = \"0.3\"\n+[features]\n+x = [\"nix\"]",
            &["nix"],
        ),
        (
            "package.json",
            "@@ -1 +1,6 @@\n   \"dependencies\": {\n+    \"left-pad\": \"^1.0.0\",\n+    \"@a/b\": \"workspace:*\"\n   },\n   \"scripts\": {\n+    \"x\": \"1\"",
            &["left-pad", "@a/b"],
        ),
        (
            "web/package.json",
            "@@ -8 +8,3 @@\n     \"a\": \"1\",\n+    \"b\": \"~2.1\",\n+    \"build\": \"tsc -b\"",
            &["b"],
        ),
        (
            "requirements.txt",
            "@@ -1 +1,6 @@\n+# note\n+Flask_Login==1\n+uvicorn[standard]>=0.2 ; python_version > \"3\"\n+-r base.txt\n+-e git+https://x/y#egg=zed\n+plain",
            &["flask-login", "uvicorn", "zed", "plain"],
        ),
        // A new version of what an address names adds no name.
        (
            "requirements.txt",
            "@@ -1 +1,2 @@\n-git+https://x/y@1.0#egg=own_utils==1.0\n+git+https://x/y@1.1#egg=own_utils==1.1\n+git+https://x/z#egg=Other_Utils>=2",
            &["other-utils"],
        ),
        ("requirements/dev.in", "@@ -1 +1 @@\n+pytest", &["pytest"]),
        (
            "pyproject.toml",
            "@@ -1 +1,4 @@\n dependencies = [\n+  \"httpx>=0.27\",\n+  'rich',\n ]",
            &["httpx", "rich"],
        ),
        (
            "pyproject.toml",
            "@@ -1 +1,4 @@\n [tool.poetry.dependencies]\n python = \"^3.12\"\n+httpx = \"^0.27\"\n [tool.ruff]\n+line-length = 120",
            &["httpx"],
        ),
        (
            "setup.cfg",
            "@@ -1 +1,4 @@\n install_requires =\n+    requests>=2\n+    attrs\n [flake8]\n+max-line-length = 100",
            &["requests", "attrs"],
        ),
        (
            "setup.py",
            "@@ -1 +1,4 @@\n     install_requires=[\n+        \"requests>=2\",\n+    name=\"x\",",
            &["requests"],
        ),
        (
            "Pipfile",
            "@@ -1 +1,4 @@\n [packages]\n+django = \"*\"\n [requires]\n+python_version = \"3.12\"",
            &["django"],
        ),
        (
            "go.mod",
            "@@ -1 +1,5 @@\n require (\n+\tgithub.com/a/b v1.2.3\n+\tgolang.org/x/c v0.1.0 // indirect\n )\n+require example.com/d v1.0.0",
            &["github.com/a/b", "example.com/d"],
        ),
        (
            "pom.xml",
            "@@ -1 +1,2 @@\n+<dependency><groupId>g</groupId><artifactId>jsoup</artifactId><version>1</version></dependency>",
            &["jsoup"],
        ),
        (
            "pom.xml",
            "@@ -1 +1,5 @@\n+<dependency>\n+  <groupId>g</groupId>\n+  <artifactId>guava</artifactId>\n+</dependency>",
            &["guava"],
        ),
        (
            "app/build.gradle.kts",
            "@@ -1 +1,5 @@\n+    implementation(\"com.x:y:1.0\")\n+    testImplementation(libs.junit)\n+    id(\"com.plugin\") version \"1\"\n+    println(\"a:b:c\")",
            &["com.x:y", "libs.junit", "com.plugin"],
        ),
        (
            "gradle/libs.versions.toml",
            "@@ -1 +1,5 @@\n+guava = { module = \"com.google:guava\", version.ref = \"guava\" }\n+guava = \"33\"",
            &["com.google:guava"],
        ),
        (
            "Gemfile",
            "@@ -1 +1,5 @@\n+gem 'rails', '~> 7'\n+  gem(\"puma\")",
            &["rails", "puma"],
        ),
        (
            "x.gemspec",
            "@@ -1 +1,5 @@\n+  s.add_dependency \"rack\", \"~> 3\"",
            &["rack"],
        ),
        (
            "composer.json",
            "@@ -1 +1,5 @@\n   \"require\": {\n+    \"monolog/monolog\": \"^3\",\n+    \"ext-json\": \"*\"",
            &["monolog/monolog", "ext-json"],
        ),
        (
            "src/A.csproj",
            "@@ -1 +1,5 @@\n+    <PackageReference Include=\"Serilog\" Version=\"4\" />",
            &["Serilog"],
        ),
        (
            "mix.exs",
            "@@ -1 +1,2 @@\n+      {:money, \"~> 1.0\"},\n+      version: \"1.0\",",
            &["money"],
        ),
        (
            "pubspec.yaml",
            "@@ -1 +1,5 @@\n dependencies:\n+  http: ^1.0.0\n flutter:\n+  uses: 1.0",
            &["http"],
        ),
        (
            "pubspec.yaml",
            "@@ -9 +9,3 @@\n     git:\n-      ref: 1.0.0\n+      ref: 1.1.0\n+  intl: ^0.1.0",
            &["intl"],
        ),
        (
            "pubspec.yaml",
            "@@ -37,2 +37,4 @@ dependencies:\n+  protocol:\n+    path: ../protocol\n   uuid: ^4",
            &["protocol"],
        ),
        (
            "pubspec.yaml",
            "@@ -37,2 +37,3 @@ flutter:\n+  uses-material: 1.0\n   fonts:",
            &[],
        ),
        (
            "A.xcodeproj/project.pbxproj",
            "@@ -1 +1 @@\n+\t\t\trepositoryURL = \"https://a/b\";",
            &["https://a/b"],
        ),
        (
            "Package.swift",
            "@@ -1 +1 @@\n+  .package(url: \"https://a/b\", from: \"1.0\"),",
            &["https://a/b"],
        ),
        (
            "build.sbt",
            "@@ -1 +1 @@\n+  \"org.x\" %% \"y\" % \"1.0\",",
            &["y"],
        ),
        (
            "build.sbt",
            "@@ -1 +1,2 @@\n-\"a\" % \"x\" % \"1\"\n+\"a\" % \"x\"  % \"2\"\n+\"a\" % \"y\" % \"2\"",
            &["y"],
        ),
        (
            "project/Dependencies.scala",
            "@@ -1 +1 @@\n+  val a = \"org.x\" %% \"y\" % \"1.0\"",
            &["y"],
        ),
        (
            "project/plugins.sbt",
            "@@ -1 +1 @@\n+addSbtPlugin(\"org.x\" % \"sbt-y\" % \"1.0\")",
            &["sbt-y"],
        ),
        // A table that the patch does not show.
        (
            "pyproject.toml",
            "@@ -9 +9 @@\n+hvac = \"^1.0\"\n+\"a.b\" = { version = \"1\" }",
            &["hvac", "a-b"],
        ),
        (
            "pyproject.toml",
            "@@ -9 +9 @@\n+python = \"^3.8\"\n+minversion = \"6.0\"\n+strict = true",
            &[],
        ),
        (
            "pom.xml",
            "@@ -1 +1,9 @@\n+<plugin>\n+<artifactId>p</artifactId>\n+</plugin>\n+<dependency>\n+<artifactId>d</artifactId>\n+<exclusions><exclusion><artifactId>e</artifactId></exclusion></exclusions>\n+</dependency>",
            &["d"],
        ),
        (
            "pyproject.toml",
            "@@ -1 +1,4 @@\n [tool.ruff]\n+select = [\"E501\", \"F401\"]",
            &[],
        ),
        (
            "pyproject.toml",
            "@@ -1 +1,4 @@\n [dependency-groups]\n+dev = [\"pytest\"]",
            &["pytest"],
        ),
        (
            "package.json",
            "@@ -1 +1,4 @@\n   \"resolutions\": {\n+    \"minimist\": \"1.2.8\"",
            &[],
        ),
        // Sections of one line, of names in disguise, and behind one that ended.
        (
            "package.json",
            "@@ -1 +1 @@\n+{ \"dependencies\": { \"a\": \"1\", \"b\": \"x/y\" } }",
            &["a", "b"],
        ),
        (
            "package.json",
            "@@ -1 +1,3 @@\n   },\n+  \"dependencie\\u0073\": {\n+    \"a\": \"x\"",
            &["a"],
        ),
        (
            "go.mod",
            "@@ -1 +1,3 @@\n exclude (\n \ta.b/c v1.0.0\n )\n+require d.e/f v1.0.0",
            &["d.e/f"],
        ),
        (
            "pyproject.toml",
            "@@ -1 +1 @@\n+dependencies = [\"a\", \"b>=1\"]",
            &["a", "b"],
        ),
        (
            "packages.config",
            "@@ -1 +1,5 @@\n+  <package id=\"NUnit\" version=\"4\" />",
            &["NUnit"],
        ),
    ] {
        assert_eq!(names(path, patch), expected, "{path}\n{patch}");
    }
}

#[test]
fn bumps_moves_and_removals_are_no_new_dependencies() {
    for (path, patch) in [
        (
            "Cargo.toml",
            "@@ -5,2 +5,2 @@\n [dependencies]\n-serde = \"1.0\"\n+serde = { version = \"1.1\", features = [\"derive\"] }",
        ),
        (
            "Cargo.toml",
            "@@ -1,2 +1,2 @@\n [package]\n-version = \"1.0.0\"\n+version = \"1.1.0\"",
        ),
        (
            "Cargo.toml",
            "@@ -3,2 +3,2 @@\n-version = \"1.0.0\"\n+version = \"1.1.0\"\n edition = \"2024\"",
        ),
        (
            "Cargo.toml",
            "@@ -3,2 +3,2 @@\n-a = \"1\"\n b = \"1\"\n+a = \"1\"",
        ),
        (
            "package.json",
            "@@ -2 +2 @@\n-    \"a\": \"^1\",\n+    \"a\": \"^2\",",
        ),
        (
            "package.json",
            "@@ -2 +2 @@\n-  \"version\": \"1.0.0\",\n+  \"version\": \"1.0.1\",",
        ),
        (
            "package.json",
            "@@ -9 +9 @@\n   \"engines\": {\n+    \"node\": \">=24\"",
        ),
        ("requirements.txt", "@@ -2 +2 @@\n-Flask==1\n+flask==2"),
        (
            "go.mod",
            "@@ -2 +2 @@\n-\tgithub.com/a/b v1.2.3\n+\tgithub.com/a/b v1.2.4",
        ),
        ("go.mod", "@@ -2 +2 @@\n-go 1.22\n+go 1.23"),
        (
            "pom.xml",
            "@@ -2 +2 @@\n-<version>1</version>\n+<version>2</version>",
        ),
        (
            "Gemfile",
            "@@ -2 +2 @@\n-gem 'rails', '7'\n+gem 'rails', '8'",
        ),
        ("Gemfile", "@@ -2,2 +2 @@\n-gem 'rails', '7'\n x"),
    ] {
        assert_eq!(names(path, patch), [] as [String; 0], "{path}\n{patch}");
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let mut file = manifest("package.json", "");
    file.patch = None;
    assert_eq!(read(&file), None);
    file.patch = Some("@@ broken\n+\"a\": \"1\"".into());
    assert_eq!(read(&file), None);
    file.status = FileStatus::Renamed;
    file.previous_path = Some("notes.json".into());
    assert_eq!(read(&file), None);
    file.previous_path = Some("old/package.json".into());
    (file.patch, file.additions) = (None, 0);
    assert_eq!(read(&file), Some(vec![]));
    let compiled = "@@ -1 +1,2 @@\n+urllib3==2.2.1\n+    # via requests";
    for (path, patch) in [
        ("src/main.rs", ""),
        ("src/A.scala", ""),
        ("Cargo.lock", "@@ -1 +1 @@\n+name = \"x\""),
        ("requirements.txt", compiled),
    ] {
        assert_eq!(read(&manifest(path, patch)), Some(vec![]), "{path}");
    }
}
