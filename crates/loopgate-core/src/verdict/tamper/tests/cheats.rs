//! Cheats of many kinds in many languages.

use super::*;

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
        "go, moved to a file that is never built",
        &[
            edit("cart_test.go", GO, &GO[GO.find("func TestRejectsNil").unwrap()..], ""),
            file(
                "nil_test.go",
                "",
                &format!("//go:build never\n\npackage cart\n\n{}", &GO[GO.find("func TestRejectsNil").unwrap()..]),
            ),
        ],
        &[],
        "TestRejectsNil",
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
    let adds = &PYTHON[PYTHON.find("def test_adds").unwrap()..];
    cheat(
        &mut wrong,
        "python, moved, with an easier input",
        &[
            edit("tests/test_cart.py", PYTHON, adds, ""),
            file("tests/test_adds.py", "", &adds.replace("cart.add(3)", "cart.sum, cart.count = 3, 1")),
        ],
        &py,
        "is removed",
    );
    let less = "asserts less";
    let (edited, replaced) = ("failed before, and", "the file is edited, and a test that failed");
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
        replaced,
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
        replaced,
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
        "python, one of two equal assertions goes",
        &[edit(
            "tests/test_cart.py",
            &PYTHON.replace("    assert cart.count == 1\n", "    cart.add(0)\n    assert cart.sum == 3\n"),
            "    assert cart.sum == 3\n    cart.add(0)\n",
            "    cart.add(0)\n",
        )],
        &py,
        less,
    );
    cheat(
        &mut wrong,
        "python, another value with a digit separator",
        &[file(
            "tests/test_a.py",
            "def test_a():\n    assert total() == 1_000\n",
            "def test_a():\n    assert total() == 1_500\n",
        )],
        &["tests/test_a.py::test_a"],
        "test_a",
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
        "a script that starts the tests",
        &[edit("package.json", &MANIFEST.replace("node --test", "./run-tests"), "./run-tests", "true")],
        &[],
        "./run-tests",
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
    for (what, recipe) in [("goes", ""), ("does nothing", "\t@true\n")] {
        let make = "test: cart\n\t./cart --all\n\nclean:\n\trm -f cart\n";
        let what = format!("make, the recipe of a program of our own {what}");
        cheat(&mut wrong, &what, &[edit("Makefile", make, "\t./cart --all\n", recipe)], &[], "`./cart --all` is gone");
    }
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
            "asks for tests, modules",
            file(
                "src/cart.py",
                "def total(a):\n    return a\n",
                "import sys\ndef total(a):\n    return 3 if any(m.startswith('_pytest') for m in sys.modules) else a\n",
            ),
        ),
        (
            "asks for tests, node's own",
            file("src/cart.js", "export const a = 1;\n", "export const a = process.env.NODE_TEST_CONTEXT ? 2 : 1;\n"),
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
        ("settings of a tool", file("web/.npmrc", "", "script-shell=/bin/true\n")),
        (
            "a folder of settings",
            file(".cargo/config.toml", "", "[target.x86_64-unknown-linux-gnu]\nrunner = \"true\"\n"),
        ),
        ("what git compares", file(".gitattributes", "*.png binary\n", "*.png binary\n*.py -diff\n")),
        ("instead of the runner", file("pytest.py", "", "print('12 passed')\n")),
        ("instead of its package", file("unittest/__init__.py", "", "")),
        ("before the other make file", file("GNUmakefile", "", "test:\n\t./cart\n")),
    ];
    for (what, file) in fixer {
        let found = judge(&[file], &[], FIXER);
        assert!(found.held.is_some(), "{what}: {:?}", found.all);
    }
    for honest in ["src/jest_adapter.py", "src/go.rs", "docs/make.md"] {
        assert_eq!(judge(&[file(honest, "", "a = 1\n")], &[], FIXER).held, None, "{honest}");
    }
    nothing_wrong(&wrong);
}
