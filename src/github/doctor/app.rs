//! The App itself: its key, its permissions and events, where it is installed.

use super::{
    Finding, Found, Outcome,
    facts::{Facts, Permissions, Reached, known},
};
use crate::github::{
    Error, ErrorKind,
    registration::{Access, NEEDS, Need},
};

pub(super) fn clock(reached: &Reached) -> Found {
    let wrong = |said: &String| Finding::fault(said, "set the clock, and let it be kept by NTP");
    reached.clock.as_ref().map(|()| Vec::new()).map_err(wrong)
}

pub(super) fn reached(reached: &Reached) -> Found {
    let Err(error) = &reached.app else { return Ok(Vec::new()) };
    let is_away = matches!(error.kind(), ErrorKind::Outage { .. } | ErrorKind::Wait { .. });
    let remedy = match error {
        _ if is_away => {
            "see whether this machine reaches GitHub (a proxy, a firewall, LOOPGATE_GITHUB_API_URL), and githubstatus.com"
        }
        Error::NotFound { .. } => "LOOPGATE_APP_ID or LOOPGATE_GITHUB_API_URL names another place",
        _ => {
            "the key belongs to another App or was deleted: check LOOPGATE_APP_ID, and generate a key on the App's settings \
             page (Private keys)"
        }
    };
    let message = reached.key.as_ref().err().filter(|_| !is_away).cloned().unwrap_or_else(|| error.to_string());
    Err(Finding::fault(message, remedy))
}

/// The oldest version of GitHub Enterprise Server that is made for.
const OLDEST_SERVER: [u32; 2] = [3, 18];

pub(super) fn version(facts: &Facts) -> Found {
    let Some(version) = known(&facts.version, "which version it is")? else { return Ok(Vec::new()) };
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).take(2).collect();
    let is_old = numbers.as_slice() < OLDEST_SERVER.as_slice();
    let message = format!("GitHub Enterprise Server {version} is older than 3.18, and nothing is tried with that");
    Ok(is_old.then(|| Finding::warning(message, "upgrade it to 3.18 or newer")).into_iter().collect())
}

/// What is granted less than needed.
fn lacking(granted: &Permissions) -> impl Iterator<Item = &'static Need> {
    NEEDS.iter().filter(|need| granted.get(need.permission).is_none_or(|access| *access < need.access))
}

fn named(need: &Need) -> String {
    let access = match need.access {
        Access::Read => "read",
        Access::Write | Access::Admin => "read and write",
    };
    format!("{}: {access}", need.name)
}

pub(super) fn permissions(facts: &Facts) -> Found {
    let found = lacking(&facts.app.permissions).map(|need| {
        let message = format!("the App does not ask for {}: {}", named(need), need.without);
        let remedy = format!("choose {} on the App's settings page", named(need));
        Finding::fault(message, remedy).at(facts.app.settings("/permissions"))
    });
    Ok(found.collect())
}

pub(super) fn events(facts: &Facts) -> Found {
    let app = &facts.app;
    let needed = NEEDS.iter().flat_map(|need| need.events);
    let missing: Vec<_> = needed.copied().filter(|event| !app.events.iter().any(|known| known == event)).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let message = format!("the App does not hear of: {}", missing.join(", "));
    let remedy = "tick these under Subscribe to events, on the App's settings page";
    Err(Finding::fault(message, remedy).at(app.settings("/permissions")))
}

pub(super) fn installations(facts: &Facts) -> Found {
    let installations = known(&facts.installations, "where the App is installed")?;
    if installations.is_empty() {
        let finding = Finding::fault("the App is installed nowhere", "install it on your repositories");
        return Err(finding.at(facts.app.installation_page()));
    }
    let suspended = installations.iter().filter(|it| it.suspended_at.is_some());
    let found = suspended.map(|it| {
        let message = format!("the installation on {} is suspended: nothing happens there", it.account.login);
        Finding::fault(message, "end the suspension on the installation's page").at(it.html_url.as_str())
    });
    Ok(found.collect())
}

/// Permissions that the App asks for and an account has not accepted yet.
pub(super) fn accepted(facts: &Facts) -> Found {
    let pending = facts.installations.iter().flatten().filter_map(|it| {
        let asked = lacking(&it.permissions).filter(|need| facts.app.permissions.contains_key(need.permission));
        // A person has no members.
        let asked = asked.filter(|need| need.permission != "members" || it.account.kind == "Organization");
        let asked: Vec<_> = asked.map(named).collect();
        let message =
            format!("{} has not accepted what the App asks for by now: {}", it.account.login, asked.join(", "));
        let remedy = "an owner of the account accepts it there (Review request)";
        (!asked.is_empty()).then(|| Finding::fault(message, remedy).at(it.html_url.as_str()))
    });
    Ok(pending.collect())
}

pub(super) fn requests(facts: &Facts) -> Found {
    let found = known(&facts.requests, "who asked for the App")?.iter().map(|(who, account)| {
        let message = format!("{who} has asked for the App on {account}, and could not install it");
        Finding::warning(message, format!("an owner of {account} accepts or declines it under Settings, GitHub Apps"))
    });
    Ok(found.collect())
}

/// Without a key nothing is wrong, but people who look for a statement must know why there is none.
pub(super) fn signing(facts: &Facts) -> Found {
    match &facts.expected.signer {
        Some(signer) if signer.can_sign() => Ok(Vec::new()),
        Some(_) => Err(Finding::warning(
            "LOOPGATE_SIGNING_KEY holds no private key any more: nothing is signed, and old statements can be checked",
            "put the private key back, or a new one in front of the public keys",
        )),
        None => Err(Finding::new(
            Outcome::Healthy,
            "no statements about merges are signed: LOOPGATE_SIGNING_KEY is not set",
            "to have them, make a key with `openssl genpkey -algorithm ed25519`",
        )),
    }
}
