//! Edits of a test that failed: comparison 2 with comparison 1, what ran.

use super::*;

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
            file(
                "tests/test_adds.py",
                "",
                &adds.replace("cart.add(3)", "cart.sum, cart.count = 3, 1"),
            ),
        ],
        &py,
        "is removed",
    );
    let less = "asserts less";
    let (edited, replaced) = (
        "failed before, and",
        "the file is edited, and a test that failed",
    );
    cheat(
        &mut wrong,
        "cpp, easier input, as a report names it",
        &[
            edit("cart_test.cc", CPP, "total({1, 2})", "total({2, 1})"),
            edit("cart.cc", "int a;\n", "a", "b"),
        ],
        &["Cart.Adds"],
        edited,
    );
    cheat(
        &mut wrong,
        "cpp, another word that asserts",
        &[edit(
            "cart_test.cc",
            CPP,
            "<gtest/gtest.h>\n",
            "<gtest/gtest.h>\n#define EXPECT_EQ(a, b) (void)(a)\n",
        )],
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
        &[edit(
            "src/double.rs",
            RUST,
            "    #[test]\n",
            "    #[test]\n    #[should_panic]\n",
        )],
        &["tests::doubles"],
        "by which a failure passes",
    );
    cheat(
        &mut wrong,
        "python, an assertion goes",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "    assert cart.sum == 3\n",
            "",
        )],
        &py,
        less,
    );
    cheat(
        &mut wrong,
        "python, one of two equal assertions goes",
        &[edit(
            "tests/test_cart.py",
            &PYTHON.replace(
                "    assert cart.count == 1\n",
                "    cart.add(0)\n    assert cart.sum == 3\n",
            ),
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
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "assert cart.sum == 3",
            "assert cart.sum is not None",
        )],
        &py,
        "accepts values",
    );
    cheat(
        &mut wrong,
        "python, computed",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "assert cart.sum == 3",
            "assert cart.sum == Cart().sum",
        )],
        &py,
        "computes",
    );
    cheat(
        &mut wrong,
        "python, left early",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "    cart = Cart()\n",
            "    return\n    cart = Cart()\n",
        )],
        &py,
        less,
    );
    cheat(
        &mut wrong,
        "python, another value",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "assert cart.sum == 3",
            "assert cart.sum == 0",
        )],
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
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "    cart = Cart()\n",
            "    cart = mock.Mock(sum=3, count=1)\n",
        )],
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
        &[edit(
            "src/parse.test.ts",
            SCRIPT,
            "await expect(parse(null))",
            "expect(parse(null))",
        )],
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
    cheat(
        &mut wrong,
        "go, logs",
        &[edit("cart_test.go", GO, "t.Fatal(", "t.Log(")],
        &["TestRejectsNil"],
        less,
    );
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
        &[edit(
            "tests/CartTest.php",
            PHP,
            "            'two' => [2, 4],\n",
            "",
        )],
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
        &[edit(
            "src/double.rs",
            RUST,
            "assert_eq!(double(2), 4)",
            "assert!(double(2) > 0)",
        )],
        &["double::tests::doubles"],
        "accepts values",
    );
    cheat(
        &mut wrong,
        "c++, weaker",
        &[edit(
            "cart_test.cpp",
            CPP,
            "EXPECT_EQ(total({1, 2}), 3)",
            "EXPECT_GE(total({1, 2}), 0)",
        )],
        &["Cart, Adds"],
        "accepts values",
    );
    nothing_wrong(&wrong);
}
