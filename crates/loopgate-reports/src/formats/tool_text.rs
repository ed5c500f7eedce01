//! What tools print for people: one check may run several of them (`make test`). Cargo has its own reader, all others
//! share one. The other reader takes over at a line of its own tools, if the one before has nothing open.

use super::{
    cargo_test::{self, CargoTest},
    console::{self, Console},
};
use crate::{Collector, Unreadable, Window, each_line, text};

/// Reads the text of tools, which begins with cargo's or with another's.
pub(super) fn parse(
    begins_with_cargo: bool,
    window: &mut Window<'_>,
    out: &mut Collector,
) -> Result<(), Unreadable> {
    let (mut of_cargo, mut of_others) = (None::<CargoTest>, None::<Console>);
    let mut is_cargo = begins_with_cargo;
    each_line(window, out, |line, out| {
        let clean = text::clean(line);
        let is_idle = match is_cargo {
            true => of_cargo.as_ref().is_none_or(CargoTest::is_idle),
            false => of_others.as_ref().is_none_or(Console::is_idle),
        };
        if is_idle {
            let begins_cargo = cargo_test::is_build(&clean) || cargo_test::is_line(&clean);
            is_cargo = begins_cargo || is_cargo && !console::is_line(&clean);
        }
        if is_cargo {
            return of_cargo.get_or_insert_default().line(&clean, out);
        }
        of_others.get_or_insert_default().line(&clean, out);
        true
    })?;
    let is_one = of_cargo.is_none() || of_others.is_none();
    if let Some(reader) = of_cargo {
        reader.end(out);
    }
    if let Some(reader) = of_others {
        reader.end(out);
    }
    // With several tools, the command of one does not run the tests of another again.
    out.framework = out.framework.filter(|_| is_one);
    Ok(())
}
