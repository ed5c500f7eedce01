use super::*;
use loopgate_core::proof::Statement;

/// Made for these tests with `openssl genpkey -algorithm ed25519`; they sign nothing else.
const KEY: &str = include_str!("../testdata/not-a-secret.pem");
const NEXT: &str = include_str!("../testdata/not-a-secret-either.pem");
const STATEMENT: &str = include_str!("../testdata/statement.json");

fn statement() -> Statement {
    serde_json::from_str(STATEMENT).unwrap()
}

fn at() -> Timestamp {
    statement().predicate.created_on
}

fn signed(signer: &Signer) -> Envelope {
    signer.sign(&statement()).unwrap()
}

#[test]
fn a_signature_fits_what_was_signed() {
    let signer = Signer::parse(KEY).unwrap();
    let envelope = signed(&signer);
    assert_eq!(envelope.statement().unwrap(), statement());
    assert_eq!(
        signer.keys.verify(&envelope, at()).unwrap().keyid,
        envelope.signatures[0].keyid
    );
    assert!(!format!("{signer:?}").contains("MC4C") && format!("{signer:?}").starts_with("Signer"));
}

#[test]
fn nothing_else_fits() {
    let signer = Signer::parse(KEY).unwrap();
    let verify = |alter: fn(&mut Envelope)| {
        let mut envelope = signed(&signer);
        alter(&mut envelope);
        signer.keys.verify(&envelope, at()).unwrap_err()
    };
    let altered = verify(|it| {
        let text = serde_json::to_string(&statement())
            .unwrap()
            .replace("carol", "mallory");
        it.payload = STANDARD.encode(text);
    });
    assert!(
        altered.ends_with("does not fit: the statement was altered"),
        "{altered}"
    );
    assert!(verify(|it| it.payload_type.push('x')).contains("does not fit"));
    let other = Envelope {
        payload_type: "text/plain".to_owned(),
        ..signed(&signer)
    };
    assert!(
        other
            .statement()
            .unwrap_err()
            .contains("no in-toto statement")
    );
    assert!(verify(|it| it.signatures[0].sig = STANDARD.encode([0; 64])).contains("does not fit"));
    assert!(verify(|it| it.signatures[0].keyid = "00".repeat(32)).contains("none of those given"));
    assert!(verify(|it| it.signatures.clear()).contains("no signature"));
    assert!(verify(|it| it.payload.push('!')).contains("not base64"));
}

#[test]
fn a_key_whose_id_is_not_its_own_vouches_for_nothing() {
    let (signer, next) = (Signer::parse(KEY).unwrap(), Signer::parse(NEXT).unwrap());
    let mut keys = signer.keys.clone();
    keys.keys[0].public = next.keys.keys[0].public.clone();
    assert!(
        keys.verify(&signed(&signer), at())
            .unwrap_err()
            .contains("does not have that id")
    );
}

#[tokio::test]
async fn keys_that_anybody_on_the_way_could_change_are_refused() {
    let refused = Keys::read("http://loopgate.example.com/.well-known/loopgate-keys.json")
        .await
        .unwrap_err();
    assert!(refused.contains("is not https"), "{refused}");
}

/// The text after a rotation: the new private key, and the old public one with its dates.
fn rotated(until: &str) -> Signer {
    let old = &Signer::parse(KEY).unwrap().keys.keys[0].public.clone();
    Signer::parse(&format!(
        "# from: 2026-01-01T00:00:00Z\n{NEXT}# until: {until}\n{old}"
    ))
    .unwrap()
}

#[test]
fn old_keys_verify_old_merges() {
    let before = signed(&Signer::parse(KEY).unwrap());
    let after = rotated("2099-01-01T00:00:00Z");
    assert_eq!(after.keys.keys.len(), 2);
    assert!(after.keys.verify(&before, at()).is_ok());
    assert_ne!(
        signed(&after).signatures[0].keyid,
        before.signatures[0].keyid,
        "the new key signs"
    );
    let gone = rotated("2001-01-01T00:00:00Z");
    assert!(
        gone.keys
            .verify(&before, at())
            .unwrap_err()
            .contains("was not in use")
    );
    let two =
        [Signer::parse(KEY).unwrap(), Signer::parse(KEY).unwrap()].map(|server| signed(&server));
    assert_eq!(two[0], two[1], "two servers with one key sign alike");
}

#[test]
fn a_lost_key_signs_nothing_and_is_not_replaced() {
    let public = Signer::parse(KEY).unwrap().keys.keys[0].public.clone();
    let lost = Signer::parse(&public).unwrap();
    assert!(!lost.can_sign() && lost.sign(&statement()).is_none());
    assert!(
        lost.keys
            .verify(&signed(&Signer::parse(KEY).unwrap()), at())
            .is_ok()
    );
}

#[test]
fn what_is_wrong_with_a_text_is_told_without_it() {
    let rsa = include_str!("../../server/testdata/not-a-secret.pem");
    for (text, reason) in [
        ("", "holds no key"),
        (rsa, "neither PRIVATE KEY nor PUBLIC KEY"),
        (&KEY[..60], "without its end"),
        (&format!("{KEY}{NEXT}"), "two private keys"),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            "not Ed25519",
        ),
        (
            "-----BEGIN PUBLIC KEY-----\n?\n-----END PUBLIC KEY-----",
            "not base64",
        ),
        (&format!("until: soon\n{KEY}"), "no time like"),
    ] {
        let said = Signer::parse(text).unwrap_err();
        assert!(said.contains(reason), "{said}");
    }
}

/// What the published verifiers are given.
#[test]
fn an_envelope_is_written_down_for_other_verifiers() {
    let signer = Signer::parse(KEY).unwrap();
    let texts = [
        serde_json::to_string(&signed(&signer)).unwrap(),
        serde_json::to_string(&signer.keys).unwrap(),
    ];
    let read: Keys = serde_json::from_str(&texts[1]).unwrap();
    assert!(
        read.verify(&serde_json::from_str(&texts[0]).unwrap(), at())
            .is_ok()
    );
    if let Some(folder) = std::env::var_os("LOOPGATE_ATTESTATION").map(std::path::PathBuf::from) {
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in ["envelope.json", "keys.json"].into_iter().zip(texts) {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
}
