#!/usr/bin/env python3
"""Small failing projects of real tools, each verified by the program: `real_runs.py BINARY [--show] [TOOL…]`.

Every project has one test that passes and two that fail for known reasons. Each is verified without a configuration,
where its tool is detected, and with one configured check whose plain text is read; at the top of the repository and in
the directory `shop` below it. Looked at are the place of each failure from the top of the repository, what the test
expected and got, and the command to reproduce, which is executed: it fails in this test and not in the other one.

A tool that is not installed is named, and an error unless it is in MAY_BE_MISSING. `REAL_RUNS` names the directory that
holds `venv` (pip) and `node_modules` (npm), as `.ci/run` makes it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

# Tools that a machine may lack; elsewhere a missing one is an error.
MAY_BE_MISSING = {"nextest"}
HOME = Path(os.environ.get("REAL_RUNS", "/nowhere"))
JUNIT = "/usr/share/java/junit-platform-console-standalone.jar"
# What puts lines between the tests, so that no excerpt of the one shows the other.
GAP = "\n" * 8


@dataclass
class Fails:
    """A test that fails: words of its name, its file, words of the line that fails, and its two sides."""

    name: str
    file: str
    line: str
    expected: str | None = "5"
    actual: str | None = "6"
    # What is printed only where it fails.
    mark: str = ""


@dataclass
class Project:
    tool: str
    program: str
    files: dict[str, str]
    fails: list[Fails]
    plain: str
    detected: bool = True
    # Commands that make the project ready.
    before: list[str] = field(default_factory=list)
    # Directories that the project finds its packages in.
    links: list[str] = field(default_factory=list)


def both(file: str, first: str, second: str, names=("adds_two", "adds_many")) -> list[Fails]:
    """The two tests of a project: 2 × 3 where 5 is expected, 1001 × 3 where 1004 is."""
    return [Fails(names[0], file, first), Fails(names[1], file, second, "1004", "3003", mark="3003")]


RUST = (
    "pub fn total(a: i32, b: i32) -> i32 {\n    a * b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
    "    #[test]\n    fn adds_two() {\n        assert_eq!(total(2, 3), 5);\n    }\n\n"
    "    #[test]\n    fn adds_many() {\n        assert_eq!(total(1001, 3), 1004);\n    }\n\n"
    "    #[test]\n    fn adds_same() {\n        assert_eq!(total(2, 2), 4);\n    }\n}\n"
)  # fmt: skip
CARGO = {"Cargo.toml": '[package]\nname = "cart"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n', "src/lib.rs": RUST}
PYTEST = {
    "cart.py": "def total(a, b):\n    return a * b\n",
    "requirements.txt": "pytest\n",
    "tests/test_cart.py": (
        "from cart import total\n\n\ndef test_adds_two():\n    assert total(2, 3) == 5\n" + GAP +
        "def test_adds_many():\n    assert total(1001, 3) == 1004\n" + GAP +
        "def test_adds_same():\n    assert total(2, 2) == 4\n"
    ),
    "conftest.py": "",
}  # fmt: skip
CASES = (
    "    def test_adds_two(self):\n        self.assertEqual(total(2, 3), 5)\n" + GAP +
    "    def test_adds_many(self):\n        self.assertEqual(total(1001, 3), 1004)\n\n"
    "    def test_adds_same(self):\n        self.assertEqual(total(2, 2), 4)\n"
)  # fmt: skip
UNITTEST = {
    "setup.py": "",
    "cart.py": PYTEST["cart.py"],
    "test_cart.py": f"import unittest\nfrom cart import total\n\n\nclass CartTests(unittest.TestCase):\n{CASES}",
}
DJANGO = {
    "manage.py": (
        "import os, sys\nfrom django.core.management import execute_from_command_line\n"
        'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_settings")\nexecute_from_command_line(sys.argv)\n'
    ),
    "site_settings.py": 'SECRET_KEY = "x"\nINSTALLED_APPS = ["cart"]\nDATABASES = {}\nUSE_TZ = True\n',
    "cart/__init__.py": "",
    "cart/totals.py": PYTEST["cart.py"],
    "cart/tests.py": (
        f"from django.test import SimpleTestCase\nfrom cart.totals import total\n\n\nclass CartTests(SimpleTestCase):\n{CASES}"
    ),
}


def package(script: str, **more: object) -> str:
    return json.dumps({"name": "cart", "version": "1.0.0", "private": True, "scripts": {"test": script}, **more})


def javascript(head: str, is_equal: str) -> str:
    """Tests of a suite, with `is_equal` told by ACTUAL and EXPECTED."""
    equal = lambda actual, expected: is_equal.replace("ACTUAL", actual).replace("EXPECTED", expected)
    return (
        f"{head}\n\ndescribe('cart', () => {{\n  it('adds two', () => {{\n    {equal('total(2, 3)', '5')}\n  }});\n{GAP}"
        f"  it('adds many', () => {{\n    {equal('total(1001, 3)', '1004')}\n  }});\n{GAP}"
        f"  it('adds same', () => {{\n    {equal('total(2, 2)', '4')}\n  }});\n}});\n"
    )


TOTAL_ESM = "export function total(a, b) {\n  return a * b;\n}\n"
TOTAL_CJS = "exports.total = (a, b) => a * b;\n"
EXPECT = "expect(ACTUAL).toBe(EXPECTED);"
STRICT = "assert.strictEqual(ACTUAL, EXPECTED);"
JS_NAMES = ("adds two", "adds many")

PROJECTS = [
    Project("cargo", "cargo", CARGO, both("src/lib.rs", "total(2, 3), 5", "total(1001, 3), 1004", ("adds_two", "adds_many")), "cargo test"),
    Project(
        "nextest", "cargo-nextest", CARGO, both("src/lib.rs", "total(2, 3), 5", "total(1001, 3), 1004"),
        "cargo nextest run --no-fail-fast", detected=False,
    ),
    Project("pytest", "pytest", PYTEST, both("tests/test_cart.py", "== 5", "== 1004"), "pytest"),
    Project("unittest", "python3", UNITTEST, both("test_cart.py", ", 5)", ", 1004)"), "python3 -m unittest"),
    Project("django", "django-admin", DJANGO, both("cart/tests.py", ", 5)", ", 1004)"), "python3 manage.py test"),
    Project(
        "vitest", "vitest",
        {
            "package.json": package("vitest run", type="module"), "src/cart.js": TOTAL_ESM,
            "src/cart.test.js": javascript(
                "import { describe, expect, it } from 'vitest';\nimport { total } from './cart.js';", EXPECT),
        },
        both("src/cart.test.js", "toBe(5)", "toBe(1004)", JS_NAMES), "npx vitest run", links=["node_modules"],
    ),
    Project(
        "jest", "jest",
        {
            "package.json": package("jest"), "src/cart.js": TOTAL_CJS,
            "src/cart.test.js": javascript("const { total } = require('./cart');", EXPECT),
        },
        both("src/cart.test.js", "toBe(5)", "toBe(1004)", JS_NAMES), "npx jest", links=["node_modules"],
    ),
    Project(
        "mocha", "mocha",
        {
            "package.json": package("mocha"), "src/cart.js": TOTAL_CJS,
            "test/cart.js": javascript(
                "const assert = require('node:assert');\nconst { total } = require('../src/cart');", STRICT),
        },
        both("test/cart.js", ", 5)", ", 1004)", JS_NAMES), "npx mocha", links=["node_modules"],
    ),
    Project(
        "node:test", "node",
        {
            "package.json": package("node --test"), "src/cart.js": TOTAL_CJS,
            "test/cart.test.js": javascript(
                "const assert = require('node:assert');\nconst { describe, it } = require('node:test');\n"
                "const { total } = require('../src/cart');", STRICT),
        },
        both("test/cart.test.js", ", 5)", ", 1004)", JS_NAMES), "node --test",
    ),
    Project(
        "playwright", "playwright",
        {
            "package.json": package("playwright test"), "src/cart.js": TOTAL_CJS,
            "tests/cart.spec.js": javascript(
                "const { expect, test: it } = require('@playwright/test');\nconst describe = it.describe;\n"
                "const { total } = require('../src/cart');", EXPECT),
        },
        both("tests/cart.spec.js", "toBe(5)", "toBe(1004)", JS_NAMES), "npx playwright test", links=["node_modules"],
    ),
    Project(
        "go", "go",
        {
            "go.mod": "module example.com/shop\n\ngo 1.19\n",
            "cart/cart.go": "package cart\n\nfunc Total(a, b int) int {\n\treturn a * b\n}\n",
            "cart/cart_test.go": (
                'package cart\n\nimport "testing"\n\n'
                "func TestAddsTwo(t *testing.T) {\n\tif got := Total(2, 3); got != 5 {\n"
                '\t\tt.Errorf("Total(2, 3) = %d, want %d", got, 5)\n\t}\n}\n' + GAP +
                "func TestAddsMany(t *testing.T) {\n\tif got := Total(1001, 3); got != 1004 {\n"
                '\t\tt.Errorf("Total(1001, 3) = %d, want %d", got, 1004)\n\t}\n}\n\n'
                "func TestAddsSame(t *testing.T) {\n\tif got := Total(2, 2); got != 4 {\n\t\tt.Fail()\n\t}\n}\n"
            ),
        },
        both("cart/cart_test.go", "Errorf(\"Total(2, 3)", "Errorf(\"Total(1001, 3)", ("AddsTwo", "AddsMany")), "go test ./...",
    ),
    Project(
        "junit", "javac",
        {
            "src/Cart.java": "class Cart {\n  static int total(int a, int b) {\n    return a * b;\n  }\n}\n",
            "src/CartTest.java": (
                "import static org.junit.jupiter.api.Assertions.assertEquals;\nimport org.junit.jupiter.api.Test;\n\n"
                "class CartTest {\n  @Test void addsTwo() {\n    assertEquals(5, Cart.total(2, 3));\n  }\n" + GAP +
                "  @Test void addsMany() {\n    assertEquals(1004, Cart.total(1001, 3));\n  }\n\n"
                "  @Test void addsSame() {\n    assertEquals(4, Cart.total(2, 2));\n  }\n}\n"
            ),
        },
        both("src/CartTest.java", "(5,", "(1004,", ("addsTwo", "addsMany")),
        f"java -jar {JUNIT} --class-path out --scan-class-path --disable-banner", detected=False,
        before=[f"javac -cp {JUNIT} -d out src/Cart.java src/CartTest.java"],
    ),
    Project(
        "ctest", "ctest",
        {
            "CMakeLists.txt": (
                "cmake_minimum_required(VERSION 3.10)\nproject(cart CXX)\nenable_testing()\n"
                "add_executable(two two.cpp)\nadd_executable(many many.cpp)\n"
                "add_test(NAME adds_two COMMAND two)\nadd_test(NAME adds_many COMMAND many)\n"
                "add_test(NAME adds_same COMMAND true)\n"
            ),
            "two.cpp": "#undef NDEBUG\n#include <cassert>\nint main() {\n  int sum = 2 * 3;\n  assert(sum == 5);\n}\n",
            "many.cpp": "#undef NDEBUG\n#include <cassert>\nint main() {\n  int sum = 1001 * 3;\n  assert(sum == 1004);\n}\n",
        },
        [
            Fails("adds_two", "two.cpp", "== 5", None, None),
            Fails("adds_many", "many.cpp", "== 1004", None, None, mark="sum == 1004"),
        ],
        "ctest --test-dir build --output-on-failure", detected=False,
        before=["cmake -S . -B build", "cmake --build build"],
    ),
    Project(
        "gtest", "cmake",
        {
            "CMakeLists.txt": (
                "cmake_minimum_required(VERSION 3.10)\nproject(cart CXX)\nfind_package(GTest REQUIRED)\n"
                "add_executable(cart_test cart_test.cpp)\ntarget_link_libraries(cart_test GTest::gtest_main)\n"
            ),
            "cart_test.cpp": (
                "#include <gtest/gtest.h>\nstatic int total(int a, int b) { return a * b; }\n\n"
                "TEST(Cart, adds_two) {\n  EXPECT_EQ(total(2, 3), 5);\n}\n" + GAP +
                "TEST(Cart, adds_many) {\n  EXPECT_EQ(total(1001, 3), 1004);\n}\n\n"
                "TEST(Cart, adds_same) {\n  EXPECT_EQ(total(2, 2), 4);\n}\n"
            ),
        },
        both("cart_test.cpp", "2, 3), 5", "1001, 3), 1004"), "./build/cart_test", detected=False,
        before=["cmake -S . -B build", "cmake --build build"],
    ),
    Project(
        "rspec", "rspec",
        {
            "lib/cart.rb": "def total(a, b)\n  a * b\nend\n",
            "spec/cart_spec.rb": (
                'require_relative "../lib/cart"\n\nRSpec.describe "cart" do\n'
                '  it "adds two" do\n    expect(total(2, 3)).to eq(5)\n  end\n' + GAP +
                '  it "adds many" do\n    expect(total(1001, 3)).to eq(1004)\n  end\n\n'
                '  it "adds same" do\n    expect(total(2, 2)).to eq(4)\n  end\nend\n'
            ),
        },
        both("spec/cart_spec.rb", "eq(5)", "eq(1004)", JS_NAMES), "rspec", detected=False,
    ),
    Project(
        "phpunit", "phpunit",
        {
            "src/cart.php": "<?php\nfunction total($a, $b) {\n    return $a * $b;\n}\n",
            "tests/CartTest.php": (
                "<?php\nrequire_once __DIR__ . '/../src/cart.php';\n\nuse PHPUnit\\Framework\\TestCase;\n\n"
                "final class CartTest extends TestCase {\n"
                "    public function testAddsTwo(): void {\n        $this->assertSame(5, total(2, 3));\n    }\n" + GAP +
                "    public function testAddsMany(): void {\n        $this->assertSame(1004, total(1001, 3));\n    }\n\n"
                "    public function testAddsSame(): void {\n        $this->assertSame(4, total(2, 2));\n    }\n}\n"
            ),
        },
        both("tests/CartTest.php", "(5,", "(1004,", ("testAddsTwo", "testAddsMany")), "phpunit tests", detected=False,
    ),
]  # fmt: skip


def run(command: list[str] | str, directory: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, cwd=directory, shell=isinstance(command, str), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", timeout=300,
    )  # fmt: skip


def lay_out(project: Project, top: Path, below: str, plain: bool) -> None:
    """Writes the project as a committed repository whose directory `below` holds it."""
    directory = top / below
    files = {str(directory / name): text for name, text in project.files.items()}
    files[str(top / ".gitignore")] = "node_modules\nbuild\nout\ntarget\n__pycache__\n"
    if plain:
        where = f", working_directory: {below}" if below else ""
        check = f"unit: {{ kind: test, run: {json.dumps(project.plain)}{where} }}"
        files[str(top / ".github/loopgate.yml")] = f"version: 1\nverify:\n  checks:\n    {check}\n"
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    for link in project.links:
        (directory / link).symlink_to(HOME / link)
    for command in project.before:
        made = run(command, directory)
        if made.returncode != 0:
            raise RuntimeError(f"{command}: {made.stdout}")
    for command in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "start"]):
        run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *command], top)


def problems_of(project: Project, top: Path, below: str, said: dict) -> list[str]:
    """What is wrong with what the program said of a run."""
    problems = []
    failures = [failure for check in said["checks"] if check["kind"] == "test" for failure in check["failures"]]
    if len(failures) != len(project.fails):
        names = [failure.get("test_name") or failure["error_message"][:60] for failure in failures]
        problems.append(f"{len(failures)} failures: {names}")
    for fails in project.fails:
        path = f"{below}/{fails.file}" if below else fails.file
        number = next(
            number for number, line in enumerate((top / path).read_text().splitlines(), 1) if fails.line in line
        )
        place = f"{path}:{number}"
        found = [failure for failure in failures if fails.name in (failure.get("test_name") or "")]
        if len(found) != 1:
            problems.append(f"{fails.name}: {len(found)} failures of this name")
            continue
        sides = (found[0].get("expected"), found[0].get("actual"))
        if sides != (fails.expected, fails.actual):
            problems.append(f"{fails.name}: sides {sides}, not {(fails.expected, fails.actual)}")
        told = [item for item in said["feedback"] if re.match(re.escape(place) + r"(\D|$)", item["location"])]
        if len(told) != 1:
            problems.append(f"{fails.name}: not at {place}, but {[item['location'] for item in said['feedback']]}")
            continue
        problems += reproduced(project, fails, told[0].get("reproduce"), top)
    return problems


def reproduced(project: Project, fails: Fails, command: str | None, top: Path) -> list[str]:
    """Executes the command to reproduce a failure: it fails in this test, and in no other one."""
    if not command:
        return [f"{fails.name}: no command to reproduce"]
    ended = run(command, top)
    other = next(other for other in project.fails if other is not fails)
    wrong = []
    if ended.returncode == 0:
        wrong.append("passes")
    if fails.name not in ended.stdout:
        wrong.append("does not speak of the test")
    # Not within a time: `0.30038 seconds`.
    if other.mark and re.search(rf"(?<![\d.]){re.escape(other.mark)}(?!\d)", ended.stdout):
        wrong.append("fails in the other test too")
    return [f"{fails.name}: `{command}` {problem}\n{ended.stdout[-600:]}" for problem in wrong]


def verify(binary: str, project: Project, below: str, plain: bool, show: bool) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="loopgate-real-") as folder:
        top = Path(folder).resolve()
        lay_out(project, top, below, plain)
        ended = subprocess.run(
            [binary, "verify", "--format", "json"], cwd=top, capture_output=True, text=True, timeout=300
        )
        if not ended.stdout.strip():
            return [f"no document, exit {ended.returncode}: {ended.stderr[-400:]}"]
        said = json.loads(ended.stdout)
        if show:
            print(json.dumps(said["feedback"], indent=1))
        wrong = [] if ended.returncode == 1 else [f"exit {ended.returncode}"]
        return wrong + problems_of(project, top, below, said)


def main() -> int:
    binary, *words = sys.argv[1:]
    binary = str(Path(binary).resolve())
    show = "--show" in words
    wanted = [word for word in words if word != "--show"]
    os.environ["PATH"] = os.pathsep.join(
        [str(HOME / "venv/bin"), str(HOME / "node_modules/.bin"), os.environ["PATH"]]
    )
    for name in ("CI", "GITHUB_ACTIONS", "CARGO_TARGET_DIR"):
        os.environ.pop(name, None)
    failed = 0

    def one(project: Project) -> list[tuple[str, list[str]]]:
        modes = [("detected", False)] * project.detected + [("plain", True)]
        runs = []
        for below in ("", "shop"):
            for mode, plain in modes:
                try:
                    wrong = verify(binary, project, below, plain, show)
                except Exception as error:
                    wrong = [repr(error)[-600:]]
                runs.append((f"{mode} {below or 'top'}", wrong))
        return runs

    chosen = [project for project in PROJECTS if not wanted or project.tool in wanted]
    there = [project for project in chosen if shutil.which(project.program)]
    with ThreadPoolExecutor(2) as pool:
        for project, runs in zip(there, pool.map(one, there)):
            print(f"{project.tool:12}", "  ".join(f"{name}: {'wrong' if wrong else 'ok'}" for name, wrong in runs), flush=True)
            for name, wrong in runs:
                failed += len(wrong)
                for problem in wrong:
                    print(f"    {name}: {problem}")
    for project in chosen:
        if project not in there:
            print(f"{project.tool:12} not installed ({project.program})")
            failed += project.tool not in MAY_BE_MISSING
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
