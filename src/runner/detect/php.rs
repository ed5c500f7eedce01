//! PHP: PHPUnit or Pest as Composer installs them, else its script `test`; PHPStan where it is configured.

use super::{
    manifest::Manifest,
    usual::{Site, Usual},
};
use loopgate_core::evidence::CheckKind as K;

pub(super) fn checks(site: &Site<'_>) -> Vec<Usual> {
    let manifest = Manifest::json(&site.directory.join("composer.json"));
    let requires = |package: &str| manifest.has(&["require-dev", package]) || manifest.has(&["require", package]);
    let report = site.report("phpunit.xml");
    let test = if requires("pestphp/pest") {
        Some(format!("vendor/bin/pest --log-junit {report}"))
    } else if requires("phpunit/phpunit") {
        // Without a configuration it has to be told where tests are.
        let configured = site.has("phpunit.xml") || site.has("phpunit.xml.dist");
        let folder = ["tests", "test"].into_iter().find(|folder| site.directory.join(folder).is_dir());
        let folder = folder.filter(|_| !configured).map(|folder| format!(" {folder}")).unwrap_or_default();
        Some(format!("vendor/bin/phpunit --log-junit {report}{folder}"))
    } else {
        manifest.has(&["scripts", "test"]).then(|| "composer run test".to_owned())
    };
    let mut checks: Vec<Usual> = test.map(|run| Usual::new("test", K::Test, run)).into_iter().collect();
    if site.has("phpstan.neon") || site.has("phpstan.neon.dist") {
        let run = format!(
            "vendor/bin/phpstan analyse --no-progress --error-format=checkstyle > {}",
            site.report("phpstan.xml")
        );
        checks.push(Usual::new("types", K::Types, run));
    }
    checks
}
