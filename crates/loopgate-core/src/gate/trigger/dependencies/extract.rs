//! The dependency that one line of a manifest names, knowing as much of its section as the patch has shown.

use std::sync::LazyLock;

use regex::Regex;

use super::{Form, LineForm};

/// Reads a manifest line by line.
pub(super) struct Reader {
    form: Form,
    section: Section,
}

/// What is known of the section a line stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// The patch begins in the middle of it: the form of each line decides.
    Unseen,
    Dependencies,
    /// A list inside a section that names dependencies in its keys as well: `dependencies = [` of pyproject.toml.
    List,
    Other,
}

macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("a constant that the tests compile"));
        &*PATTERN
    }};
}

fn captured(pattern: &Regex, line: &str) -> Option<String> {
    let found = pattern.captures(line)?;
    found.iter().skip(1).flatten().next().map(|name| name.as_str().to_owned())
}

impl Reader {
    pub(super) const fn new(form: Form) -> Self {
        Self { form, section: Section::Unseen }
    }

    /// The dependency this line names, if it names one; also moves on to the section that it opens.
    pub(super) fn dependency(&mut self, line: &str) -> Option<String> {
        let line = line.trim_end();
        match self.form {
            Form::CargoToml => self.cargo(line),
            Form::Pipfile => self.toml_keys(line, |table| matches!(table, "packages" | "dev-packages")),
            Form::PyProject => self.pyproject(line),
            Form::PackageJson => self.json(line, is_npm_section, is_npm_version),
            Form::ComposerJson => self.json(line, |key| matches!(key, "require" | "require-dev"), |_| false),
            Form::DenoJson => self.json(line, |key| key == "imports", |value| value.starts_with(['n', 'j'])),
            Form::Requirements => requirement(line.trim()),
            Form::SetupFile => self.setup_file(line),
            Form::GoMod => self.go_mod(line),
            Form::Pom => self.pom(line),
            Form::Yaml => self.yaml(line),
            Form::Lines(form) => named_by(form, line),
        }
    }

    /// Follows TOML tables: whether the line is a table's header, and the name a `[dependencies.x]` header gives.
    fn toml_header(&mut self, line: &str, is_dependencies: impl Fn(&str) -> bool) -> Option<Option<String>> {
        let header = line.trim().strip_prefix('[')?.trim_start_matches('[');
        let table = header.split(']').next()?.trim().replace(['"', '\''], "");
        self.section = Section::Other;
        if is_dependencies(&table) {
            self.section = Section::Dependencies;
            return Some(None);
        }
        let named = table.rsplit_once('.').filter(|(parent, _)| is_dependencies(parent));
        Some(named.map(|(_, name)| name.to_owned()))
    }

    fn cargo(&mut self, line: &str) -> Option<String> {
        let is_dependencies = |table: &str| table.rsplit('.').next().is_some_and(|last| last.ends_with("dependencies"));
        if let Some(named) = self.toml_header(line, is_dependencies) {
            return named;
        }
        let (key, value) = toml_entry(line)?;
        let key = key.split('.').next()?.trim_matches('"').to_owned();
        match self.section {
            Section::Dependencies | Section::List => Some(key),
            Section::Other => None,
            Section::Unseen => (is_cargo_requirement(value) && !is_package_key(&key)).then_some(key),
        }
    }

    fn toml_keys(&mut self, line: &str, is_dependencies: impl Fn(&str) -> bool) -> Option<String> {
        if let Some(named) = self.toml_header(line, is_dependencies) {
            return named;
        }
        let (key, value) = toml_entry(line)?;
        let counts = match self.section {
            Section::Dependencies | Section::List => true,
            Section::Other => false,
            Section::Unseen => is_version(value.trim_matches('"')) || value.starts_with('{'),
        };
        counts.then(|| key.trim_matches('"').to_owned())
    }

    fn pyproject(&mut self, line: &str) -> Option<String> {
        let keys = |table: &str| {
            table.starts_with("tool.poetry") && table.ends_with("dependencies") || table == "tool.pdm.dependencies"
        };
        let lists = |table: &str| {
            matches!(
                table,
                "project.optional-dependencies" | "dependency-groups" | "tool.uv" | "tool.pdm.dev-dependencies"
            )
        };
        let text = line.trim();
        if text.starts_with('[') && text.ends_with(']') && !text.contains(['"', ',', '=']) {
            let named = self.toml_header(line, keys).flatten();
            if lists(text.trim_matches(['[', ']'])) {
                self.section = Section::List;
            }
            return named;
        }
        if self.section == Section::Dependencies {
            let (key, _) = toml_entry(line)?;
            return (key != "python").then(|| key.trim_matches('"').to_owned());
        }
        // PEP 621 lists requirements as strings, one per line or after `dependencies = [`.
        let list = text.split_once('[').filter(|(key, _)| key.trim_end().ends_with('='));
        if self.section == Section::Unseen
            && list.is_none()
            && let Some((key, value)) = toml_entry(line)
        {
            return is_poetry_requirement(key, value).then(|| key.trim_matches('"').to_owned());
        }
        if let Some((key, _)) = list {
            let key = key.trim_end_matches(['=', ' ']);
            let names = self.section == Section::List || key.ends_with("dependencies") || key == "requires";
            self.section = if names { Section::List } else { Section::Other };
        }
        let named = quoted_requirement(list.map_or(text, |(_, list)| list));
        match self.section {
            Section::List => named,
            Section::Unseen => named.filter(|_| has_operator(text)),
            Section::Dependencies | Section::Other => None,
        }
    }

    /// Objects of a JSON manifest: `"name": "version"` in a section, or of a telling form where none is in sight.
    fn json(
        &mut self,
        line: &str,
        is_section: impl Fn(&str) -> bool,
        is_version: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let text = line.trim();
        if text.starts_with('}') {
            self.section = Section::Other;
            return None;
        }
        let found = pattern!(r#"^"((?:[^"\\]|\\.)+)"\s*:\s*(?:(\{)|"((?:[^"\\]|\\.)*)")?"#).captures(text)?;
        let key = found.get(1)?.as_str();
        if found.get(2).is_some() {
            let opens = is_section(key) && !text.contains('}');
            self.section = if opens { Section::Dependencies } else { Section::Other };
            return None;
        }
        let value = found.get(3)?.as_str();
        // Composer's names hold a slash and nothing else in its manifest looks like one with a version.
        let telling = is_version(value) && !is_npm_field(key) || key.contains('/') && self::is_version(value);
        let counts = match self.section {
            Section::Dependencies | Section::List => true,
            Section::Other => false,
            Section::Unseen => telling,
        };
        counts.then(|| key.to_owned())
    }

    fn setup_file(&mut self, line: &str) -> Option<String> {
        let text = line.trim();
        // Python code quotes its requirements; an INI file indents them below its key.
        if text.contains(['"', '\'']) {
            let list = text.split_once('[').map_or(text, |(_, list)| list);
            return quoted_requirement(list).filter(|_| has_operator(list));
        }
        let key =
            text.split_once('=').map(|(key, _)| key.trim()).filter(|key| !key.ends_with(['>', '<', '=', '!', '~']));
        if let Some(key) = key.filter(|_| !line.starts_with([' ', '\t'])) {
            let lists = key.ends_with("requires") || key.ends_with("require");
            self.section = if lists { Section::Dependencies } else { Section::Other };
            return None;
        }
        if text.starts_with('[') {
            let extras = text == "[options.extras_require]";
            self.section = if extras { Section::Dependencies } else { Section::Other };
            return None;
        }
        let counts = match self.section {
            Section::Dependencies | Section::List => true,
            Section::Other => false,
            Section::Unseen => has_operator(text),
        };
        if counts { requirement(text) } else { None }
    }

    /// `<artifactId>` inside `<dependency>`; a plugin, a parent, an exclusion and the project itself have one too.
    fn pom(&mut self, line: &str) -> Option<String> {
        let own = pattern!(r"<exclusion>.*?</exclusion>").replace_all(line, "");
        let Some((before, after)) = own.split_once("<artifactId>") else {
            self.pom_section(line);
            return None;
        };
        self.pom_section(before);
        let name = after.split('<').next().map(str::trim).filter(|name| !name.is_empty() && !name.contains(' '));
        let name = name.filter(|_| self.section != Section::Other).map(str::to_owned);
        self.pom_section(after);
        name
    }

    fn pom_section(&mut self, text: &str) {
        let tags = pattern!(r"<(/?)(dependency|plugin|exclusion|exclusions|parent|project|extension)(?:\s[^>]*)?>");
        for tag in tags.captures_iter(text) {
            let opens = tag.get(1).is_none_or(|slash| slash.is_empty());
            self.section = match tag.get(2).map_or("", |name| name.as_str()) {
                "dependency" if opens => Section::Dependencies,
                "exclusions" if !opens => Section::Dependencies,
                _ => Section::Other,
            };
        }
    }

    /// Keys below `dependencies:` and `catalog:`, one indentation deep or, in named catalogs, two.
    fn yaml(&mut self, line: &str) -> Option<String> {
        if let Some(key) = captured(pattern!(r"^(\w+):"), line) {
            let names = key.ends_with("dependencies") || key.starts_with("catalog");
            self.section = if names { Section::Dependencies } else { Section::Other };
            return None;
        }
        let (name, value) = line.trim().split_once(':').filter(|_| line.starts_with(' '))?;
        let counts = match self.section {
            _ if matches!(name, "sdk" | "path" | "git" | "hosted" | "url" | "ref" | "version") => false,
            Section::Dependencies | Section::List => true,
            Section::Other => false,
            Section::Unseen => is_version(value.trim().trim_matches(['"', '\''])),
        };
        (counts && (is_version(value.trim().trim_matches(['"', '\''])) || value.trim().is_empty()))
            .then(|| name.trim_matches(['"', '\'']).to_owned())
    }

    fn go_mod(&mut self, line: &str) -> Option<String> {
        let text = line.trim();
        if text.ends_with('(') {
            let requires = text.starts_with("require") || text.starts_with("tool");
            self.section = if requires { Section::Dependencies } else { Section::Other };
            return None;
        }
        if text == ")" {
            self.section = Section::Unseen;
            return None;
        }
        // An indirect dependency is one that nobody here chose.
        if self.section == Section::Other || text.ends_with("// indirect") {
            return None;
        }
        captured(pattern!(r"^(?:require\s+)?([\w.~-]+\.[\w.-]+(?:/[\w.~-]+)*)\s+v\d"), text)
    }
}

fn toml_entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '"');
    (!key.is_empty() && key.chars().all(plain)).then(|| (key, value.trim()))
}

/// A version requirement or a table that says where a crate comes from.
fn is_cargo_requirement(value: &str) -> bool {
    let table = value.starts_with('{') && pattern!(r"\b(?:version|git|path|workspace|registry)\s*=").is_match(value);
    let inherited = value == "true";
    table || inherited || value.strip_prefix('"').is_some_and(is_version)
}

/// `name = "^1.2"` of a table that the patch does not show; a bare number may be anything's version.
fn is_poetry_requirement(key: &str, value: &str) -> bool {
    let table = value.starts_with('{') && pattern!(r"\b(?:version|git|path|url)\s*=").is_match(value);
    let ranged = pattern!(r#"^"(?:[\^~<>*]|[=!]=)"#).is_match(value);
    (table || ranged) && !matches!(key, "python" | "requires-python")
}

/// Keys of `[package]` and of profiles whose values look like versions.
fn is_package_key(key: &str) -> bool {
    const KEYS: [&str; 16] = [
        "version",
        "edition",
        "rust-version",
        "resolver",
        "license",
        "name",
        "authors",
        "description",
        "homepage",
        "repository",
        "documentation",
        "readme",
        "publish",
        "debug",
        "strip",
        "lto",
    ];
    KEYS.contains(&key)
        || [
            "opt-level",
            "debug-assertions",
            "overflow-checks",
            "incremental",
            "harness",
            "test",
            "doctest",
            "bench",
            "autobins",
            "default",
            "required-features",
            "codegen-units",
            "panic",
        ]
        .contains(&key)
}

fn is_version(text: &str) -> bool {
    pattern!(r#"^\s*(?:[\^~]|[<>=!]=?|\*|v?\d)"#).is_match(text)
}

fn is_npm_section(key: &str) -> bool {
    matches!(key, "dependencies" | "devDependencies" | "peerDependencies" | "optionalDependencies")
}

fn is_npm_version(value: &str) -> bool {
    const FROM: [&str; 11] = [
        "workspace:",
        "npm:",
        "file:",
        "link:",
        "git+",
        "git:",
        "github:",
        "http://",
        "https://",
        "catalog:",
        "portal:",
    ];
    is_version(value) || value == "latest" || value == "next" || FROM.iter().any(|start| value.starts_with(start))
}

/// Fields of package.json whose values look like versions or addresses.
fn is_npm_field(key: &str) -> bool {
    const FIELDS: [&str; 13] = [
        "version",
        "node",
        "npm",
        "yarn",
        "pnpm",
        "vscode",
        "bun",
        "homepage",
        "url",
        "packageManager",
        "license",
        "port",
        "repository",
    ];
    FIELDS.contains(&key)
}

/// A line of a requirements file: `name`, `name[extra]>=1`, `name @ url`, `-e git+…#egg=name==1`.
fn requirement(text: &str) -> Option<String> {
    if let Some(egg) = text.split_once("#egg=") {
        return Some(normalised(egg.1.split(['&', ' ', '[', '=', '<', '>', '~', '!', ';']).next()?));
    }
    if let Some(address) = text.strip_prefix("-e ").or_else(|| text.strip_prefix("--editable ")) {
        return address.contains("://").then(|| address.trim().to_owned());
    }
    captured(pattern!(r"^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:$|[<>=!~@;#,]|\s#)"), text)
        .map(|name| normalised(&name))
}

/// Python's names know no case and take `-`, `_` and `.` for the same.
fn normalised(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

/// The first quoted requirement of a list.
fn quoted_requirement(text: &str) -> Option<String> {
    let text = text.trim();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (inner, after) = text[1..].split_once(quote)?;
    // A key of a table is quoted too.
    if after.trim_start().starts_with([':', '=']) {
        return None;
    }
    requirement(inner)
}

fn has_operator(text: &str) -> bool {
    ["==", ">=", "<=", "~=", "!=", ">", "<", " @ "].iter().any(|operator| text.contains(operator))
}

fn named_by(form: LineForm, line: &str) -> Option<String> {
    let pattern = match form {
        LineForm::Gradle => pattern!(
            r#"^\s*(?:(?:\w*[iI]mplementation|\w*[aA]pi|compile|\w*[cC]ompileOnly|\w*[rR]untimeOnly|\w*[aA]nnotationProcessor|\w*[kK]apt|\w*[kK]sp|classpath|provided|runtime|testCompile|developmentOnly|coreLibraryDesugaring)\b[\s(]+(?:(?:enforcedPlatform|platform|kotlin|project)\s*\()?\s*(?:["']([^"':]+(?::[^"':]+)?)|(libs\.[\w.]+))|id[\s(]+["']([^"']+)["']|["']([\w.-]+:[\w.-]+)(?::[^"']*)?["']\s*,?\s*(?://.*)?$)"#
        ),
        LineForm::VersionCatalog => {
            pattern!(r#"^\s*[\w.-]+\s*=(?:.*(?:module|group|id)\s*=\s*"([^"]+)"|\s*"([\w.-]+:[\w.-]+):)"#)
        }
        LineForm::Ruby => {
            pattern!(r#"^\s*(?:gem|pod|\w+\.add_(?:runtime_|development_)?dependency)[\s(]+["']([^"']+)["']"#)
        }
        LineForm::NuGetXml => pattern!(
            r#"<(?:PackageReference|PackageVersion|GlobalPackageReference)\s[^>]*Include\s*=\s*"([^"]+)"|<package\s[^>]*id\s*=\s*"([^"]+)""#
        ),
        LineForm::Mix => pattern!(r#"^\s*\{\s*:?(\w+)\s*,\s*(?:"|~|\[?\s*(?:git|github|path|only)\b|\{git)"#),
        LineForm::Swift => pattern!(r#"\.package\([^)]*(?:url|path|id)\s*:\s*"([^"]+)""#),
        LineForm::Sbt => pattern!(r#""[\w.-]+"\s*%{1,3}\s*"([\w.-]+)""#),
        LineForm::Xcode => pattern!(r#"^\s*repositoryURL = "([^"]+)";"#),
        LineForm::HelmChart => pattern!(r"^\s+(?:-\s+)?name:\s*(\S+)"),
    };
    captured(pattern, line)
}
