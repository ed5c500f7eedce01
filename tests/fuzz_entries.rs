//! The entries of the fuzz targets, run briefly: every seed of theirs as it is, and damaged a little in many ways.

#[path = "../fuzz/src/lib.rs"]
mod entries;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Damaged copies of each seed.
const DAMAGED: u32 = 6;
/// Longest seed that is damaged; a longer one is cut.
const LONGEST: usize = 16 * 1024;

fn files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                found.push(path)
            }
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

/// A small generator, so that every run does the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

/// Some bytes exchanged, doubled, taken out, and the rest cut off.
fn damaged(seed: &[u8], dice: &mut Dice) -> Vec<u8> {
    const ODD: [u8; 12] = [
        0, b'"', b'\\', b'<', b'>', b'{', b'}', b':', b'\n', b'-', 0xFF, 0xC3,
    ];
    let mut bytes = seed.to_vec();
    for _ in 0..1 + dice.roll(4) {
        let at = dice.roll(bytes.len());
        match dice.roll(4) {
            0 if !bytes.is_empty() => bytes[at] = ODD[dice.roll(ODD.len())],
            1 => bytes.insert(at, ODD[dice.roll(ODD.len())]),
            2 => {
                let piece = bytes[at..(at + dice.roll(40)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece.iter().copied().cycle().take(piece.len() * 3));
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}

fn throw(entry: fn(&[u8]), seeds: impl IntoIterator<Item = Vec<u8>>) {
    let mut dice = Dice(7);
    for mut seed in seeds {
        entry(&seed);
        seed.truncate(LONGEST);
        for _ in 0..DAMAGED {
            entry(&damaged(&seed, &mut dice));
        }
    }
}

fn contents(folder: &str) -> Vec<Vec<u8>> {
    files(folder)
        .into_iter()
        .map(|path| fs::read(path).unwrap())
        .collect()
}

/// Seeds behind each of the first bytes that choose how they are read.
fn chosen(seeds: &[Vec<u8>], choices: u8) -> Vec<Vec<u8>> {
    (0..choices)
        .flat_map(|choice| {
            seeds
                .iter()
                .map(move |seed| [&[choice], seed.as_slice()].concat())
        })
        .collect()
}

#[test]
fn reports() {
    throw(
        entries::report,
        contents("crates/loopgate-reports/tests/fixtures/reports"),
    );
    let short: Vec<Vec<u8>> = contents("crates/loopgate-reports/tests/fixtures/reports")
        .into_iter()
        .filter(|seed| seed.len() < 2_000)
        .step_by(9)
        .collect();
    throw(entries::report_as, chosen(&short, 19));
}

#[test]
fn configurations() {
    let mut seeds = contents("tests/fixtures/config");
    seeds.push(
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/loopgate.example.yml"))
            .unwrap(),
    );
    // Found by fuzzing: a carriage return alone ends a line in YAML, and the place of an error counts it.
    seeds.push(b"\r\r\xfe\xba".to_vec());
    throw(entries::configuration, seeds);
}

#[test]
fn comments_deliveries_and_signatures() {
    let seeds = contents("fuzz/seeds/comment");
    throw(entries::comment, seeds);
    throw(
        entries::webhook,
        chosen(&contents("fuzz/seeds/webhook"), 10),
    );
    throw(entries::signature, contents("fuzz/seeds/signature"));
}

#[test]
fn documents() {
    throw(entries::evidence, contents("fuzz/seeds/evidence"));
    throw(entries::state, contents("fuzz/seeds/state"));
    throw(entries::failure, contents("fuzz/seeds/failure"));
}
