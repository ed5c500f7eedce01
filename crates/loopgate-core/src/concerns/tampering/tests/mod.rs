//! Changes by their files before and after, whole, and by the tests that failed before. A cheat is held by one finding
//! that names it; an honest change is held by nothing, although something may be shown of it.

mod cheats;
mod comparisons;
mod followed;
mod honest;
mod what_asserts;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::*;
use crate::{
    evidence::{
        BaseTestRun, Failure, OutcomesExtent, ProofEnd, SourceLocation, TestId, TestOutcome,
        TestOutcomes, TestState,
    },
    observed::{ChangedFile, Content, Contents, FileStatus, LineChange, Patch},
    state::{FixMaker, FixRecord, ReflexState},
};

const FIXER: bool = true;
const ANYBODY: bool = false;

/// A file before and after: an empty text is no file.
struct File {
    path: &'static str,
    /// Another one where it is renamed.
    old_path: &'static str,
    old: String,
    new: String,
}

fn file(path: &'static str, old: &str, new: &str) -> File {
    File {
        path,
        old_path: path,
        old: old.to_owned(),
        new: new.to_owned(),
    }
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
            _ if file.old_path != file.path => FileStatus::Renamed,
            _ => FileStatus::Modified,
        };
        let patch = patch(&file.old, &file.new);
        let count = |sign: char| {
            u32::try_from(patch.lines().filter(|line| line.starts_with(sign)).count()).unwrap()
        };
        contents.texts.insert(
            (sha(1), file.old_path.into()),
            Content::Text(file.old.as_str().into()),
        );
        contents.texts.insert(
            (sha(2), file.path.into()),
            Content::Text(file.new.as_str().into()),
        );
        changed.push(ChangedFile {
            path: file.path.to_owned(),
            previous_path: (status == FileStatus::Renamed).then(|| file.old_path.to_owned()),
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
        all: found
            .iter()
            .map(|one| format!("{:?} {}", one.weight, one.key()))
            .collect(),
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
