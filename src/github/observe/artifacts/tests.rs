use std::io::Write as _;

use serde_json::{Value, json};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::*;
use loopgate_core::{WorkflowRunId, observed::CheckProgress};

const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";
const OTHER: &str = "1111111111111111111111111111111111111111";
const PATH: &str = ".github/workflows/ci.yml";

fn document() -> Value {
    json!({
        "schema": "loopgate.evidence/v1", "repository": "acme/widgets", "head_sha": HEAD, "tree_hash": "1a",
        "workflow": { "path": PATH, "run_id": 5, "run_attempt": 1, "job": "test", "matrix": null },
        "environment": { "os": "linux", "runtime": null, "framework": null },
        "started_at": "2026-11-20T10:15:00Z", "ended_at": "2026-11-20T10:16:00Z", "checks": [],
    })
}

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn packed(document: &Value) -> Vec<u8> {
    archive(&[(ENTRY, document.to_string().as_bytes())])
}

fn read_at(archive: &[u8], run_head: &str) -> Result<Evidence, String> {
    let repository = "acme/widgets".parse().unwrap();
    let run = WorkflowRun {
        id: WorkflowRunId::new(5),
        path: PATH.to_owned(),
        attempt: 2,
        progress: CheckProgress::InProgress,
        url: None,
        started_at: None,
        jobs: Vec::new(),
    };
    let (document, _) = PackedEvidence::of(archive)?.unpack()?;
    read(
        &document,
        (&repository, HEAD.parse().unwrap()),
        (&run, run_head.parse().unwrap()),
    )
}

fn refused(archive: &[u8]) -> String {
    read_at(archive, HEAD).unwrap_err()
}

#[test]
fn evidence_of_the_head_from_an_allowed_workflow_is_accepted() {
    let evidence = read_at(&packed(&document()), HEAD).unwrap();
    assert_eq!(evidence.workflow.unwrap().job, "test");
    let beside = archive(&[
        (ENTRY, document().to_string().as_bytes()),
        ("logs/unit.txt", b"log"),
    ]);
    assert!(read_at(&beside, HEAD).is_ok());
}

#[test]
fn evidence_from_elsewhere_is_refused_with_the_reason() {
    let changed = |pointer: &str, value: Value| {
        let mut document = document();
        *document.pointer_mut(pointer).unwrap() = value;
        refused(&packed(&document))
    };
    for (pointer, value, reason) in [
        (
            "/schema",
            json!("loopgate.evidence/v2"),
            "its schema is not loopgate.evidence/v1",
        ),
        (
            "/repository",
            json!("evil/widgets"),
            "it is about another repository",
        ),
        (
            "/head_sha",
            json!(OTHER),
            "it is about commit 11111111, not about the head 01234567",
        ),
        (
            "/workflow",
            json!(null),
            "it does not say which workflow run it comes from",
        ),
        (
            "/workflow/run_id",
            json!(6),
            "it names another workflow run than the one that uploaded it",
        ),
        (
            "/workflow/path",
            json!("x.yml"),
            "it names another workflow run than the one that uploaded it",
        ),
        (
            "/workflow/run_attempt",
            json!(3),
            "it names attempt 3 of a run with 2",
        ),
        (
            "/workflow/run_attempt",
            json!(0),
            "it names attempt 0 of a run with 2",
        ),
    ] {
        assert_eq!(changed(pointer, value), reason);
    }
    assert!(changed("/checks", json!("none")).contains("does not follow the schema"));
    let elsewhere = read_at(&packed(&document()), OTHER).unwrap_err();
    assert!(
        elsewhere.contains("its workflow run is of commit"),
        "{elsewhere}"
    );
}

#[test]
fn hostile_archives_are_refused() {
    let json = document().to_string();
    let good: (&str, &[u8]) = (ENTRY, json.as_bytes());
    for name in [
        "../evidence.json",
        "/etc/passwd",
        "a/../../b",
        "a\\b",
        "C:evil",
        "a//b",
        "./x",
    ] {
        let reason = refused(&archive(&[good, (name, b"x")]));
        assert!(
            reason.starts_with("it holds a file named"),
            "{name}: {reason}"
        );
    }
    assert_eq!(
        refused(&archive(&[("folder/evidence.json", json.as_bytes())])),
        "it holds no readable evidence.json"
    );
    assert!(refused(b"not a zip").starts_with("it is no zip archive"));
    assert!(refused(&[]).starts_with("it is no zip archive"));
    let whole = packed(&document());
    assert!(read_at(&whole[..whole.len() - 30], HEAD).is_err());
    let names: Vec<String> = (0..=MOST_ENTRIES).map(|nth| nth.to_string()).collect();
    let many: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), b"".as_slice()))
        .collect();
    assert_eq!(refused(&archive(&many)), "it holds more than 100 files");
}

/// An archive whose one entry is written in another way than usual.
fn odd(write: impl FnOnce(&mut ZipWriter<Cursor<Vec<u8>>>)) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    write(&mut writer);
    writer.finish().unwrap().into_inner()
}

#[test]
fn what_is_no_file_is_not_read_and_the_sizes_of_zip64_are() {
    let options = SimpleFileOptions::default();
    let link = odd(|zip| zip.add_symlink(ENTRY, "/etc/passwd", options).unwrap());
    assert_eq!(refused(&link), "it holds no readable evidence.json");
    let folder = odd(|zip| zip.add_directory(ENTRY, options).unwrap());
    assert_eq!(refused(&folder), "it holds no readable evidence.json");
    let json = document().to_string();
    let mut encrypted = packed(&document());
    for (header, flags) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let at = encrypted.windows(4).position(|it| it == header).unwrap();
        encrypted[at + flags] |= 1;
    }
    assert_eq!(refused(&encrypted), "it holds no readable evidence.json");
    let large = odd(|zip| {
        zip.start_file(ENTRY, options.large_file(true)).unwrap();
        zip.write_all(json.as_bytes()).unwrap();
    });
    assert!(read_at(&large, HEAD).is_ok());
    let script = [b"#!/bin/sh\n".as_slice(), &packed(&document())].concat();
    assert!(
        read_at(&script, HEAD).is_ok(),
        "what stands before it is passed over"
    );
}

#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = vec![b' '; (ENTRY_LIMIT + 1) as usize];
    let bomb = archive(&[(ENTRY, &zeros)]);
    assert!(bomb.len() < 100_000);
    assert!(refused(&bomb).starts_with("it is larger than"));
    assert!(refused(&vec![0; ARCHIVE_LIMIT + 1]).starts_with("it is larger than"));
}

#[test]
fn a_bomb_that_lies_about_its_size_is_not_unpacked_either() {
    let zeros = vec![b' '; (ENTRY_LIMIT + 1) as usize];
    let mut bomb = archive(&[(ENTRY, &zeros)]);
    // The size stands in the local header and in the central directory, little-endian.
    let size = u32::try_from(ENTRY_LIMIT + 1).unwrap().to_le_bytes();
    let places: Vec<usize> = (0..bomb.len() - 4)
        .filter(|at| bomb[*at..*at + 4] == size)
        .collect();
    assert_eq!(places.len(), 2);
    for at in places {
        bomb[at..at + 4].copy_from_slice(&100u32.to_le_bytes());
    }
    let reason = refused(&bomb);
    assert!(reason.contains("declared"), "{reason}");
}

#[test]
fn two_files_of_one_name_are_refused() {
    // Zip writers refuse this, so another name of the same length is overwritten in both headers.
    let json = document().to_string();
    let mut twice = archive(&[(ENTRY, json.as_bytes()), ("evidence.jsoX", json.as_bytes())]);
    let places: Vec<usize> = (0..twice.len() - 13)
        .filter(|at| &twice[*at..*at + 13] == b"evidence.jsoX".as_slice())
        .collect();
    assert_eq!(places.len(), 2);
    for at in places {
        twice[at + 12] = b'n';
    }
    assert_eq!(refused(&twice), "it holds two files of the same name");
}

#[test]
fn workflow_paths_are_compared_without_ref_and_owner() {
    let repository = "acme/widgets".parse().unwrap();
    for (path, normal) in [
        (".github/workflows/ci.yml", PATH),
        (".github/workflows/ci.yml@refs/heads/main", PATH),
        (
            "acme/widgets/.github/workflows/ci.yml@refs/pull/1/merge",
            PATH,
        ),
        ("ACME/Widgets/.github/workflows/ci.yml", PATH),
        ("./.github/workflows/ci.yml", PATH),
        (
            "evil/widgets/.github/workflows/ci.yml@main",
            "evil/widgets/.github/workflows/ci.yml",
        ),
    ] {
        assert_eq!(normalise(path, &repository), normal, "{path}");
    }
}

#[test]
fn of_each_matrix_job_the_newest_counts() {
    let evidence = |run: u64, attempt: u32, job: &str, matrix: Option<&str>| {
        let mut document = document();
        document["workflow"] = json!({ "path": PATH, "run_id": run, "run_attempt": attempt, "job": job, "matrix": matrix });
        serde_json::from_value::<Evidence>(document).unwrap()
    };
    let newest = newest_of_each(vec![
        evidence(5, 1, "test", None),
        evidence(5, 2, "test", None),
        evidence(4, 9, "test", None),
        evidence(4, 1, "lint", None),
        evidence(5, 1, "test", Some("a")),
    ]);
    let mut kept: Vec<_> = newest
        .iter()
        .filter_map(|evidence| evidence.workflow.as_ref())
        .map(|workflow| {
            (
                workflow.run_id.get(),
                workflow.run_attempt,
                workflow.job.as_str(),
                workflow.matrix.is_some(),
            )
        })
        .collect();
    kept.sort_unstable();
    assert_eq!(
        kept,
        [
            (4, 1, "lint", false),
            (5, 1, "test", true),
            (5, 2, "test", false)
        ]
    );
}

#[test]
fn a_document_that_costs_more_than_it_weighs_is_refused() {
    let mut small = document();
    small["checks"] = json!([{ "name": "unit", "kind": "test", "outcome": "failed", "duration_ms": 1,
                               "failures": vec![json!({}); 40_000] }]);
    let archive = packed(&small);
    assert!(small.to_string().len() < 200_000 && archive.len() < 20_000);
    assert_eq!(
        refused(&archive),
        "it takes more than 16 MB of memory once it is read"
    );
}
