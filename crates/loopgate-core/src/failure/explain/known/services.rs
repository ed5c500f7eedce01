//! Services, network, machines and their limits: what no change of the code mends, and what trying again may.

use super::{About, Known};
use crate::evidence::{
    RetryClass::Performance,
    RootCauseCategory::{ConfigurationError, Environment, MissingErrorHandling, ResourceLeak},
};

const TRY_AGAIN: &str = "Run the check again; nothing in the code has to change for it.";

pub(super) const TABLE: &[Known] = &[
    Known::new(
        "runner_lost",
        concat!(
            r"The runner has received a shutdown signal|lost communication with the server",
            r"|The hosted runner .*(?:lost|encountered)|The operation was canceled\.",
            r"|[Ss]pot instance (?:interruption|terminated)|job was not acquired by Runner",
        ),
        Environment,
        95,
    )
    .external()
    .says(
        "The machine that ran the check was taken away.",
        TRY_AGAIN,
        "The check was cut off from outside and says nothing about the code.",
    ),
    Known::new("disk_full", r"(?i)no space left on device|\bENOSPC\b|disk quota exceeded", Environment, 90)
        .external()
        .says(
            "The disk of the machine is full.",
            TRY_AGAIN,
            "A new machine starts with an empty disk; if it fills up again, the job needs a larger one.",
        ),
    Known::new(
        "name_resolution",
        concat!(
            r"\bENOTFOUND\b|\bEAI_AGAIN\b|getaddrinfo (?:failed|E)|[Tt]emporary failure in name resolution",
            r"|[Cc]ould not resolve host|no such host|UnknownHostException|Name or service not known",
            r"|nodename nor servname|failed to lookup address information",
        ),
        Environment,
        90,
    )
    .external()
    .says(
        "A host name was not resolved.",
        TRY_AGAIN,
        "The name service did not answer, or the host is unknown where the check runs.",
    ),
    Known::new(
        "connection_refused",
        concat!(
            r"\bECONNREFUSED\b|(?i:connection refused)|\bConnectionRefused\b|actively refused it",
            r"|Failed to connect to \S+ port",
        ),
        Environment,
        85,
    )
    .external()
    .says(
        "A service that the check talks to is not running.",
        "Start the service before the check, and wait until it accepts connections.",
        "Nothing listens on that address, so no request can succeed.",
    ),
    Known::new(
        "connection_lost",
        concat!(
            r"\bECONNRESET\b|(?i:connection reset by peer)|socket hang up|\bETIMEDOUT\b|\bESOCKETTIMEDOUT\b",
            r"|i/o timeout|(?i:connect(?:ion)? timed out)|Read timed out|TLS handshake timeout",
            r"|(?i:connection (?:closed|aborted) (?:before|by|unexpectedly))|error sending request for url",
            r"|server closed the connection unexpectedly",
        ),
        Environment,
        80,
    )
    .external()
    .says(
        "A connection to a service broke or did not come about in time.",
        TRY_AGAIN,
        "The service or the network between was not available at that moment.",
    ),
    Known::new(
        "rate_limited",
        concat!(
            r"(?i)\b429\b.{0,40}too many requests|too many requests|rate limit(?:ed| exceeded)|toomanyrequests",
            r"|secondary rate limit|quota exceeded for",
        ),
        Environment,
        85,
    )
    .external()
    .says(
        "A service refused the request because there were too many.",
        TRY_AGAIN,
        "The limit is lifted after a while.",
    ),
    Known::new(
        "service_unavailable",
        concat!(
            r"(?i)\b50[234]\b.{0,20}(?:bad gateway|service (?:temporarily )?unavailable|gateway time-?out)",
            r"|(?:bad gateway|service unavailable|gateway time-?out)\b",
            r"|(?:status(?: code)?|HTTP(?:/[0-9.]+)?|returned error)[: ]+(?P<code>50[0-4])\b",
        ),
        Environment,
        80,
    )
    .external()
    .says(
        "A service answered with a server error.",
        TRY_AGAIN,
        "The error lies in the service, not in the request.",
    ),
    Known::new(
        "download_failed",
        concat!(
            r"(?i)failed to (?:download|fetch) |could not transfer artifact|npm (?:ERR!|error) network",
            r"|unable to fetch some archives|failed to (?:solve|pull image|get) .*(?:timeout|EOF)|ERR_PNPM_FETCH",
            r"|spurious network error",
        ),
        Environment,
        85,
    )
    .external()
    .says("A download failed.", TRY_AGAIN, "The registry or the network to it was not available at that moment."),
    Known::new(
        "certificate",
        concat!(
            r"CERT_HAS_EXPIRED|certificate (?:has expired|verify failed)|CERTIFICATE_VERIFY_FAILED",
            r"|self[- ]signed certificate|x509: |unable to get local issuer certificate|PKIX path building failed",
        ),
        ConfigurationError,
        80,
    )
    .external()
    .says(
        "The certificate of a service is not trusted.",
        "Install the certificate's issuer where the check runs.",
        "No request reaches the service before its certificate is accepted.",
    ),
    Known::new(
        "credentials_refused",
        concat!(
            r"Bad credentials|(?i:authentication failed)|Permission denied \(publickey|could not read Username",
            r"|denied: (?:permission_denied|requested access)",
            r"|(?i:invalid (?:api[ _-]?key|access token|credentials))|(?i:password authentication failed)",
            r"|The security token included in the request is (?:invalid|expired)|no basic auth credentials",
        ),
        ConfigurationError,
        85,
    )
    .external()
    .says(
        "A service refused the credentials the check uses.",
        "Set or renew the secret of that service in the repository's settings; on a fork the maintainers' secrets \
         are absent.",
        "No change of the code gives it access.",
    ),
    Known::new(
        "access_denied",
        concat!(
            r"(?i)(?:\b401\b.{0,20}unauthorized|\b403\b.{0,20}forbidden|status(?: code)?:? (?P<code>401|403)\b",
            r"|HTTP(?:/[0-9.]+)? (?P<code2>401|403)\b|error: (?:unauthorized|forbidden))",
        ),
        ConfigurationError,
        60,
    )
    .about(About::Errors)
    .says(
        "A request was refused for want of rights.",
        "Send the credentials that this request needs, with the rights the resource asks for.",
        "401 means that no valid credentials came with the request; 403 that they do not suffice.",
    ),
    Known::new(
        "missing_environment_variable",
        concat!(
            r"(?i:environment variable)\W{1,3}(?P<name>[A-Za-z0-9_]+)\W{1,3}(?i:(?:is |was )?(?:not (?:set|found",
            r"|defined|present)|required|missing|undefined))",
            r"|(?i:missing (?:required )?environment variables?)\W{1,3}(?P<name2>[A-Za-z0-9_]+)",
            r"|KeyError: '(?P<name3>[A-Z][A-Z0-9_]{3,})'|: (?:NotPresent)\b",
        ),
        ConfigurationError,
        85,
    )
    .says(
        "An environment variable that the code reads is not set where the check runs.",
        "Set the variable in the environment of this check.",
        "It is set on some machines and not on this one, so the code starts with no value.",
    ),
    Known::new(
        "address_in_use",
        concat!(
            r"\bEADDRINUSE\b|(?i:address already in use)|port is already allocated",
            r"|Only one usage of each socket address",
        ),
        Environment,
        80,
    )
    .says(
        "Another process, or another test, already listens on that port.",
        "Bind port 0 and use the port that the system gives.",
        "A fixed port can be taken only once on a machine, and tests run beside each other.",
    ),
    Known::new(
        "out_of_memory",
        concat!(
            r"JavaScript heap out of memory|OutOfMemoryError|(?i:out of memory)|Cannot allocate memory",
            r"|\bMemoryError\b|OOMKilled|memory allocation of [0-9]+ bytes failed|exit code:? 137",
            r"|signal: 9, SIGKILL",
        ),
        ResourceLeak,
        75,
    )
    .retry(Performance)
    .says(
        "The process used up the memory of the machine.",
        "Find what grows without bound on this path and bound it: read in pieces, and drop what is done.",
        "Memory is released only when nothing refers to it any more.",
    ),
    Known::new(
        "too_many_open",
        concat!(
            r"(?i:too many open files)|\bEMFILE\b|(?i:too many connections)|remaining connection slots",
            r"|connection pool (?:is )?exhausted|QueuePool limit|Timeout acquiring a connection",
        ),
        ResourceLeak,
        85,
    )
    .says(
        "Files or connections are opened and not closed.",
        "Close the file or connection where it is last used, on the error path too.",
        "Each one left open counts until the process ends, and the number is limited.",
    ),
    Known::new(
        "leak",
        concat!(
            r"LeakSanitizer: detected memory leaks|did not exit one second after the test run",
            r"|failed to exit gracefully|open handles? (?:potentially )?keeping Jest|ResourceWarning: unclosed",
            r"|goleak: |found unexpected goroutines",
        ),
        ResourceLeak,
        80,
    )
    .says(
        "Something is left open or running when the test ends.",
        "Close or stop it in the teardown of this test.",
        "What one test leaves behind changes or blocks the next.",
    ),
    Known::new(
        "unhandled_rejection",
        concat!(
            r"(?i:unhandled ?promise ?rejection)|(?i:unhandled rejection)|ERR_UNHANDLED_REJECTION",
            r"|unhandled errors? during (?:the )?test run",
        ),
        MissingErrorHandling,
        80,
    )
    .says(
        "A promise is rejected and nobody handles it.",
        "Await the promise where it is started, and handle its error there.",
        "Node ends the process at a rejection that nobody handles.",
    ),
    Known::new(
        "permission_denied",
        r"\bEACCES\b|\bEPERM\b|(?i:permission denied)|Operation not permitted|PermissionError",
        Environment,
        75,
    )
    .says(
        "The process lacks the right to a file or an operation.",
        "Write to a temporary directory of the test, and commit scripts with their executable bit.",
        "Checks run as another user, in another directory, than on a developer's machine.",
    ),
    Known::new(
        "file_not_found",
        concat!(
            r"\bENOENT\b|FileNotFoundError|FileNotFoundException|(?i:no such file or directory)",
            r"|NoSuchFileException|Could not find file|The system cannot find the (?:file|path) specified",
        ),
        Environment,
        75,
    )
    .says(
        "A file is opened that does not exist where the check runs.",
        "Commit the file, and build its path from the test's own directory.",
        "CI starts with the committed files only, in the directory the check is configured with.",
    ),
];

#[cfg(test)]
mod tests {
    #[test]
    fn examples() {
        super::super::tests::check(
            super::TABLE,
            &[
                (
                    "runner_lost",
                    "The runner has received a shutdown signal. This can happen when the runner service is stopped.",
                ),
                ("disk_full", "write build.log: no space left on device"),
                ("name_resolution", "getaddrinfo ENOTFOUND db.internal"),
                ("connection_refused", "connect ECONNREFUSED 127.0.0.1:5432"),
                ("connection_refused", "dial tcp 127.0.0.1:6379: connect: connection refused"),
                ("connection_lost", "read ECONNRESET"),
                ("connection_lost", "dial tcp 10.0.0.3:443: i/o timeout"),
                ("rate_limited", "HTTP 429 Too Many Requests"),
                ("service_unavailable", "503 Service Unavailable"),
                ("service_unavailable", "Request failed with status code 502"),
                ("download_failed", "warning: spurious network error (3 tries remaining)"),
                ("certificate", "x509: certificate signed by unknown authority"),
                ("credentials_refused", "fatal: Authentication failed for 'https://example.com/'"),
                ("access_denied", "Request failed with status code 403"),
                ("missing_environment_variable", "Missing required environment variable: DATABASE_URL"),
                ("missing_environment_variable", "KeyError: 'DATABASE_URL'"),
                ("missing_environment_variable", "environment variable `DATABASE_URL` not set"),
                ("address_in_use", "listen EADDRINUSE: address already in use :::3000"),
                ("out_of_memory", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"),
                ("too_many_open", "Too many open files (os error 24)"),
                ("leak", "Jest did not exit one second after the test run has completed."),
                ("unhandled_rejection", "Unhandled Rejection at: Promise"),
                ("permission_denied", "Permission denied (os error 13)"),
                ("file_not_found", "ENOENT, open 'prices.json'"),
            ],
        );
    }
}
