use std::collections::BTreeMap;

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use super::*;

fn channels(set: &[(&'static str, String)]) -> Result<Channels, ChannelError> {
    let set: BTreeMap<_, _> = set.iter().cloned().collect();
    Channels::from_env(|variable| set.get(variable).cloned())
}

const SUBJECT: &str = "acme/widgets#12 is blocked";
const TEXT: &str = "Ask <!channel> & decide:\n1. a\n2. b";

#[tokio::test]
async fn slack_gets_the_text_and_nobody_is_mentioned() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200))
        .mount(&server)
        .await;
    let channels = channels(&[(SLACK, format!("{}/services/T0/B0/secret", server.uri()))]).unwrap();
    channels.send(Channel::Slack, SUBJECT, TEXT).await.unwrap();
    let requests = server.received_requests().await.unwrap();
    let sent: serde_json::Value = serde_json::from_slice(&requests[0].body).unwrap();
    let text = "*acme/widgets#12 is blocked*\nAsk &lt;!channel&gt; &amp; decide:\n1. a\n2. b";
    assert_eq!((requests.len(), sent["text"].as_str()), (1, Some(text)));
    assert_eq!(requests[0].url.path(), "/services/T0/B0/secret");
}

#[tokio::test]
async fn a_refusal_never_shows_the_address() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(404))
        .mount(&server)
        .await;
    let there = channels(&[(SLACK, format!("{}/services/secret", server.uri()))]).unwrap();
    let nowhere = channels(&[(SLACK, "http://127.0.0.1:9/services/secret".to_owned())]).unwrap();
    for channels in [there, nowhere] {
        let told = channels
            .send(Channel::Slack, SUBJECT, TEXT)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            !told.contains("secret") && told.starts_with("Slack"),
            "{told}"
        );
    }
    let none = Channels::default();
    assert_eq!(
        none.send(Channel::Email, SUBJECT, TEXT)
            .await
            .unwrap_err()
            .to_string(),
        "LOOPGATE_SMTP_URL is not set where Loopgate runs"
    );
}

#[tokio::test]
async fn mail_goes_out_over_smtp() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (read, mut write) = stream.split();
        write.write_all(b"220 here\r\n").await.unwrap();
        let (mut lines, mut heard, mut in_data) = (BufReader::new(read).lines(), Vec::new(), false);
        while let Ok(Some(line)) = lines.next_line().await {
            let answer = match line.split(' ').next() {
                _ if in_data && line != "." => "",
                Some("DATA") => "354 go on\r\n",
                Some("QUIT") => "221 bye\r\n",
                _ => "250 ok\r\n",
            };
            in_data = line == "DATA" || in_data && line != ".";
            let ends = line == ".";
            heard.push(line);
            write.write_all(answer.as_bytes()).await.unwrap();
            if ends {
                break;
            }
        }
        heard
    });
    let set = [
        (SERVER, format!("smtp://127.0.0.1:{port}")),
        (
            "LOOPGATE_EMAIL_FROM",
            "Loopgate <loop@acme.example>".to_owned(),
        ),
        (
            "LOOPGATE_EMAIL_TO",
            "ops@acme.example, olga@acme.example".to_owned(),
        ),
    ];
    channels(&set)
        .unwrap()
        .send(Channel::Email, SUBJECT, TEXT)
        .await
        .unwrap();
    let heard = server.await.unwrap();
    for line in [
        "MAIL FROM:<loop@acme.example>",
        "RCPT TO:<ops@acme.example>",
        "RCPT TO:<olga@acme.example>",
    ] {
        assert!(
            heard.iter().any(|said| said.starts_with(line)),
            "{line}: {heard:?}"
        );
    }
    assert!(
        heard.contains(&"Subject: acme/widgets#12 is blocked".to_owned()),
        "{heard:?}"
    );
}

#[test]
fn wrong_settings_name_the_variable_and_hide_its_value() {
    let set = |variable, value: &str| {
        channels(&[(variable, value.to_owned())])
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(
        set(SERVER, "smtp://h"),
        Some("LOOPGATE_EMAIL_FROM is not set where Loopgate runs".to_owned())
    );
    for value in ["secret", "ftp://secret/x"] {
        let told = set(SLACK, value).unwrap();
        assert!(
            told.starts_with("LOOPGATE_SLACK_WEBHOOK_URL cannot be used")
                && !told.contains("secret"),
            "{told}"
        );
    }
}
