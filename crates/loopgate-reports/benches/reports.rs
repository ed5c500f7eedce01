//! How fast reports are read, beside what bare scanners do with the same bytes in the same run.
//!
//! `cargo bench --bench reports` makes its inputs in a temporary directory: a JUnit report of 528,000 cases (100 MB,
//! one in a hundred failing with a trace of 40 lines), SARIF, lcov, `go test -json` and the text of `cargo test`. First
//! readers are run over their file once for the peak of resident memory, then every one is timed.
//! `REPORTS_BENCH_GB=1` adds a JUnit report ten times as large, whose memory should not differ.
//! `REPORTS_BENCH_PYTHON=python3` adds lxml, where that Python has it.
#![allow(
    clippy::disallowed_methods,
    reason = "what is measured is started as its users would"
)]

use std::{
    fs::{self, File},
    hint::black_box,
    io::{self, BufReader, BufWriter, Read as _, Write},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use loopgate_reports::{ReadOptions, read_file};
use nix::sys::resource::{UsageWho, getrusage};
use quick_xml::{Reader, events::Event};

const CASES: usize = 528_000;

/// Writes a file.
type Writer = fn(&mut dyn Write) -> io::Result<()>;

/// What is read, its file, and what writes that.
const INPUTS: [(&str, &str, Writer); 5] = [
    ("loopgate, JUnit", "junit.xml", |out| {
        write_junit(out, CASES)
    }),
    ("loopgate, SARIF", "scan.sarif", write_sarif),
    ("loopgate, go test -json", "go.json", write_go),
    ("loopgate, cargo test text", "cargo.txt", write_cargo),
    (
        "loopgate, lcov (1.2 million lines)",
        "lcov.info",
        write_lcov,
    ),
];

fn made(path: PathBuf, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> PathBuf {
    let mut out = BufWriter::new(File::create(&path).expect("a file can be made"));
    write(&mut out)
        .and_then(|()| out.flush())
        .expect("the file can be written");
    path
}

fn write_junit(out: &mut dyn Write, cases: usize) -> io::Result<()> {
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"all\" tests=\"{cases}\">"
    )?;
    for suite in 0..cases / 100 {
        writeln!(
            out,
            "  <testsuite name=\"com.acme.shop.Module{suite}Test\" tests=\"100\" time=\"1.250\">"
        )?;
        for case in 0..100 {
            let class = format!("com.acme.shop.checkout.Module{suite}Test");
            write!(
                out,
                "    <testcase name=\"computesTheTotalOfAnOrderWithDiscount_{case:03}\" classname=\"{class}\" \
                 file=\"src/test/java/Module{suite}.java\" time=\"0.0{case:02}\""
            )?;
            if case != 42 {
                writeln!(out, "/>")?;
                continue;
            }
            writeln!(
                out,
                ">\n      <failure message=\"expected: &lt;{case}&gt; but was: &lt;0&gt;\" type=\"AssertionError\">"
            )?;
            for frame in 0..40 {
                writeln!(
                    out,
                    "\tat com.acme.shop.checkout.Frame{frame}.call(Frame{frame}.java:{})",
                    100 + frame
                )?;
            }
            writeln!(out, "</failure>\n    </testcase>")?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn write_sarif(out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        r#"{{"version":"2.1.0","runs":[{{"tool":{{"driver":{{"name":"scan","rules":["#
    )?;
    for rule in 0..200 {
        let comma = if rule == 0 { "" } else { "," };
        write!(
            out,
            r#"{comma}{{"id":"R{rule}","defaultConfiguration":{{"level":"warning"}}}}"#
        )?;
    }
    write!(out, r#"]}}}},"results":["#)?;
    for result in 0..60_000 {
        let comma = if result == 0 { "" } else { "," };
        write!(
            out,
            r#"{comma}{{"ruleId":"R{}","message":{{"text":"This value may be null here, as the call above shows."}},"#,
            result % 200
        )?;
        write!(
            out,
            r#""locations":[{{"physicalLocation":{{"artifactLocation":{{"uri":"src/module{}/file{}.js"}},"#,
            result % 50,
            result % 977
        )?;
        write!(
            out,
            r#""region":{{"startLine":{},"startColumn":3,"endColumn":40}}}}}}],"#,
            result % 5000 + 1
        )?;
        write!(
            out,
            r#""partialFingerprints":{{"primaryLocationLineHash":"0123456789abcdef:1"}}}}"#
        )?;
    }
    write!(out, "]}}]}}")
}

fn write_lcov(out: &mut dyn Write) -> io::Result<()> {
    for file in 0..2000 {
        writeln!(out, "TN:\nSF:src/module{}/file{file}.c", file % 50)?;
        (1..=600).try_for_each(|line| writeln!(out, "DA:{line},{}", line * file % 7))?;
        writeln!(out, "LF:600\nLH:500\nend_of_record")?;
    }
    Ok(())
}

fn write_go(out: &mut dyn Write) -> io::Result<()> {
    for test in 0..60_000 {
        let head = format!(
            r#"{{"Time":"2026-11-20T10:00:00.123456789Z","Package":"example.org/shop/pkg{}","Test":"TestTotal{test}""#,
            test % 100
        );
        let ended = if test % 100 == 42 { "fail" } else { "pass" };
        writeln!(out, r#"{head},"Action":"run"}}"#)?;
        writeln!(
            out,
            r#"{head},"Action":"output","Output":"=== RUN   TestTotal{test}\n"}}"#
        )?;
        writeln!(
            out,
            r#"{head},"Action":"output","Output":"    total_test.go:12: got {test}, want 0\n"}}"#
        )?;
        writeln!(out, r#"{head},"Action":"{ended}","Elapsed":0.01}}"#)?;
    }
    (0..100).try_for_each(|package| {
        writeln!(
            out,
            r#"{{"Action":"fail","Package":"example.org/shop/pkg{package}","Elapsed":1.5}}"#
        )
    })
}

fn write_cargo(out: &mut dyn Write) -> io::Result<()> {
    for binary in 0..200 {
        writeln!(
            out,
            "     Running tests/t{binary}.rs (target/debug/deps/t{binary}-0123456789abcdef)\n"
        )?;
        writeln!(out, "running 2000 tests")?;
        (0..2000).try_for_each(|test| {
            writeln!(out, "test module::tests::computes_the_total_{test} ... ok")
        })?;
        writeln!(
            out,
            "\ntest result: ok. 2000 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n"
        )?;
    }
    Ok(())
}

fn bytes_of(path: &Path) -> u64 {
    fs::metadata(path)
        .map(|metadata| metadata.len())
        .unwrap_or(0)
}

fn read_report(path: &Path) {
    black_box(read_file(path, &ReadOptions::default()));
}

fn read_with_outcomes(path: &Path) {
    let options = ReadOptions {
        test_outcomes: true,
        ..ReadOptions::default()
    };
    black_box(read_file(path, &options));
}

/// Every event of quick-xml's own reader, as it comes.
fn bare_scan(path: &Path) {
    scan(path, |_| {});
}

/// The same with every attribute and text decoded.
fn decoding_scan(path: &Path) {
    scan(path, |event| match event {
        Event::Start(tag) | Event::Empty(tag) => {
            for attribute in tag.attributes() {
                let attribute = attribute.expect("well formed");
                black_box(quick_xml::escape::unescape(&attribute.value).expect("known references"));
            }
        }
        Event::Text(text) => drop(black_box(text.into_inner())),
        _ => {}
    });
}

fn scan(path: &Path, see: fn(Event<'_>)) {
    let mut reader = Reader::from_reader(BufReader::with_capacity(
        64 * 1024,
        File::open(path).expect("made above"),
    ));
    let mut buffer = Vec::new();
    loop {
        match reader.read_event_into(&mut buffer).expect("well formed") {
            Event::Eof => break,
            event => see(event),
        }
        buffer.clear();
    }
}

/// The bytes read and nothing done with them.
fn bare_read(path: &Path) {
    let mut file = File::open(path).expect("made above");
    let mut buffer = vec![0; 64 * 1024];
    while file.read(&mut buffer).expect("readable") > 0 {
        black_box(&buffer);
    }
}

/// Peak resident memory in KiB since it was last reset, where the system tells (Linux).
fn peak_rss_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn peak_of(run: impl FnOnce()) -> String {
    // 5 resets the peak: proc(5), /proc/[pid]/clear_refs.
    let reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    run();
    match peak_rss_kib().filter(|_| reset) {
        Some(kib) => format!("{:.1} MiB peak", kib as f64 / 1024.0),
        None => "peak unknown".to_owned(),
    }
}

/// Processor time of this process so far, which other work on the machine does not stretch as it does the clock's.
fn processor_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask for its own usage");
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|time| {
            Duration::from_micros((time.tv_sec() * 1_000_000 + time.tv_usec()).unsigned_abs())
        })
        .sum()
}

/// The best of five runs.
fn time(run: impl Fn()) -> Duration {
    let once = || {
        let start = processor_time();
        run();
        processor_time() - start
    };
    (0..5).map(|_| once()).min().unwrap_or_default()
}

/// The whole tree, then of each case its attributes and the text of its failure, as readers in Python do it.
const LXML: &str = "
import sys, time
from lxml import etree
def read():
    began = time.process_time()
    for case in etree.parse(sys.argv[1], etree.XMLParser(huge_tree=True)).iter('testcase'):
        (case.get('classname'), case.get('name'), case.get('time'), [failure.text for failure in case])
    return time.process_time() - began
print(min(read() for _ in range(5)))
";

/// Megabytes a second; none where there is no such Python.
fn lxml(path: &Path) -> Option<f64> {
    let python = std::env::var_os("REPORTS_BENCH_PYTHON")?;
    let run = Command::new(python)
        .args(["-c", LXML])
        .arg(path)
        .output()
        .expect("the Python that was named");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let seconds: f64 = String::from_utf8_lossy(&run.stdout)
        .trim()
        .parse()
        .expect("a number of seconds");
    Some(bytes_of(path) as f64 / 1e6 / seconds)
}

fn print_rates(inputs: &[(&str, PathBuf)], junit: &Path, peaks: &[(&str, String)]) {
    let rate = |path: &Path, run: fn(&Path)| {
        bytes_of(path) as f64 / 1e6 / time(|| run(path)).as_secs_f64()
    };
    let bare = rate(junit, bare_scan);
    let megabytes = bytes_of(junit) as f64 / 1e6;
    println!("\nper second of processor time, with {megabytes:.0} MB of JUnit, {CASES} cases:");
    let line = |what: &str, rate: f64| {
        println!(
            "  {what:34} {rate:7.0} MB/s  {:5.2} of a bare quick-xml scan",
            rate / bare
        )
    };
    line("bare quick-xml scan", bare);
    line("quick-xml, attributes decoded", rate(junit, decoding_scan));
    line(
        "loopgate, JUnit with outcomes",
        rate(junit, read_with_outcomes),
    );
    if let Some(lxml) = lxml(junit) {
        line("Python, lxml, JUnit", lxml);
        println!(
            "  {:34} {:7.1} times lxml's rate",
            "loopgate, JUnit",
            rate(junit, read_report) / lxml
        );
    }
    inputs
        .iter()
        .for_each(|(what, path)| line(what, rate(path, read_report)));
    for (what, peak) in peaks {
        println!("  {what:34} {peak}");
    }
}

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let inputs = INPUTS.map(|(what, name, write)| (what, made(dir.path().join(name), write)));
    let junit = inputs[0].1.as_path();
    // Before anything else has grown the heap.
    let mut peaks = vec![("nothing but reading the file", peak_of(|| bare_read(junit)))];
    peaks.extend(
        inputs
            .iter()
            .map(|(what, path)| (*what, peak_of(|| read_report(path)))),
    );
    if std::env::var_os("REPORTS_BENCH_GB").is_some() {
        let path = made(dir.path().join("large.xml"), |out| {
            write_junit(out, CASES * 10)
        });
        let start = processor_time();
        let peak = peak_of(|| read_report(&path));
        let rate = bytes_of(&path) as f64 / 1e6 / (processor_time() - start).as_secs_f64();
        peaks.push((
            "loopgate, JUnit ten times as large",
            format!("{peak}, {rate:.0} MB/s"),
        ));
    }
    print_rates(&inputs, junit, &peaks);
}
