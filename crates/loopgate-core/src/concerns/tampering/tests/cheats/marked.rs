//! Marks that keep tests from running: comparison 2, what is written.

use super::*;

#[test]
fn cheats_that_mark_tests_are_held() {
    let mut wrong = Wrong::new();
    let kept = "from running";
    cheat(
        &mut wrong,
        "python, skip",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "def test_adds",
            "@pytest.mark.skip(reason=\"later\")\ndef test_adds",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "python, xfail",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "def test_adds",
            "@pytest.mark.xfail\ndef test_adds",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "python, whole module",
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "from shop.cart",
            "pytestmark = pytest.mark.skip\nfrom shop.cart",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "typescript, skip",
        &[edit(
            "src/parse.test.ts",
            SCRIPT,
            "it('rejects null'",
            "it.skip('rejects null'",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "typescript, only",
        &[edit(
            "src/parse.test.ts",
            SCRIPT,
            "it('reads numbers'",
            "it.only('reads numbers'",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "typescript, group",
        &[edit(
            "src/parse.test.ts",
            SCRIPT,
            "describe('parse'",
            "describe.skip('parse'",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "rust, ignore",
        &[edit(
            "src/double.rs",
            RUST,
            "    #[should_panic]",
            "    #[ignore]\n    #[should_panic]",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "go, build tag",
        &[edit(
            "cart_test.go",
            GO,
            "package cart",
            "//go:build never\n\npackage cart",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "go, skip",
        &[edit(
            "cart_test.go",
            GO,
            "\tif err := Check(nil)",
            "\tt.Skip(\"later\")\n\tif err := Check(nil)",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "java, disabled",
        &[edit(
            "src/test/java/CartTest.java",
            JAVA,
            "    @Test\n",
            "    @Disabled\n    @Test\n",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "c#, skip",
        &[edit(
            "CartTests.cs",
            CSHARP,
            "[Fact]",
            "[Fact(Skip = \"later\")]",
        )],
        &[],
        kept,
    );
    cheat(
        &mut wrong,
        "ruby, xit",
        &[edit(
            "spec/cart_spec.rb",
            RUBY,
            "  it 'rejects nil'",
            "  xit 'rejects nil'",
        )],
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
        &[edit(
            "cart_test.cpp",
            CPP,
            "TEST(Cart, RejectsNull)",
            "TEST(Cart, DISABLED_RejectsNull)",
        )],
        &[],
        "RejectsNull",
    );
    cheat(
        &mut wrong,
        "go, moved to a file that is never built",
        &[
            edit(
                "cart_test.go",
                GO,
                &GO[GO.find("func TestRejectsNil").unwrap()..],
                "",
            ),
            file(
                "nil_test.go",
                "",
                &format!(
                    "//go:build never\n\npackage cart\n\n{}",
                    &GO[GO.find("func TestRejectsNil").unwrap()..]
                ),
            ),
        ],
        &[],
        "TestRejectsNil",
    );
    cheat(
        &mut wrong,
        "c++, a block out of the build",
        &[edit(
            "cart_test.cpp",
            CPP,
            "TEST(Cart, RejectsNull)",
            "#if 0\nTEST(Cart, RejectsNull)",
        )],
        &[],
        kept,
    );
    nothing_wrong(&wrong);
}
