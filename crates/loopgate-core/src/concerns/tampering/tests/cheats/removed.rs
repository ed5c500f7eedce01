//! Tests that go: comparison 2, what is written.

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
        &[edit(
            "tests/test_cart.py",
            PYTHON,
            "def test_rejects_none",
            "def check_rejects_none",
        )],
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
    cheat(
        &mut wrong,
        "c#, attribute",
        &[edit("CartTests.cs", CSHARP, "    [Fact]\n", "")],
        &[],
        "RejectsNull",
    );
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
    cheat(
        &mut wrong,
        "python, the file goes",
        &[file("tests/test_cart.py", PYTHON, "")],
        &[],
        removed,
    );
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
