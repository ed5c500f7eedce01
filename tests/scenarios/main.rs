//! Pull requests from the first push to the end, told as conversations and played on two worlds: our own simulator, and
//! a GitHub emulator written by other people. The server in between is the real one.
//!
//! The emulator is played where `LOOPGATE_EMULATOR` names the directory of its driver, `github_world.py`;
//! `LOOPGATE_PYTHON` is the interpreter that has what the driver needs. Otherwise these scenarios say that they were
//! skipped, and pass.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start what their users would"
)]

mod adversaries;
mod agents;
mod bases;
mod conversations;
mod dashboard;
mod disputes;
mod elsewhere;
mod emulator_driver;
mod endings;
mod first_hour;
mod gates;
mod held_runs;
mod job_logs;
mod known;
mod live;
mod memory;
mod names;
mod people;
mod places;
mod playing;
mod queues;
mod recovery;
mod reviewers;
mod sign_in;
mod silences;
mod simulator_only;
mod stacked_emulator;
mod stacks;
mod threads_emulator;
mod timing;
mod triggers;
#[path = "../fixtures/unpacked.rs"]
mod unpacked;
mod weakening;
mod world;

/// Each conversation of a file as a test of its own on each world: `FILE::simulator::NAME`, `FILE::emulator::NAME`.
macro_rules! on_both_worlds {
    ($file:ident: $($conversation:ident),+ $(,)?) => {
        mod $file {
            mod simulator {
                $(#[tokio::test(flavor = "multi_thread")]
                async fn $conversation() {
                    crate::$file::$conversation(crate::world::World::simulated().await).await;
                })+
            }
            mod emulator {
                $(#[tokio::test(flavor = "multi_thread")]
                async fn $conversation() {
                    match crate::world::World::emulated().await {
                        Some(world) => {
                            crate::$file::$conversation(world).await;
                            println!("played on the emulator: {}", stringify!($conversation));
                        }
                        None => println!("skipped: LOOPGATE_EMULATOR is not set: {}", stringify!($conversation)),
                    }
                })+
            }
        }
    };
}

mod played {
    on_both_worlds! {
        conversations:
        a_pull_request_that_touches_auth_is_welcomed,
        only_the_right_person_opens_the_gate,
        failures_come_back_as_feedback_and_the_third_calls_a_person,
        a_wrong_configuration_is_named_and_the_last_good_one_governs,
        a_repository_that_did_not_ask_is_left_alone,
    }
    on_both_worlds! {
        first_hour:
        who_is_alone_gets_to_a_merge,
        a_change_of_the_documentation_gets_to_a_merge,
        an_agents_change_gets_to_a_merge,
        two_people_get_to_a_merge,
        an_update_gets_to_a_merge,
    }
    on_both_worlds! {
        known:
        a_pass_on_another_try_counts_as_its_check_says,
        what_the_base_fails_too_holds_nobody,
        the_slowest_tests_are_listed_with_their_trend,
    }
    on_both_worlds! {
        elsewhere:
        the_status_comment_remembers_the_whole_run,
    }
    on_both_worlds! {
        weakening:
        a_test_command_that_does_nothing_calls_a_person,
        a_test_command_of_python_that_does_nothing_calls_a_person,
        a_test_command_of_a_task_that_does_nothing_calls_a_person,
        an_alias_that_does_nothing_calls_a_person,
        a_repair_with_a_test_calls_nobody,
        ignored_failures_call_a_person_once_the_check_is_green,
    }
    on_both_worlds! {
        triggers:
        a_finding_of_the_scanner_takes_a_persons_word,
        weakened_tests_are_for_somebody_else_to_accept,
        breaking_a_test_that_passed_stops_the_loop,
        a_failure_that_comes_back_is_a_circle,
        the_same_error_three_times_calls_a_person,
        the_total_is_never_reset,
        the_attempts_of_a_streak_are_limited,
        a_check_that_does_not_end_is_not_tried_again,
        trouble_outside_is_told_after_an_hour,
        a_fixer_has_a_budget,
        a_gate_that_nobody_decides_calls_its_approvers,
        coverage_alone_calls_a_person_where_it_is_asked_to,
        the_same_code_again_is_flagged_or_told,
        failures_without_a_word_are_shown_to_a_person,
    }
    on_both_worlds! {
        silences:
        a_check_that_never_reports_calls_a_person_once,
        beside_a_failure_it_is_not_the_authors,
        a_skipped_job_reports_its_own_name,
        a_renamed_job_is_named,
        a_filter_of_paths_is_understood,
        a_filter_of_branches_is_no_pass_for_code,
        a_conflict_is_said_at_once_and_is_the_authors,
        a_word_that_skips_ci_is_said,
        a_run_that_is_queued_for_two_hours_is_waited_for,
        a_run_whose_place_another_takes_fails_nobody,
    }
    on_both_worlds! {
        held_runs:
        they_are_waited_for,
    }
    on_both_worlds! {
        disputes:
        one_word_settles_it,
        a_mended_failure_ends_it,
        the_author_of_the_test_settles_what_an_agent_disputes,
        the_third_dispute_calls_a_person,
        what_is_said_is_read_within_a_poll,
        of_weakened_tests_is_shown_what_they_asked_for,
        a_flaky_new_test_is_named_before_it_is_merged,
    }
    on_both_worlds! {
        gates:
        two_reviewers_approve_a_part_each,
        reviews_approve_and_reject,
        a_word_is_taken_back_and_a_deleted_objection_stands,
        an_approval_that_races_with_a_push_opens_nothing,
        two_servers_show_one_pull_request_once,
        words_that_close_outlast_their_comments,
        a_rejection_may_be_typed_wrong_at_first,
        what_hides_a_change_opens_the_security_gate,
    }
    on_both_worlds! {
        bases:
        a_branch_of_ones_own_opens_no_other,
        a_stack_that_is_dissolved_is_judged_by_its_new_base,
        a_head_that_was_left_keeps_no_word,
        a_base_that_was_left_keeps_no_word,
        what_was_merged_is_judged_no_more,
        what_the_base_brought_is_nobodys_work,
        a_copy_from_a_fork_blocks_nobody,
        what_people_may_make_keeps_its_own_name,
    }
    on_both_worlds! {
        job_logs:
        the_lines_of_a_followed_job_are_on_the_page,
        a_log_that_is_gone_is_not_waited_for,
    }
    on_both_worlds! {
        memory:
        what_mended_a_failure_is_told_until_its_place_is_gone,
        writers_at_once_lose_no_line,
        what_failed_often_is_told_before_anything_fails,
        a_proposed_configuration_is_compared_with_the_one_that_governs,
    }
    on_both_worlds! {
        people:
        a_contributor_does_not_approve,
        only_people_approve,
        a_team_and_a_login_change_hands,
        write_access_is_enough_where_the_gate_says_so,
        a_maintainer_ends_a_rejection,
        an_author_ticks_no_box,
    }
    on_both_worlds! {
        places:
        words_count_where_they_are_plain_and_own,
        sentences_about_approving_approve_nothing,
        what_is_said_elsewhere_is_not_said_here,
        edited_deleted_and_hidden_words_open_nothing,
    }
    on_both_worlds! {
        reviewers:
        a_reviewer_and_a_fixer_that_go_round_call_a_person_with_both_sides_on_one_page,
        an_advising_reviewer_is_shown_and_holds_nothing,
        who_resolves_a_thread_decides_whether_it_is_done,
        an_outdated_thread_is_done_when_the_reviewer_looks_again,
        a_reviewer_that_dies_after_a_placeholder_is_absent,
        two_hundred_threads_are_one_page_that_fits,
    }
    on_both_worlds! {
        timing:
        an_approval_is_bound_to_what_was_there_to_see,
        on_a_draft_words_count_and_reviewers_are_asked_when_it_is_ready,
        a_check_that_bears_our_name_is_told,
    }
    on_both_worlds! {
        stacks:
        a_stack_of_three_is_edited_rebased_and_merged_from_the_bottom,
        a_stack_dissolved_at_the_moment_of_the_merge_opens_nothing,
        layers_that_cannot_be_told_count_as_its_own,
    }
    on_both_worlds! {
        endings:
        every_threshold_is_reached_and_it_is_merged,
        what_is_left_may_be_minor,
        the_limit_says_how_far_it_is_to_success,
        at_the_limit_nobody_is_called_where_nobody_is_wanted,
        a_score_that_stands_still_ends_the_loop,
        a_person_stops_it_and_takes_it_up_again,
        closed_nothing_is_written_and_reopened_it_goes_on,
        merged_over_a_closed_gate_is_told_once,
    }
}
