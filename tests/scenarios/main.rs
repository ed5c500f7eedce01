//! Pull requests from the first push to the end, told as conversations and played on two worlds: our own simulator, and
//! a GitHub emulator written by other people. The server in between is the real one.
//!
//! The emulator is played where `LOOPGATE_EMULATOR` names the directory of its driver, `github_world.py`;
//! `LOOPGATE_PYTHON` is the interpreter that has what the driver needs. Otherwise these scenarios say that they were
//! skipped, and pass.

mod conversations;
mod emulator_driver;
mod simulator_only;
mod world;

/// Each conversation as a test of its own on each world: `simulator::NAME` and `emulator::NAME`.
macro_rules! on_both_worlds {
    ($($conversation:ident),+ $(,)?) => {
        mod simulator {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $conversation() {
                crate::conversations::$conversation(crate::world::World::simulated().await).await;
            })+
        }
        mod emulator {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $conversation() {
                match crate::world::World::emulated().await {
                    Some(world) => {
                        crate::conversations::$conversation(world).await;
                        println!("played on the emulator: {}", stringify!($conversation));
                    }
                    None => println!("skipped: LOOPGATE_EMULATOR is not set: {}", stringify!($conversation)),
                }
            })+
        }
    };
}

on_both_worlds! {
    a_pull_request_that_touches_auth_is_welcomed,
    only_the_right_person_opens_the_gate,
    failures_come_back_as_feedback_and_the_third_calls_a_person,
    a_wrong_configuration_is_named_and_the_last_good_one_governs,
    a_repository_that_did_not_ask_is_left_alone,
}
