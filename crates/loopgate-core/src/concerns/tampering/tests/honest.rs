//! Honest changes that look like cheats.

use super::*;

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
        &[
            "tests/test_cart.py::test_adds",
            "tests/test_cart.py::test_doubles",
        ],
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
    honest(
        &mut wrong,
        "python, split",
        &[file("tests/test_cart.py", PYTHON, &split)],
        &[],
    );
    honest(
        &mut wrong,
        "python, renamed",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "def test_adds",
            "def test_cart_adds",
        )],
        &[],
    );
    let two =
        "def test_one():\n    assert twice(1) == 2\n\ndef test_two():\n    assert twice(2) == 4\n";
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
            file(
                "tests/test_a.py",
                two,
                "def test_one():\n    assert twice(1) == 2\n",
            ),
            file(
                "tests/test_b.py",
                "",
                "def test_two():\n    assert twice(2) == 4\n",
            ),
        ],
        &[],
    );
    honest(
        &mut wrong,
        "scripts that are no check of their own go",
        &[
            edit(
                "package.json",
                &MANIFEST.replace("\"build\"", "\"test:watch\": \"./watch\",\n    \"build\""),
                "    \"test:watch\": \"./watch\",\n",
                "",
            ),
            file(
                "Makefile",
                "check: test lint\n\ntest:\n\tpytest\n",
                "check: test\n\ntest:\n\tpytest\n",
            ),
        ],
        &[],
    );
    honest(
        &mut wrong,
        "python, merged",
        &[file(
            "tests/test_a.py",
            two,
            "def test_all():\n    assert twice(1) == 2\n    assert twice(2) == 4\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "python, a module goes with its tests",
        &[
            file(
                "shop/legacy.py",
                "def convert(value):\n    return value\n",
                "",
            ),
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
            file(
                "src/a.py",
                "def f():\n    return 1\n",
                "def f():\n    return 2\n",
            ),
            file(
                "tests/test_a.py",
                "def test_f():\n    assert f() == 1\n",
                "def test_f():\n    assert f() == 2\n",
            ),
        ],
        &[],
    );
    honest(
        &mut wrong,
        "python, a comment goes",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "def test_adds():\n",
            "# assert cart\ndef test_adds():\n    # it adds\n",
        )],
        &["test_adds"],
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
        &[edit(
            "src/parse.test.ts",
            SCRIPT,
            "it('reads numbers'",
            "it('parses numbers'",
        )],
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
        &[edit(
            "src/double.rs",
            RUST,
            "value * 2",
            "value.checked_mul(2).expect(\"small\")",
        )],
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
        "go, new tests for some systems",
        &[file(
            "disk_test.go",
            "",
            "//go:build integration\n\npackage cart\n\nfunc TestDisk(t *testing.T) {\n\tt.Fatal()\n}\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "python, an assertion moves to a helper that a test names",
        &[file(
            "tests/test_a.py",
            "def test_one():\n    assert twice(1) == 2\n    assert twice(0) == 0\n\ndef test_two():\n    assert twice(2) == 4\n",
            "def check():\n    assert twice(2) == 4\n\ndef test_one():\n    assert twice(1) == 2\n    assert twice(0) == 0\n    check()\n",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "go, a row more",
        &[edit(
            "cart_test.go",
            GO,
            "\t\t{\"three\", 3, 6},\n",
            "\t\t{\"three\", 3, 6},\n\t\t{\"four\", 4, 8},\n",
        )],
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
        &[edit(
            "src/test/java/CartTest.java",
            JAVA,
            "\"3, 6\"",
            "\"3, 6\", \"4, 8\"",
        )],
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
        &[edit(
            "spec/cart_spec.rb",
            RUBY,
            "it 'rejects nil'",
            "it 'refuses nil'",
        )],
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
        &[edit(
            "package.json",
            MANIFEST,
            "node --test",
            "node --test --reporter=junit --output=a.xml",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "a dependency is raised",
        &[edit("package.json", MANIFEST, "^29.0.0", "^30.1.0")],
        &[],
    );
    honest(
        &mut wrong,
        "a script is added",
        &[edit(
            "package.json",
            MANIFEST,
            "    \"lint\"",
            "    \"format\": \"prettier -w .\",\n    \"lint\"",
        )],
        &[],
    );
    honest(
        &mut wrong,
        "more coverage",
        &[file("setup.cfg", "fail_under = 70\n", "fail_under = 90\n")],
        &[],
    );
    honest(
        &mut wrong,
        "a snapshot follows the program",
        &[
            file("src/a.js", "export const a = 1;\n", "export const a = 2;\n"),
            file(
                "src/__snapshots__/a.test.js.snap",
                "exports[`a 1`] = `1`;\n",
                "exports[`a 1`] = `2`;\n",
            ),
        ],
        &[],
    );
    nothing_wrong(&wrong);
}
