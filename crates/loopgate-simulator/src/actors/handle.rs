//! What a test does to the simulator itself: set-up, inspection, waiting.

use std::time::Duration;

use super::{Admin, Ci, Person};
use crate::{
    AppKey, Clock, Delivery, DeliveryCounts, DeliveryFault, Happening, Refused, RequestCounts,
    RequestFault, RequestRecord, SecondaryLimits, Simulator, TimedOut,
    config::OWNER,
    hooks::Webhooks,
    operations::apps::NewApp,
    world::{
        RestVersion, World,
        app::{Actor, App, Permissions, Selection, Webhook},
        repo::Visibility,
    },
};
use loopgate_core::{AppId, InstallationId, RepoName, Sha, Timestamp, UserId};

impl Simulator {
    /// `http://127.0.0.1:PORT`: the base of the API and of the pages that answers link to.
    pub fn url(&self) -> String {
        self.shared.quietly(|world| world.base_url.clone())
    }

    pub fn clock(&self) -> Clock {
        self.shared.quietly(|world| world.clock.clone())
    }

    pub const fn app_id(&self) -> AppId {
        self.app
    }

    pub const fn installation_id(&self) -> InstallationId {
        self.installation
    }

    /// The key that the App signs its JWTs with.
    pub const fn app_key(&self) -> &AppKey {
        &self.key
    }

    pub fn webhook_secret(&self) -> &str {
        &self.webhook_secret
    }

    /// What the App proves itself with where it asks for tokens of people.
    pub fn client_secret(&self) -> String {
        self.shared.quietly(|world| {
            world
                .apps
                .get(&self.app)
                .map(App::client_secret)
                .unwrap_or_default()
        })
    }

    /// Where the App's webhooks go from now on. Before this is set, events are told to nobody.
    pub fn set_webhook_url(&self, url: &str) {
        self.set_webhook(url, &self.webhook_secret);
    }

    /// Where the App's webhooks go from now on, signed with another secret.
    pub fn set_webhook(&self, url: &str, secret: &str) {
        let webhook = Webhook {
            url: url.to_owned(),
            secret: secret.to_owned(),
        };
        self.shared.write(|world| {
            if let Some(app) = world.apps.get_mut(&self.app) {
                app.webhook = Some(webhook);
            }
        });
    }

    /// Answers as this version of the REST API from now on, whichever is asked for.
    pub fn speaks(&self, rest: RestVersion) {
        self.shared.write(|world| world.rest = rest);
    }

    /// Installs a second App with the same rights and the same key, and gives a handle whose App it is: another
    /// instance of the App under test on the same repositories.
    pub fn install_another(
        &self,
        slug: &str,
        id: AppId,
        installation: InstallationId,
    ) -> Result<Self, Refused> {
        self.shared.write(|world| {
            let owner = Actor::Person(world.user_id(OWNER)?);
            let first = world.apps.get(&self.app).ok_or_else(Refused::not_found)?;
            let App {
                owner: org,
                permissions,
                events,
                public_key,
                ..
            } = first.clone();
            let slug = slug.to_owned();
            let name = slug.clone();
            let app = world.register_app(NewApp {
                id,
                slug,
                name,
                owner: org,
                permissions,
                events,
                public_key,
            })?;
            world.install(owner, app, (installation, org), Selection::All)
        })?;
        Ok(Self {
            app: id,
            installation,
            ..self.clone()
        })
    }

    /// Sends `ping`.
    pub fn ping(&self) {
        self.shared.write(|world| world.ping(self.app));
    }

    /// Somebody who acts. Whether there is such an account shows when they do.
    pub fn user(&self, login: &str) -> Person {
        Person::new(self.clone(), login)
    }

    /// An App that reports checks, by its slug: `other-ci`, `github-actions`, or the App under test itself.
    pub fn ci(&self, slug: &str) -> Ci {
        Ci::new(self.clone(), slug)
    }

    /// The owner of the organisation.
    pub fn admin(&self) -> Admin {
        Admin::new(self.clone())
    }

    /// A public repository whose first commit, on `main`, has these files.
    pub fn create_repo(&self, name: &str, files: &[(&str, &str)]) -> Result<RepoName, Refused> {
        self.create(name, Visibility::Public, files)
    }

    pub fn create_private_repo(
        &self,
        name: &str,
        files: &[(&str, &str)],
    ) -> Result<RepoName, Refused> {
        self.create(name, Visibility::Private, files)
    }

    fn create(
        &self,
        name: &str,
        visibility: Visibility,
        files: &[(&str, &str)],
    ) -> Result<RepoName, Refused> {
        let name: RepoName = name
            .parse()
            .map_err(|_| Refused::invalid("Repository", "name", "invalid"))?;
        let files: Vec<_> = files
            .iter()
            .map(|(path, content)| ((*path).to_owned(), Some(content.as_bytes().to_vec())))
            .collect();
        self.shared.write(|world| {
            let owner = Actor::Person(world.user_id(OWNER)?);
            world.create_repo(owner, &name, visibility, &files)
        })?;
        Ok(name)
    }

    /// A token as `GITHUB_TOKEN` is in a workflow of the repository: of the Actions App, for that repository only.
    pub fn actions_token(
        &self,
        repo: &RepoName,
        permissions: Option<Permissions>,
    ) -> Result<String, Refused> {
        self.shared.write(|world| {
            let id = world.repo_named(repo)?;
            let actions = world.app_by_slug(crate::operations::runs::ACTIONS)?.id;
            let installation = world.installation_for(actions, id)?.id;
            Ok(world
                .installation_token(installation, permissions, Some([id].into()))?
                .0)
        })
    }

    /// A token of the App under test, without going through HTTP.
    pub fn installation_token(&self) -> Result<String, Refused> {
        self.shared
            .write(|world| Ok(world.installation_token(self.installation, None, None)?.0))
    }

    /// Commits reachable from a ref, newest first.
    pub fn log(&self, repo: &RepoName, reference: &str) -> Result<Vec<Sha>, Refused> {
        self.look(|world| {
            let id = world.repo_named(repo)?;
            let tip = world
                .resolve(id, reference)
                .ok_or_else(Refused::not_found)?;
            Ok(world.objects(world.repo(id)?).log(tip))
        })
    }

    /// The commit that a branch, ref or id names.
    pub fn sha(&self, repo: &RepoName, reference: &str) -> Result<Sha, Refused> {
        self.look(|world| {
            world
                .resolve(world.repo_named(repo)?, reference)
                .ok_or_else(Refused::not_found)
        })
    }

    /// Every delivery so far, in the order of their causes; redeliveries after.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.look(|world| world.outbox.log.values().cloned().collect())
    }

    pub fn delivery_counts(&self) -> DeliveryCounts {
        self.look(|world| world.outbox.counts())
    }

    pub fn requests(&self) -> Vec<RequestRecord> {
        self.look(|world| world.requests.0.clone())
    }

    pub fn request_counts(&self) -> RequestCounts {
        self.look(|world| world.requests.counts())
    }

    /// Forgets the requests logged so far, so that those of the next step can be counted.
    pub fn forget_requests(&self) {
        self.shared.write(|world| world.requests.0.clear());
    }

    /// What happened, from the `after`th happening on.
    pub fn journal(&self, after: usize) -> Vec<Happening> {
        self.look(|world| world.journal.iter().skip(after).cloned().collect())
    }

    /// The login behind an account id of the journal.
    pub fn login(&self, id: UserId) -> String {
        self.look(|world| world.login(id).to_owned())
    }

    /// Keeps these secondary limits from now on.
    pub fn keep_limits(&self, limits: SecondaryLimits) {
        self.shared
            .quietly(|world| world.rate_limits.secondary = limits);
    }

    pub fn add_fault(&self, fault: RequestFault) {
        self.shared.write(|world| world.faults.add_request(fault));
    }

    pub fn add_delivery_fault(&self, fault: DeliveryFault) {
        self.shared.write(|world| world.faults.add_delivery(fault));
    }

    /// Ends all faults. Held deliveries stay held.
    pub fn heal(&self) {
        self.shared.write(|world| world.faults.clear());
    }

    /// How many requests hang since the last healing, whether or not their callers are still there.
    pub fn hanging(&self) -> usize {
        self.look(|world| world.faults.hanging())
    }

    /// The requests that wait for the clock to move on: how many, and when the first of them ends.
    pub fn stalled(&self) -> (usize, Option<Timestamp>) {
        self.look(|world| world.faults.stalled(world.clock.now()))
    }

    /// Wakes who waits for the clock, after it was moved.
    pub fn time_has_passed(&self) {
        self.shared.write(|_| ());
    }

    /// Lets deliveries go that a fault held back.
    pub fn release_held(&self) {
        self.shared.write(|world| world.outbox.release());
    }

    /// Sends a delivery again, as the button on the App's page does.
    pub fn redeliver(&self, delivery: &Delivery) -> Result<(), Refused> {
        let sent = self
            .shared
            .write(|world| world.redeliver(delivery.app, delivery.id));
        sent.map(drop).ok_or_else(Refused::not_found)
    }

    /// Waits until every delivery caused so far is answered or has failed. Held ones are not waited for.
    pub async fn settle(&self) {
        self.until(|world| world.outbox.is_settled()).await;
    }

    /// Waits until `done` says yes. It is asked now and after everything that happens.
    ///
    /// # Errors
    /// When it has not said yes after `timeout`.
    pub async fn wait_until(
        &self,
        mut done: impl FnMut(&Self) -> bool,
        timeout: Duration,
    ) -> Result<(), TimedOut> {
        let mut changes = self.shared.changes();
        let wait = async {
            while !done(self) {
                // The sender lives as long as this handle does.
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(timeout, wait)
            .await
            .map_err(|_| TimedOut(timeout))
    }

    async fn until(&self, mut done: impl FnMut(&World) -> bool) {
        let mut changes = self.shared.changes();
        while !self.look(&mut done) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        self.shared.quietly(|world| look(world))
    }

    /// Somebody's operation: time moves on by the configured pace first.
    pub(super) fn operation<T>(
        &self,
        webhooks: Webhooks,
        operation: impl FnOnce(&mut World) -> T,
    ) -> T {
        self.shared.write(|world| {
            world.clock.advance(self.pace);
            world.outbox.webhooks = webhooks;
            let result = operation(world);
            world.outbox.webhooks = Webhooks::Sent;
            result
        })
    }

    /// Installs the App under test on selected repositories only.
    pub fn select_repositories(&self, repos: &[&RepoName]) -> Result<(), Refused> {
        self.shared.write(|world| {
            let selected = repos
                .iter()
                .map(|repo| world.repo_named(repo))
                .collect::<Result<_, _>>()?;
            let installation = world
                .installations
                .get_mut(&self.installation)
                .ok_or_else(Refused::not_found)?;
            installation.repositories = Selection::Selected(selected);
            Ok(())
        })
    }
}
