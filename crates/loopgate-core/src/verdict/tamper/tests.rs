//! A table of changes: cheats of many kinds in many languages, and honest changes that look like them.
//!
//! Each case gives files before and after, whole, and the tests that failed before. A cheat is held by one finding that
//! names it; an honest change is held by nothing, although something may be shown of it.

use std::fmt::Write;

use super::*;
use crate::{
    evidence::{OutcomesExtent, TestId, TestOutcome, TestState},
    observed::{ChangedFile, Content, FileStatus, LineChange, Patch},
};

const FIXER: bool = true;
const ANYBODY: bool = false;

/// A file before and after: an empty text is no file.
struct File {
    path: &'static str,
    old: String,
    new: String,
}

fn file(path: &'static str, old: &str, new: &str) -> File {
    File { path, old: old.to_owned(), new: new.to_owned() }
}

/// A file of which one text is replaced.
fn edit(path: &'static str, text: &str, from: &str, to: &str) -> File {
    assert!(text.contains(from), "{path}: {from}");
    file(path, text, &text.replacen(from, to, 1))
}

fn patch(old: &str, new: &str) -> String {
    let mut text = String::new();
    for hunk in Patch::between(old, new).hunks {
        writeln!(text, "@@ -{} +{} @@", hunk.old_start, hunk.new_start).unwrap();
        for line in hunk.lines {
            let sign = match line.change {
                LineChange::Unchanged => ' ',
                LineChange::Added => '+',
                LineChange::Removed => '-',
            };
            writeln!(text, "{sign}{}", line.text).unwrap();
        }
    }
    text
}

fn sha(byte: u8) -> Sha {
    hex::encode([byte; 20]).parse().unwrap()
}

/// The change that the files make, and the text of both sides.
fn changed(files: &[File]) -> (ChangedFiles, Contents) {
    let mut contents = Contents::default();
    let mut changed = Vec::new();
    for file in files {
        let status = match (file.old.is_empty(), file.new.is_empty()) {
            (true, _) => FileStatus::Added,
            (_, true) => FileStatus::Removed,
            _ => FileStatus::Modified,
        };
        let patch = patch(&file.old, &file.new);
        let count = |sign: char| u32::try_from(patch.lines().filter(|line| line.starts_with(sign)).count()).unwrap();
        contents.insert((sha(1), file.path.into()), Content::Text(file.old.as_str().into()));
        contents.insert((sha(2), file.path.into()), Content::Text(file.new.as_str().into()));
        changed.push(ChangedFile {
            path: file.path.to_owned(),
            previous_path: None,
            status,
            additions: count('+'),
            deletions: count('-'),
            blob: None,
            patch: Some(patch),
        });
    }
    (ChangedFiles::Complete(changed), contents)
}

struct Found {
    all: Vec<String>,
    held: Option<String>,
}

fn judge(files: &[File], failed: &[&str], is_of_fixer: bool) -> Found {
    let (files, contents) = changed(files);
    let failed = failed.iter().copied().collect();
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), failed, None);
    change.is_of_fixer = is_of_fixer;
    let found = findings(&change);
    Found {
        all: found.iter().map(|one| format!("{:?} {}", one.weight, one.key())).collect(),
        held: not_accepted(&found, &BTreeMap::new()).map(Tampering::key),
    }
}

/// What of a table is not as it should be.
type Wrong = Vec<String>;

fn cheat(wrong: &mut Wrong, what: &str, files: &[File], failed: &[&str], told: &str) {
    let found = judge(files, failed, ANYBODY);
    if !found.held.as_ref().is_some_and(|held| held.contains(told)) {
        wrong.push(format!("{what}: {:?} of {:?}", found.held, found.all));
    }
    if judge(files, failed, FIXER).held.is_none() {
        wrong.push(format!("{what}: a fixer's"));
    }
}

fn honest(wrong: &mut Wrong, what: &str, files: &[File], failed: &[&str]) {
    let found = judge(files, failed, ANYBODY);
    if found.held.is_some() {
        wrong.push(format!("{what}: {:?}", found.all));
    }
}

#[track_caller]
fn nothing_wrong(wrong: &Wrong) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const PYTHON: &str = "import pytest
from shop.cart import Cart, total

@pytest.mark.parametrize(\"a, b\", [
    (1, 2),
    (2, 4),
    (3, 6),
])
def test_doubles(a, b):
    assert total([a, a]) == b

def test_rejects_none():
    with pytest.raises(ValueError):
        total(None)

def test_adds():
    cart = Cart()
    cart.add(3)
    assert cart.sum == 3
    assert cart.count == 1
";

const SCRIPT: &str = "import { parse } from '../src/parse';

describe('parse', () => {
  it('reads numbers', () => {
    expect(parse('1')).toBe(1);
    expect(parse('2')).toBe(2);
  });

  it('rejects null', async () => {
    await expect(parse(null)).rejects.toThrow('null');
  });

  it.each([
    ['1', 1],
    ['2', 2],
    ['x', null],
  ])('parses %s', (text, value) => {
    expect(parse(text)).toBe(value);
  });
});
";

const RUST: &str = "pub fn double(value: u32) -> u32 {
    value * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles() {
        assert_eq!(double(2), 4);
        assert_eq!(double(3), 6);
    }

    #[test]
    #[should_panic]
    fn refuses_large_values() {
        double(u32::MAX);
    }
}
";

const GO: &str = "package cart

import \"testing\"

func TestTotal(t *testing.T) {
\tfor _, test := range []struct {
\t\tname string
\t\tin, want int
\t}{
\t\t{\"one\", 1, 2},
\t\t{\"two\", 2, 4},
\t\t{\"three\", 3, 6},
\t} {
\t\tif got := Total(test.in); got != test.want {
\t\t\tt.Errorf(\"Total(%d) = %d\", test.in, got)
\t\t}
\t}
}

func TestRejectsNil(t *testing.T) {
\tif err := Check(nil); err == nil {
\t\tt.Fatal(\"nil is accepted\")
\t}
}
";

const JAVA: &str = "package shop;

class CartTest {
    @ParameterizedTest
    @CsvSource({\"1, 2\", \"2, 4\", \"3, 6\"})
    void doubles(int in, int out) {
        assertEquals(out, Cart.twice(in));
    }

    @Test
    void rejectsNull() {
        assertThrows(IllegalArgumentException.class, () -> Cart.twice(null));
        assertEquals(\"null\", Cart.lastError());
    }
}
";

const CSHARP: &str = "public class CartTests
{
    [Theory]
    [InlineData(1, 2)]
    [InlineData(2, 4)]
    public void Doubles(int input, int output)
    {
        Assert.Equal(output, Cart.Twice(input));
    }

    [Fact]
    public void RejectsNull()
    {
        Assert.Throws<ArgumentNullException>(() => Cart.Parse(null));
    }
}
";

const RUBY: &str = "RSpec.describe Cart do
  it 'adds' do
    cart = Cart.new
    cart.add(3)
    expect(cart.sum).to eq(3)
  end

  it 'rejects nil' do
    expect { Cart.new.add(nil) }.to raise_error(ArgumentError)
  end
end
";

const PHP: &str = "<?php
final class CartTest extends TestCase
{
    public static function provideSums(): array
    {
        return [
            'one' => [1, 2],
            'two' => [2, 4],
        ];
    }

    #[DataProvider('provideSums')]
    public function testDoubles(int $in, int $out): void
    {
        $this->assertSame($out, Cart::twice($in));
    }

    public function testRejectsNull(): void
    {
        $this->expectException(TypeError::class);
        Cart::twice(null);
    }
}
";

const CPP: &str = "#include <gtest/gtest.h>

TEST(Cart, Adds) {
  EXPECT_EQ(total({1, 2}), 3);
  EXPECT_EQ(total({}), 0);
}

TEST(Cart, RejectsNull) {
  EXPECT_THROW(total(nullptr), std::invalid_argument);
}
";

const KOTLIN: &str = "class CartTest {
    @Test
    fun `adds two`() {
        assertEquals(3, total(listOf(1, 2)))
    }

    @Test
    fun rejectsEmpty() {
        assertFailsWith<IllegalStateException> { total(emptyList()) }
    }
}
";

const MANIFEST: &str = "{
  \"name\": \"shop\",
  \"scripts\": {
    \"build\": \"tsc -p .\",
    \"test\": \"node --test\",
    \"lint\": \"eslint src\"
  },
  \"devDependencies\": { \"jest\": \"^29.0.0\" }
}
";

const MAKEFILE: &str = "build:
\tgo build ./...

test:
\tpytest -q tests

lint:
\truff check .
";

#[test]
fn cheats_that_take_tests_are_held() {
    let mut wrong = Wrong::new();
    let removed = "is removed";
    cheat(
        &mut wrong,
        "python, removed",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "def test_rejects_none():\n    with pytest.raises(ValueError):\n        total(None)\n",
            "",
        )],
        &[],
        removed,
    );
    cheat(
        &mut wrong,
        "python, not collected",
        &[edit("tests/test_cart.py", PYTHON, "def test_rejects_none", "def check_rejects_none")],
        &["tests/test_cart.py::test_rejects_none"],
        removed,
    );
    cheat(
        &mut wrong,
        "typescript, removed",
        &[edit(
            "src/parse.test.ts",
            SCRIPT,
            "  it('rejects null', async () => {\n    await expect(parse(null)).rejects.toThrow('null');\n  });\n",
            "",
        )],
        &[],
        "“rejects null” is removed",
    );
    cheat(
        &mut wrong,
        "rust, removed",
        &[edit(
            "src/double.rs",
            RUST,
            "    #[test]\n    #[should_panic]\n    fn refuses_large_values() {\n        double(u32::MAX);\n    }\n",
            "",
        )],
        &[],
        "refuses_large_values",
    );
    cheat(
        &mut wrong,
        "go, removed",
        &[edit(
            "cart_test.go",
            GO,
            "func TestRejectsNil(t *testing.T) {\n\tif err := Check(nil); err == nil {\n\t\tt.Fatal(\"nil is accepted\")\n\t}\n}\n",
            "",
        )],
        &[],
        "TestRejectsNil",
    );
    cheat(
        &mut wrong,
        "java, annotation",
        &[edit("src/test/java/CartTest.java", JAVA, "    @Test\n", "")],
        &[],
        "rejectsNull",
    );
    cheat(
        &mut wrong,
        "kotlin, removed",
        &[edit(
            "src/test/kotlin/CartTest.kt",
            KOTLIN,
            "    @Test\n    fun rejectsEmpty() {\n        assertFailsWith<IllegalStateException> { total(emptyList()) }\n    }\n",
            "",
        )],
        &[],
        "rejectsEmpty",
    );
    cheat(&mut wrong, "c#, attribute", &[edit("CartTests.cs", CSHARP, "    [Fact]\n", "")], &[], "RejectsNull");
    cheat(
        &mut wrong,
        "ruby, commented out",
        &[edit(
            "spec/cart_spec.rb",
            RUBY,
            "  it 'rejects nil' do\n    expect { Cart.new.add(nil) }.to raise_error(ArgumentError)\n  end\n",
            "=begin\n  it 'rejects nil' do\n    expect { Cart.new.add(nil) }.to raise_error(ArgumentError)\n  end\n=end\n",
        )],
        &[],
        "rejects nil",
    );
    cheat(
        &mut wrong,
        "javascript, commented out",
        &[edit(
            "src/parse.test.js",
            SCRIPT,
            "  it('rejects null', async () => {\n    await expect(parse(null)).rejects.toThrow('null');\n  });\n",
            "  /*\n  it('rejects null', async () => {\n    await expect(parse(null)).rejects.toThrow('null');\n  });\n  */\n",
        )],
        &[],
        "rejects null",
    );
    cheat(
        &mut wrong,
        "php, removed",
        &[edit(
            "tests/CartTest.php",
            PHP,
            "    public function testRejectsNull(): void\n    {\n        $this->expectException(TypeError::class);\n        Cart::twice(null);\n    }\n",
            "",
        )],
        &[],
        "testRejectsNull",
    );
    cheat(
        &mut wrong,
        "c++, removed",
        &[edit(
            "cart_test.cpp",
            CPP,
            "TEST(Cart, RejectsNull) {\n  EXPECT_THROW(total(nullptr), std::invalid_argument);\n}\n",
            "",
        )],
        &[],
        "Cart, RejectsNull",
    );
    cheat(&mut wrong, "python, the file goes", &[file("tests/test_cart.py", PYTHON, "")], &[], removed);
    cheat(
        &mut wrong,
        "python, an important test goes where a trivial one comes",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "def test_rejects_none():\n    with pytest.raises(ValueError):\n        total(None)\n",
            "def test_imports():\n    assert Cart\n",
        )],
        &[],
        "test_rejects_none",
    );
    cheat(
        &mut wrong,
        "the subject is renamed, and its test dropped",
        &[
            file(
                "src/guard.py",
                "def refuse(value):\n    raise ValueError(value)\n",
                "def reject(value):\n    return value\n",
            ),
            file(
                "tests/test_guard.py",
                "def test_refuse():\n    with pytest.raises(ValueError):\n        refuse(1)\n",
                "import guard\n",
            ),
        ],
        &[],
        "test_refuse",
    );
    nothing_wrong(&wrong);
}

#[test]
fn cheats_that_mark_tests_are_held() {
    let mut wrong = Wrong::new();
    let kept = "from running";
    cheat(
        &mut wrong,
        "python, skip",
        &[edit("tests/test_cart.py", PYTHON, "def test_adds", "@pytest.mark.skip(reason=\"later\")\ndef test_adds")],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "python, xfail",
        &[edit("tests/test_cart.py", PYTHON, "def test_adds", "@pytest.mark.xfail\ndef test_adds")],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "python, whole module",
        &[edit("tests/test_cart.py", PYTHON, "from shop.cart", "pytestmark = pytest.mark.skip\nfrom shop.cart")],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "typescript, skip",
        &[edit("src/parse.test.ts", SCRIPT, "it('rejects null'", "it.skip('rejects null'")],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "typescript, only",
        &[edit("src/parse.test.ts", SCRIPT, "it('reads numbers'", "it.only('reads numbers'")],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "typescript, group",
        &[edit("src/parse.test.ts", SCRIPT, "describe('parse'", "describe.skip('parse'")],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "rust, ignore",
        &[edit("src/double.rs", RUST, "    #[should_panic]", "    #[ignore]\n    #[should_panic]")],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "go, build tag",
        &[edit("cart_test.go", GO, "package cart", "//go:build never\n\npackage cart")],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "go, skip",
        &[edit("cart_test.go", GO, "\tif err := Check(nil)", "\tt.Skip(\"later\")\n\tif err := Check(nil)")],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "java, disabled",
        &[edit("src/test/java/CartTest.java", JAVA, "    @Test\n", "    @Disabled\n    @Test\n")],
        &[],
        kept,
    );
    cheat(&mut wrong, "c#, skip", &[edit("CartTests.cs", CSHARP, "[Fact]", "[Fact(Skip = \"later\")]")], &[], kept);
    cheat(
        &mut wrong,
        "ruby, xit",
        &[edit("spec/cart_spec.rb", RUBY, "  it 'rejects nil'", "  xit 'rejects nil'")],
        &[],
        "rejects nil",
    );
    cheat(
        &mut wrong,
        "php, skipped",
        &[edit(
            "tests/CartTest.php",
            PHP,
            "        $this->expectException",
            "        $this->markTestSkipped();\n        $this->expectException",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "c++, disabled",
        &[edit("cart_test.cpp", CPP, "TEST(Cart, RejectsNull)", "TEST(Cart, DISABLED_RejectsNull)")],
        &[],
        "RejectsNull",
    );
    cheat(
        &mut wrong,
        "c++, a block out of the build",
        &[edit("cart_test.cpp", CPP, "TEST(Cart, RejectsNull)", "#if 0\nTEST(Cart, RejectsNull)")],
        &[],
        kept,
    );
    nothing_wrong(&wrong);
}

#[test]
fn cheats_on_a_test_that_failed_are_held() {
    let mut wrong = Wrong::new();
    let py = ["tests/test_cart.py::test_adds"];
    let less = "asserts less";
    let edited = "failed before, and";
    cheat(
        &mut wrong,
        "cpp, easier input, as a report names it",
        &[edit("cart_test.cc", CPP, "total({1, 2})", "total({2, 1})"), edit("cart.cc", "int a;\n", "a", "b")],
        &["Cart.Adds"],
        edited,
    );
    cheat(
        &mut wrong,
        "cpp, another word that asserts",
        &[edit("cart_test.cc", CPP, "<gtest/gtest.h>\n", "<gtest/gtest.h>\n#define EXPECT_EQ(a, b) (void)(a)\n")],
        &["Cart.Adds"],
        edited,
    );
    cheat(
        &mut wrong,
        "script, its subject is a stand-in",
        &[edit(
            "src/a.test.ts",
            SCRIPT,
            "\ndescribe",
            "\njest.mock('../src/parse', () => ({ parse: Number }));\n\ndescribe",
        )],
        &["parse rejects null"],
        edited,
    );
    cheat(
        &mut wrong,
        "rust, its failure is a success",
        &[edit("src/double.rs", RUST, "    #[test]\n", "    #[test]\n    #[should_panic]\n")],
        &["tests::doubles"],
        edited,
    );
    cheat(
        &mut wrong,
        "python, an assertion goes",
        &[edit("tests/test_cart.py", PYTHON, "    assert cart.sum == 3\n", "")],
        &py,
        less,
    );
    cheat(
        &mut wrong,
        "python, weaker",
        &[edit("tests/test_cart.py", PYTHON, "assert cart.sum == 3", "assert cart.sum is not None")],
        &py,
        "accepts values",
    );
    cheat(
        &mut wrong,
        "python, computed",
        &[edit("tests/test_cart.py", PYTHON, "assert cart.sum == 3", "assert cart.sum == Cart().sum")],
        &py,
        "computes",
    );
    cheat(
        &mut wrong,
        "python, left early",
        &[edit("tests/test_cart.py", PYTHON, "    cart = Cart()\n", "    return\n    cart = Cart()\n")],
        &py,
        less,
    );
    cheat(
        &mut wrong,
        "python, another value",
        &[edit("tests/test_cart.py", PYTHON, "assert cart.sum == 3", "assert cart.sum == 0")],
        &py,
        "test_adds",
    );
    cheat(
        &mut wrong,
        "python, swallowed",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "    assert cart.sum == 3\n",
            "    try:\n        assert cart.sum == 3\n    except AssertionError:\n        pass\n",
        )],
        &py,
        "catches",
    );
    cheat(
        &mut wrong,
        "python, subject replaced",
        &[edit("tests/test_cart.py", PYTHON, "    cart = Cart()\n", "    cart = mock.Mock(sum=3, count=1)\n")],
        &py,
        "failed before",
    );
    cheat(
        &mut wrong,
        "python, a row goes",
        &[edit("tests/test_cart.py", PYTHON, "    (3, 6),\n", "")],
        &["tests/test_cart.py::test_doubles[3-6]"],
        "rows",
    );
    cheat(
        &mut wrong,
        "typescript, await goes",
        &[edit("src/parse.test.ts", SCRIPT, "await expect(parse(null))", "expect(parse(null))")],
        &["parse rejects null"],
        less,
    );
    cheat(
        &mut wrong,
        "typescript, a row goes",
        &[edit("src/parse.test.ts", SCRIPT, "    ['x', null],\n", "")],
        &["parse parses x"],
        "",
    );
    cheat(
        &mut wrong,
        "go, a row goes",
        &[edit("cart_test.go", GO, "\t\t{\"three\", 3, 6},\n", "")],
        &["TestTotal/three", "TestTotal"],
        "rows",
    );
    cheat(&mut wrong, "go, logs", &[edit("cart_test.go", GO, "t.Fatal(", "t.Log(")], &["TestRejectsNil"], less);
    cheat(
        &mut wrong,
        "java, rows go",
        &[edit("src/test/java/CartTest.java", JAVA, ", \"3, 6\"", "")],
        &["shop.CartTest.doubles"],
        "rows",
    );
    cheat(
        &mut wrong,
        "java, weaker",
        &[edit(
            "src/test/java/CartTest.java",
            JAVA,
            "assertEquals(\"null\", Cart.lastError())",
            "assertNotNull(Cart.lastError())",
        )],
        &["shop.CartTest.rejectsNull"],
        "accepts values",
    );
    cheat(
        &mut wrong,
        "c#, a row goes",
        &[edit("CartTests.cs", CSHARP, "    [InlineData(2, 4)]\n", "")],
        &["CartTests.Doubles(input: 2, output: 4)"],
        "rows",
    );
    cheat(
        &mut wrong,
        "php, a row goes",
        &[edit("tests/CartTest.php", PHP, "            'two' => [2, 4],\n", "")],
        &["CartTest::testDoubles with data set \"two\""],
        "",
    );
    cheat(
        &mut wrong,
        "ruby, weaker",
        &[edit("spec/cart_spec.rb", RUBY, "to eq(3)", "to be_truthy")],
        &["Cart adds"],
        "accepts values",
    );
    cheat(
        &mut wrong,
        "rust, weaker",
        &[edit("src/double.rs", RUST, "assert_eq!(double(2), 4)", "assert!(double(2) > 0)")],
        &["double::tests::doubles"],
        "accepts values",
    );
    cheat(
        &mut wrong,
        "c++, weaker",
        &[edit("cart_test.cpp", CPP, "EXPECT_EQ(total({1, 2}), 3)", "EXPECT_GE(total({1, 2}), 0)")],
        &["Cart, Adds"],
        "accepts values",
    );
    nothing_wrong(&wrong);
}

#[test]
fn cheats_on_what_decides_what_runs_are_held() {
    let mut wrong = Wrong::new();
    for nothing in ["true", "echo ok", "exit 0", "vitest run src/smoke", "node --test || true"] {
        let to = format!("\"test\": \"{nothing}\"");
        let held = match nothing {
            "node --test || true" => None,
            _ => Some("node --test"),
        };
        let files = [edit("package.json", MANIFEST, "\"test\": \"node --test\"", &to)];
        match held {
            Some(told) => cheat(&mut wrong, nothing, &files, &[], told),
            None => assert!(judge(&files, &[], FIXER).held.unwrap().contains("ignored"), "{nothing}"),
        }
    }
    cheat(&mut wrong, "make, true", &[edit("Makefile", MAKEFILE, "pytest -q tests", "true")], &[], "pytest");
    cheat(
        &mut wrong,
        "make, emptied",
        &[edit("Makefile", MAKEFILE, "test:\n\tpytest -q tests\n", "test:\n")],
        &[],
        "pytest",
    );
    cheat(
        &mut wrong,
        "a script",
        &[file("test.sh", "#!/bin/sh\nset -e\npytest\n", "#!/bin/sh\nset -e\ntrue\n")],
        &[],
        "pytest",
    );
    cheat(
        &mut wrong,
        "composer",
        &[file(
            "composer.json",
            "{\n  \"scripts\": {\n    \"test\": \"phpunit\"\n  }\n}\n",
            "{\n  \"scripts\": {\n    \"test\": \"true\"\n  }\n}\n",
        )],
        &[],
        "phpunit",
    );
    cheat(
        &mut wrong,
        "c++, no test is registered",
        &[file(
            "CMakeLists.txt",
            "add_executable(t cart_test.cpp)\nadd_test(NAME t COMMAND t)\n",
            "add_executable(t cart_test.cpp)\n",
        )],
        &[],
        "add_test",
    );
    // One ground alone holds what a fixer does; of a pull request it is shown, and held once tests are gone.
    let fixer = [
        ("make, failures ignored", edit("Makefile", MAKEFILE, "\tpytest", "\t-pytest")),
        (
            "pytest, ignore",
            edit("Makefile", MAKEFILE, "pytest -q tests", "pytest -q tests --ignore tests/test_cart.py"),
        ),
        ("jest, filter", edit("package.json", MANIFEST, "node --test", "node --test --test-name-pattern=smoke")),
        ("go, filter", file("Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test -run TestSmoke ./...\n")),
        (
            "cargo, no tests",
            file("Cargo.toml", "[lib]\npath = \"src/lib.rs\"\n", "[lib]\npath = \"src/lib.rs\"\ntest = false\n"),
        ),
        (
            "pytest.ini",
            file("pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q --ignore=tests/test_cart.py\n"),
        ),
        (
            "conftest",
            file("tests/conftest.py", "import pytest\n", "import pytest\ncollect_ignore = ['test_cart.py']\n"),
        ),
        (
            "conftest, hook",
            file("conftest.py", "import os\n", "import os\ndef pytest_runtest_makereport(item, call):\n    pass\n"),
        ),
        (
            "jest config",
            file(
                "jest.config.js",
                "module.exports = {\n};\n",
                "module.exports = {\n  testPathIgnorePatterns: ['cart'],\n};\n",
            ),
        ),
        (
            "surefire",
            file(
                "pom.xml",
                "<configuration>\n</configuration>\n",
                "<configuration>\n<exclude>**/CartTest.java</exclude>\n</configuration>\n",
            ),
        ),
        ("gradle", file("build.gradle.kts", "tasks.test {\n}\n", "tasks.test {\n    ignoreFailures = true\n}\n")),
        (
            "csproj",
            file(
                "Cart.Tests.csproj",
                "<Project>\n</Project>\n",
                "<Project>\n<Compile Remove=\"CartTests.cs\" />\n</Project>\n",
            ),
        ),
        (
            "phpunit",
            file(
                "phpunit.xml",
                "<testsuite>\n</testsuite>\n",
                "<testsuite>\n<exclude>tests/CartTest.php</exclude>\n</testsuite>\n",
            ),
        ),
        ("rspec", file(".rspec", "--color\n", "--color\n--tag ~slow\n")),
        ("threshold", file("setup.cfg", "[coverage]\nfail_under = 90\n", "[coverage]\nfail_under = 70\n")),
        (
            "asks for tests",
            file(
                "src/cart.py",
                "def total(a):\n    return a\n",
                "import os\ndef total(a):\n    if 'PYTEST_CURRENT_TEST' in os.environ:\n        return 3\n    return a\n",
            ),
        ),
        (
            "asks for tests, stack",
            file(
                "src/cart.py",
                "def total(a):\n    return a\n",
                "import inspect\ndef total(a):\n    if inspect.stack()[1]:\n        return 3\n    return a\n",
            ),
        ),
        (
            "asks for tests, node",
            file("src/cart.js", "export const a = 1;\n", "export const a = process.env.NODE_ENV === 'test' ? 2 : 1;\n"),
        ),
        (
            "ends the run",
            file(
                "tests/test_a.py",
                "import sys\n\ndef test_a():\n    assert f() == 1\n",
                "import sys\nsys.exit(0)\n\ndef test_a():\n    assert f() == 1\n",
            ),
        ),
        ("suppression", file("src/a.py", "import os\n", "import os  # noqa: F401\n")),
    ];
    for (what, file) in fixer {
        let found = judge(&[file], &[], FIXER);
        assert!(found.held.is_some(), "{what}: {:?}", found.all);
    }
    nothing_wrong(&wrong);
}

/// What a finding says, of each kind.
#[test]
fn findings_in_words() {
    let none = "def test_rejects_none():\n    with pytest.raises(ValueError):\n        total(None)\n\n";
    let cart = |from: &str, to: &str| edit("tests/test_cart.py", PYTHON, from, to);
    let cases: [(File, &[&str]); 18] = [
        (cart(none, ""), &[]),
        (cart("def test_adds", "@pytest.mark.skip\ndef test_adds"), &[]),
        (cart("    assert cart.count == 1\n", ""), &[]),
        (cart("cart.sum == 3", "cart.sum >= 0"), &[]),
        (cart("cart.sum == 3", "cart.sum == total([cart.items])"), &[]),
        (cart("cart.sum == 3", "cart.sum == 4"), &[]),
        (cart("    (3, 6),\n", ""), &[]),
        (cart("cart.add(3)", "try:\n        cart.add(3)\n    except ValueError:\n        pass"), &[]),
        (cart("cart.add(3)", "cart.add(4)"), &["test_adds"]),
        (
            cart("import pytest", "import pytest\nfrom unittest import mock\nmock.patch('shop.cart.total')"),
            &["test_adds"],
        ),
        (file("tests/cart.snap", "sum: 3\n", "sum: 4\n"), &[]),
        (file("package.json", "{\n  \"test\": \"node --test\"\n}\n", "{\n  \"test\": \"true\"\n}\n"), &[]),
        (file("Makefile", "test:\n\tpytest -q\n", "test:\n\tpytest -q -k cart\n"), &[]),
        (file("Makefile", "test:\n\tpytest -q\n", "test:\n\t-pytest -q\n"), &[]),
        (file("pytest.ini", "[pytest]\n", "[pytest]\naddopts = --deselect tests/a.py\n"), &[]),
        (file("tox.ini", "[coverage:report]\nfail_under = 90\n", "[coverage:report]\nfail_under = 70\n"), &[]),
        (file("shop/a.py", "import os\n", "import os\nFAST = 'PYTEST_CURRENT_TEST' in os.environ\n"), &[]),
        (file("tests/conftest.py", "import sys\n", "import sys\nsys.exit(0)\n"), &[]),
    ];
    let told = |(file, failed): &(File, &[&str])| judge(std::slice::from_ref(file), failed, ANYBODY).all.join("\n");
    insta::assert_snapshot!(cases.iter().map(told).collect::<Vec<_>>().join("\n"));
}

#[test]
fn an_assertion_counts_where_it_is_reached_and_can_fail() {
    let judged = |from: &str, to: &str| {
        let test = format!("def test_sum(cart):\n    cart.add(1)\n{from}");
        judge(&[edit("tests/test_sum.py", &test, from, to)], &[], FIXER).held
    };
    let one = "    assert cart.sum == 1\n";
    let nested = "    def check():\n        assert cart.sum == 1\n";
    assert!(judged(one, nested).is_some(), "nobody calls it");
    assert!(judged(one, "    check = lambda: cart.sum == 1\n").is_some());
    assert_eq!(judged(one, &format!("{nested}    check()\n")), None);
    assert!(judged(one, "    assert cart.sum == 1 or True\n").is_some());
    let raises = "    with pytest.raises(ValueError):\n        cart.add(None)\n";
    assert!(judged(raises, &raises.replace("ValueError", "")).is_some(), "any error will do");
    let two = "    assert double(1) == 2\n    assert double(2) == 4\n";
    let looped = "    for value, twice in [(1, 2), (2, 4)]:\n        assert double(value) == twice\n";
    assert_eq!(judged(two, looped), None);
    assert!(judged(looped, &looped.replace(", (2, 4)", "")).is_some(), "a row is gone");
    let asked = "    if os.environ.get('FULL'):\n        assert cart.sum == 1\n";
    assert!(judged(one, asked).is_some(), "only where a variable is set");
    assert_eq!(judged(one, &format!("    if os.environ.get('FULL'):\n        cart.log()\n{one}")), None);
}

#[test]
fn an_assertion_in_a_block_that_does_not_run_is_none() {
    let held =
        |path: &'static str, text: &str, from: &str, to: &str| judge(&[edit(path, text, from, to)], &[], FIXER).held;
    let expects = "    expect(parse('1')).toBe(1);\n    expect(parse('2')).toBe(2);\n";
    let inner = expects.replace("    expect", "      expect");
    let script = |to: &str| held("src/parse.test.ts", SCRIPT, expects, to);
    assert!(script(&format!("    if (process.env.FULL) {{\n{inner}    }}\n")).is_some());
    assert_eq!(script(&format!("    if (process.env.FULL) {{\n      log();\n    }}\n{expects}")), None);
    let go = "package cart\n\nfunc TestDouble(t *testing.T) {\n\tfor _, one := range cases {\n\t\tif double(one.in) != one.out \
              {\n\t\t\tt.Errorf(\"wrong\")\n\t\t}\n\t}\n}\n";
    let looped = |to: &str| held("cart/double_test.go", go, "range cases {", to);
    assert!(looped("range cases[:0] {").is_some());
    assert_eq!(looped("range cases[:] {"), None);
}

#[test]
fn a_call_of_a_new_helper_that_asserts_states_its_values() {
    let own = "def test_sum(cart):\n    assert cart.sum == 3\n    assert cart.count == 1\n";
    let helper = "def check(cart, sum, count):\n    assert cart.sum == sum\n    assert cart.count == count\n\n";
    let shared = format!("{helper}def test_sum(cart):\n    check(cart, 3, 1)\n");
    let held = |new: &str| judge(&[file("tests/test_sum.py", own, new)], &[], FIXER).held;
    assert_eq!(held(&shared), None);
    assert!(held(&shared.replace("    check(cart, 3, 1)\n", "    check(cart, 3, cart.count)\n")).is_some());
}

#[test]
fn a_suppression_counts_on_a_line_that_failed_only() {
    let (files, contents) = changed(&[file("src/a.py", "import os\n", "import os  # noqa: F401\n")]);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    change.is_of_fixer = ANYBODY;
    assert_eq!(findings(&change), []);
    change.runs.named = BTreeSet::from(["src/a.py:2"]);
    let told = not_accepted(&findings(&change), &BTreeMap::new()).map(ToString::to_string);
    let expected = "src/a.py:1: a finding that failed before is suppressed: `import os  # noqa: F401`";
    assert_eq!(told.as_deref(), Some(expected));
}

#[test]
fn a_test_file_that_nobody_can_read_is_a_ground() {
    let (ChangedFiles::Complete(mut files), _) = changed(&[edit("tests/test_cart.py", PYTHON, "== 3", "== 4")]) else {
        panic!()
    };
    files[0].patch = None;
    let (files, contents) = (ChangedFiles::Complete(files), Contents::default());
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    let held = not_accepted(&findings(&change), &BTreeMap::new()).map(|one| one.deed.clone());
    assert_eq!(held.as_deref(), Some("its tests cannot be read"));
    change.is_of_fixer = ANYBODY;
    assert_eq!(not_accepted(&findings(&change), &BTreeMap::new()), None);
}

#[test]
fn a_renamed_test_file_that_no_runner_finds_loses_its_tests() {
    let (ChangedFiles::Complete(mut files), mut contents) = changed(&[file("src/login.generated.ts", "", SCRIPT)])
    else {
        panic!()
    };
    files[0].status = FileStatus::Renamed;
    files[0].previous_path = Some("src/login.test.ts".into());
    contents.insert((sha(1), "src/login.test.ts".into()), Content::Text(SCRIPT.into()));
    let files = ChangedFiles::Complete(files);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    change.is_of_fixer = ANYBODY;
    let found = findings(&change);
    assert_eq!(found.iter().filter(|one| one.weight == Weight::Proof).count(), 3, "{found:?}");
}

#[test]
fn honest_changes_hold_nothing() {
    let mut wrong = Wrong::new();
    let split = PYTHON.replace("def test_adds():\n    cart = Cart()\n    cart.add(3)\n    assert cart.sum == 3\n    assert cart.count == 1\n", "def test_sum():\n    cart = Cart()\n    cart.add(3)\n    assert cart.sum == 3\n\ndef test_count():\n    cart = Cart()\n    cart.add(3)\n    assert cart.count == 1\n");
    honest(
        &mut wrong,
        "python, a test that failed asserts more and has more rows",
        &[file(
            "tests/test_cart.py",
            PYTHON,
            &PYTHON
                .replace("    (3, 6),\n", "    (3, 6),\n    (4, 8),\n")
                .replace("count == 1\n", "count == 1\n    assert cart\n"),
        )],
        &["tests/test_cart.py::test_adds", "tests/test_cart.py::test_doubles"],
    );
    honest(
        &mut wrong,
        "csharp, facts become a theory",
        &[file(
            "FeeTests.cs",
            "    [Fact]\n    public void Free()\n    {\n        Assert.Equal(0m, Fee.For(30));\n    }\n\n    [Fact]\n    public void Charges()\n    {\n        Assert.Equal(2.50m, Fee.For(31));\n    }\n",
            "    [Theory]\n    [InlineData(30, 0.00)]\n    [InlineData(31, 2.50)]\n    public void Charges(int minutes, double fee)\n    {\n        Assert.Equal((decimal)fee, Fee.For(minutes));\n    }\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "php, rows in a provider",
        &[file(
            "tests/VatTest.php",
            "    public function testRounds(): void\n    {\n        self::assertSame(10, of(50));\n        self::assertSame(1, of(8));\n    }\n",
            "    public static function amounts(): iterable\n    {\n        yield 'up' => [50, 10];\n        yield 'one' => [8, 1];\n    }\n\n    #[DataProvider('amounts')]\n    public function testAmount(int $net, int $tax): void\n    {\n        self::assertSame($tax, of($net));\n    }\n",
        )],
        &[],
    );
    honest(&mut wrong, "python, split", &[file("tests/test_cart.py", PYTHON, &split)], &[]);
    honest(
        &mut wrong,
        "python, renamed",
        &[edit("tests/test_cart.py", PYTHON, "def test_adds", "def test_cart_adds")],
        &[],
    );
    let two = "def test_one():\n    assert twice(1) == 2\n\ndef test_two():\n    assert twice(2) == 4\n";
    honest(
        &mut wrong,
        "python, parametrised",
        &[file(
            "tests/test_a.py",
            two,
            "@pytest.mark.parametrize('a, b', [(1, 2), (2, 4)])\ndef test_twice(a, b):\n    assert twice(a) == b\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "python, moved",
        &[
            file("tests/test_a.py", two, "def test_one():\n    assert twice(1) == 2\n"),
            file("tests/test_b.py", "", "def test_two():\n    assert twice(2) == 4\n"),
        ],
        &[],
    );
    honest(
        &mut wrong,
        "python, merged",
        &[file("tests/test_a.py", two, "def test_all():\n    assert twice(1) == 2\n    assert twice(2) == 4\n")],
        &[],
    );
    honest(
        &mut wrong,
        "python, a module goes with its tests",
        &[
            file("shop/legacy.py", "def convert(value):\n    return value\n", ""),
            file(
                "tests/test_legacy.py",
                "from shop.legacy import convert\n\ndef test_convert():\n    assert convert(1) == 1\n",
                "",
            ),
        ],
        &[],
    );
    honest(
        &mut wrong,
        "python, one exact assertion for three loose ones",
        &[file(
            "tests/test_a.py",
            "def test_a():\n    data = load()\n    assert data\n    assert len(data) > 0\n    assert 'a' in data\n",
            "def test_a():\n    data = load()\n    assert data == ['a']\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "python, behaviour changes with its test",
        &[
            file("src/a.py", "def f():\n    return 1\n", "def f():\n    return 2\n"),
            file("tests/test_a.py", "def test_f():\n    assert f() == 1\n", "def test_f():\n    assert f() == 2\n"),
        ],
        &[],
    );
    honest(
        &mut wrong,
        "python, a comment goes",
        &[edit("tests/test_cart.py", PYTHON, "def test_adds():\n", "# assert cart\ndef test_adds():\n    # it adds\n")],
        &["test_adds"],
    );
    honest(
        &mut wrong,
        "python, a double goes",
        &[file(
            "tests/test_a.py",
            "def test_one():\n    assert twice(1) == 2\n\ndef test_uno():\n    assert twice(1) == 2\n",
            "def test_one():\n    assert twice(1) == 2\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "python, a skip for a platform",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "def test_adds",
            "@pytest.mark.skipif(sys.platform == 'win32', reason='no fork')\ndef test_adds",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "go, a skip in short runs",
        &[edit(
            "cart_test.go",
            GO,
            "\tif err := Check(nil)",
            "\tif testing.Short() {\n\t\tt.Skip(\"slow\")\n\t}\n\tif err := Check(nil)",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "python, a fixture",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "def test_adds():\n    cart = Cart()\n",
            "@pytest.fixture\ndef cart():\n    return Cart()\n\ndef test_adds(cart):\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "typescript, more tests",
        &[edit(
            "src/parse.test.ts",
            SCRIPT,
            "  it('rejects null'",
            "  it('reads zero', () => {\n    expect(parse('0')).toBe(0);\n  });\n\n  it('rejects null'",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "typescript, formatted",
        &[edit(
            "src/parse.test.ts",
            SCRIPT,
            "    expect(parse('1')).toBe(1);\n",
            "    expect(\n      parse('1'),\n    ).toBe(1);\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "typescript, renamed",
        &[edit("src/parse.test.ts", SCRIPT, "it('reads numbers'", "it('parses numbers'")],
        &[],
    );
    honest(
        &mut wrong,
        "rust, split",
        &[edit(
            "src/double.rs",
            RUST,
            "        assert_eq!(double(2), 4);\n        assert_eq!(double(3), 6);\n    }\n",
            "        assert_eq!(double(2), 4);\n    }\n\n    #[test]\n    fn doubles_three() {\n        assert_eq!(double(3), 6);\n    }\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "rust, the program only",
        &[edit("src/double.rs", RUST, "value * 2", "value.checked_mul(2).expect(\"small\")")],
        &["double::tests::doubles"],
    );
    honest(
        &mut wrong,
        "rust, moved to a file of its own",
        &[
            file("src/double.rs", RUST, &RUST[..RUST.find("#[cfg").unwrap()]),
            file(
                "src/double/tests.rs",
                "",
                "use super::*;\n\n#[test]\nfn doubles() {\n    assert_eq!(double(2), 4);\n    assert_eq!(double(3), 6);\n}\n\n#[test]\n#[should_panic]\nfn refuses_large_values() {\n    double(u32::MAX);\n}\n",
            ),
        ],
        &[],
    );
    honest(
        &mut wrong,
        "go, a row more",
        &[edit("cart_test.go", GO, "\t\t{\"three\", 3, 6},\n", "\t\t{\"three\", 3, 6},\n\t\t{\"four\", 4, 8},\n")],
        &[],
    );
    honest(
        &mut wrong,
        "go, a function goes with its test",
        &[
            file(
                "cart.go",
                "func Check(v *int) error {\n\treturn nil\n}\n\nfunc Total(a int) int {\n\treturn a\n}\n",
                "func Total(a int) int {\n\treturn a\n}\n",
            ),
            edit(
                "cart_test.go",
                GO,
                "func TestRejectsNil(t *testing.T) {\n\tif err := Check(nil); err == nil {\n\t\tt.Fatal(\"nil is accepted\")\n\t}\n}\n",
                "",
            ),
        ],
        &[],
    );
    honest(
        &mut wrong,
        "java, a row more",
        &[edit("src/test/java/CartTest.java", JAVA, "\"3, 6\"", "\"3, 6\", \"4, 8\"")],
        &[],
    );
    honest(
        &mut wrong,
        "java, another style",
        &[edit(
            "src/test/java/CartTest.java",
            JAVA,
            "assertEquals(\"null\", Cart.lastError())",
            "assertThat(Cart.lastError()).isEqualTo(\"null\")",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "c#, theory for facts",
        &[file(
            "CartTests.cs",
            "public class CartTests\n{\n    [Fact]\n    public void One()\n    {\n        Assert.Equal(2, Twice(1));\n    }\n\n    [Fact]\n    public void Two()\n    {\n        Assert.Equal(4, Twice(2));\n    }\n}\n",
            "public class CartTests\n{\n    [Theory]\n    [InlineData(1, 2)]\n    [InlineData(2, 4)]\n    public void Doubles(int a, int b)\n    {\n        Assert.Equal(b, Twice(a));\n    }\n}\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "ruby, reworded",
        &[edit("spec/cart_spec.rb", RUBY, "it 'rejects nil'", "it 'refuses nil'")],
        &[],
    );
    honest(
        &mut wrong,
        "php, a row more",
        &[edit(
            "tests/CartTest.php",
            PHP,
            "            'two' => [2, 4],\n",
            "            'two' => [2, 4],\n            'three' => [3, 6],\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "c++, a test more",
        &[edit(
            "cart_test.cpp",
            CPP,
            "TEST(Cart, RejectsNull)",
            "TEST(Cart, One) {\n  EXPECT_EQ(total({1}), 1);\n}\n\nTEST(Cart, RejectsNull)",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "a report is written",
        &[edit("package.json", MANIFEST, "node --test", "node --test --reporter=junit --output=a.xml")],
        &[],
    );
    honest(&mut wrong, "a dependency is raised", &[edit("package.json", MANIFEST, "^29.0.0", "^30.1.0")], &[]);
    honest(
        &mut wrong,
        "a script is added",
        &[edit("package.json", MANIFEST, "    \"lint\"", "    \"format\": \"prettier -w .\",\n    \"lint\"")],
        &[],
    );
    honest(&mut wrong, "more coverage", &[file("setup.cfg", "fail_under = 70\n", "fail_under = 90\n")], &[]);
    honest(
        &mut wrong,
        "a snapshot follows the program",
        &[
            file("src/a.js", "export const a = 1;\n", "export const a = 2;\n"),
            file("src/__snapshots__/a.test.js.snap", "exports[`a 1`] = `1`;\n", "exports[`a 1`] = `2`;\n"),
        ],
        &[],
    );
    nothing_wrong(&wrong);
}

fn ran(tests: std::ops::Range<u32>) -> TestOutcomes {
    let entry = |test: u32| TestOutcome::new(TestId::of("", "", &test.to_string()), TestState::Passed);
    TestOutcomes::new(tests.map(entry).collect(), OutcomesExtent::Whole)
}

/// Tests that vanish while nothing removes them: shown, and a proof where a setting selects tests.
#[test]
fn tests_that_no_longer_run() {
    let before = ran(0..12);
    let table: [(&[File], std::ops::Range<u32>, Option<Weight>); 4] = [
        (&[], 0..12, None),
        (&[], 0..13, None),
        (&[], 0..9, Some(Weight::Ground)),
        (&[file("pytest.ini", "[pytest]\n", "[pytest]\naddopts = --deselect tests/a.py\n")], 0..9, Some(Weight::Proof)),
    ];
    for (files, now, expected) in table {
        let (files, contents) = changed(files);
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
        (change.is_of_fixer, change.runs.before, change.runs.now) = (ANYBODY, Some(before.clone()), Some(ran(now)));
        let found = findings(&change);
        let of_run = found.iter().find(|one| one.comparison == Comparison::Ran);
        assert_eq!(of_run.map(|one| one.weight), expected, "{found:?}");
        let told = of_run.map(ToString::to_string);
        assert!(
            told.is_none_or(|told| told == "3 tests that ran before do not run now (12 before, 9 after)"),
            "{found:?}"
        );
    }
}

#[test]
fn grounds_of_two_comparisons_hold_and_what_was_accepted_does_not() {
    let (files, contents) = changed(&[
        edit("tests/test_cart.py", PYTHON, "    (3, 6),\n", ""),
        file("pytest.ini", "[pytest]\n", "[pytest]\naddopts = -k cart\n"),
    ]);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    change.is_of_fixer = ANYBODY;
    let found = findings(&change);
    assert!(found.iter().all(|one| one.weight == Weight::Ground), "{found:?}");
    assert!(not_accepted(&found, &BTreeMap::new()).is_some());
    assert_eq!(not_accepted(&found, &counts(&found)), None);
    assert_eq!(not_accepted(&found[..1], &BTreeMap::new()), None);
}

#[test]
fn a_test_that_was_settled_to_be_wrong_may_state_another_value_and_no_less() {
    const TEST: &str = "def test_sum():\n    assert add(1, 2) == 4\n    assert add(2, 2) == 4\n";
    for (to, is_held) in [("    assert add(1, 2) == 3\n", false), ("", true)] {
        let (files, contents) = changed(&[edit("tests/test_sum.py", TEST, "    assert add(1, 2) == 4\n", to)]);
        let failed = BTreeSet::from(["tests/test_sum.py::test_sum"]);
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), failed.clone(), None);
        change.is_of_fixer = ANYBODY;
        assert!(not_accepted(&findings(&change), &BTreeMap::new()).is_some(), "{to}");
        change.runs.wrong = failed;
        assert_eq!(not_accepted(&findings(&change), &BTreeMap::new()).is_some(), is_held, "{to}");
    }
}

#[test]
fn a_base_test_that_fails_on_the_head() {
    let run = BaseTestRun {
        file: "tests/a.py".into(),
        command: "pytest".into(),
        on_head: ProofEnd::Failed,
        failing: vec!["test_a".into()],
    };
    let (files, contents) = changed(&[]);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    (change.is_of_fixer, change.runs.base_tests) = (ANYBODY, vec![&run]);
    assert_eq!(findings(&change)[0].weight, Weight::Ground);
    change.runs.failed = BTreeSet::from(["tests/a.py::test_a"]);
    assert_eq!(findings(&change)[0].weight, Weight::Proof);
    change.runs.wrong = BTreeSet::from(["tests/a.py::test_a"]);
    assert_eq!(findings(&change), []);
}

/// A test that failed is edited, and passes on the head as it was too: the edit is not why it passes.
#[test]
fn a_base_test_that_passes_on_the_head_clears_an_edit() {
    let edited = [edit("tests/test_cart.py", PYTHON, "cart.add(3)", "cart.add(1 + 2)")];
    let (files, contents) = changed(&edited);
    let mut change =
        Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::from(["tests/test_cart.py::test_adds"]), None);
    assert_eq!(findings(&change).len(), 1);
    let run = BaseTestRun {
        file: "tests/test_cart.py".into(),
        command: "pytest".into(),
        on_head: ProofEnd::Passed,
        failing: Vec::new(),
    };
    change.runs.base_tests = vec![&run];
    assert_eq!(findings(&change), []);
}

#[test]
fn hunks_show_only_what_weakens() {
    let (files, contents) = changed(&[edit("tests/test_cart.py", PYTHON, "    assert cart.sum == 3\n", "")]);
    let change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    assert_eq!(findings(&change)[0].hunk, ["-    assert cart.sum == 3"]);
}
