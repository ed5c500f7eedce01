//! Files and databases that are locked, full, damaged, removed or too new.

use super::*;

on_both! {
    errors_name_no_place_in_the_databases_source,
}

/// sqlx adds the line of PostgreSQL's own source, which reads like a line of ours.
async fn errors_name_no_place_in_the_databases_source(mut kept: Kept) {
    let answer = Query::new("SELECT * FROM nowhere")
        .fetch::<()>(kept.connection())
        .await;
    let words = StoreError::from(answer.err().unwrap()).to_string();
    assert!(
        words.contains("nowhere") && !words.contains("at line"),
        "{words}"
    );
}

/// A person with a database tool may hold the lock for some seconds; GitHub waits ten for an answer.
#[tokio::test]
async fn a_write_lock_of_somebody_else_is_waited_for() {
    let mut kept = Kept::new().await;
    let rows = kept.sql("PRAGMA busy_timeout").await;
    assert_eq!(rows[0], 8_000);
}

#[tokio::test]
async fn a_file_of_a_version_that_is_too_new_is_refused_with_what_to_do() {
    let mut kept = Kept::new().await;
    kept.sql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         SELECT MAX(version) + 3, 'later', TRUE, x'00', 0 FROM _sqlx_migrations",
    )
    .await;
    let Kept {
        store,
        writer,
        directory,
        ..
    } = kept;
    writer.close().await.unwrap();
    drop(store);
    let error = open(None, directory.path()).await.unwrap_err().to_string();
    assert!(
        error.contains("has step 14, and this version knows 11") && error.contains("only a queue"),
        "{error}"
    );
}

#[tokio::test]
async fn a_damaged_file_is_moved_aside_and_begun_anew() {
    let mut kept = Kept::new().await;
    let many: Vec<_> = (1..400)
        .map(|number| delivery(&format!("d-{number}"), number, vec![]))
        .collect();
    kept.writer.apply(&many).await.unwrap();
    let Kept {
        store,
        writer,
        directory,
        ..
    } = kept;
    writer.close().await.unwrap();
    drop(store);
    let file = directory.path().join(FILE);
    let mut bytes = fs::read(&file).unwrap();
    for byte in &mut bytes[4_096..8_192] {
        *byte ^= 0x5a;
    }
    fs::write(&file, bytes).unwrap();
    let (store, mut writer) = open(None, directory.path()).await.unwrap();
    assert_eq!(store.counts().await.unwrap().waiting, 0);
    writer.apply(&[delivery("new", 1, vec![])]).await.unwrap();
    let names = fs::read_dir(directory.path())
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap());
    assert!(
        names
            .into_iter()
            .any(|name| name.starts_with("inbox.sqlite.damaged-")),
        "it can be looked at"
    );
}

#[tokio::test]
async fn a_writer_that_failed_works_again_as_soon_as_there_is_room() {
    let mut kept = Kept::new().await;
    kept.one(delivery("d-1", 1, vec![])).await;
    // As a full disk: SQLite answers SQLITE_FULL, and rolls back by itself or not.
    kept.sql("PRAGMA max_page_count = 1").await;
    let many: Vec<_> = (2..400)
        .map(|number| delivery(&format!("d-{number}"), number, vec![]))
        .collect();
    let error = kept.writer.apply(&many).await.unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(kept.counts().await, (1, 0), "nothing of the batch was kept");
    kept.writer.apply(&many).await.unwrap();
    assert_eq!(kept.counts().await, (399, 0));
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_was_removed_is_put_back_with_all_it_had() {
    let mut kept = Kept::new().await;
    kept.one(delivery(
        "00000000-0000-4000-8000-000000000001",
        1,
        Vec::new(),
    ))
    .await;
    let (directory, file) = (
        kept.directory.path().to_owned(),
        kept.directory.path().join(FILE),
    );
    // Only the file: the lock beside it is still ours.
    fs::remove_file(&file).unwrap();
    kept.one(delivery(
        "00000000-0000-4000-8000-000000000002",
        2,
        Vec::new(),
    ))
    .await;
    assert!(kept.loaded(1).await.is_some() && kept.loaded(2).await.is_some());
    // While the directory cannot be used, nothing is let go.
    fs::remove_dir_all(&directory).unwrap();
    fs::write(&directory, "").unwrap();
    kept.writer
        .apply(&[Change::Probe(at(1))])
        .await
        .unwrap_err();
    fs::remove_file(&directory).unwrap();
    kept.one(delivery(
        "00000000-0000-4000-8000-000000000003",
        3,
        Vec::new(),
    ))
    .await;
    assert!(kept.loaded(1).await.is_some() && kept.loaded(3).await.is_some());
}

#[tokio::test]
async fn a_log_that_was_removed_takes_nothing_with_it() {
    let mut kept = Kept::new().await;
    kept.one(delivery("d-1", 1, Vec::new())).await;
    let directory = kept.directory.path().to_owned();
    let file = |part: &str| directory.join(format!("{FILE}{part}"));
    fs::remove_file(file("-wal")).unwrap();
    kept.writer.tend().await.unwrap();
    kept.one(delivery("d-2", 2, Vec::new())).await;
    fs::remove_file(file("-shm")).unwrap();
    kept.one(delivery("d-3", 3, Vec::new())).await;
    // As after a kill: what is on disk is all there is.
    let copy = tempfile::tempdir().unwrap();
    for part in ["", "-wal"] {
        fs::copy(file(part), copy.path().join(format!("{FILE}{part}"))).unwrap();
    }
    let (store, _writer) = open(None, copy.path()).await.unwrap();
    assert_eq!(store.counts().await.unwrap().waiting, 3);
}

#[tokio::test]
async fn a_directory_that_goes_while_nothing_is_open_is_made_anew() {
    let mut kept = Kept::new().await;
    kept.one(delivery("d-1", 1, vec![])).await;
    kept.sql("PRAGMA max_page_count = 1").await;
    let many: Vec<_> = (2..400)
        .map(|number| delivery(&format!("d-{number}"), number, vec![]))
        .collect();
    kept.writer.apply(&many).await.unwrap_err();
    std::fs::remove_dir_all(kept.directory.path()).unwrap();
    kept.writer.apply(&many).await.unwrap();
    assert_eq!(
        kept.store.counts().await.unwrap().waiting,
        398,
        "what was open no more is lost, and nothing else"
    );
}
