//! The texts whole, as their readers get them. Read them aloud before accepting a change.

use super::*;
use crate::core::decision::Decision;

macro_rules! shown {
    ($name:literal, $text:expr) => {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!($name, $text)
        })
    };
}

fn rendered(decision: &Decision, snapshot: &Snapshot) -> Rendered {
    pull_request(decision, snapshot, &fixtures::policy())
}

fn status(decision: &Decision, snapshot: &Snapshot) -> String {
    rendered(decision, snapshot).status_comment
}

#[test]
fn status_comments() {
    let plain = fixtures::snapshot();
    shown!("status_first_failure", status(&fixtures::first_failure(), &plain));
    let (decision, snapshot) = fixtures::same_error_again();
    shown!("status_same_error", status(&decision, &snapshot));
    let (decision, snapshot) = fixtures::regression_escalated();
    shown!("status_regression_escalated", status(&decision, &snapshot));
    shown!("status_waiting_for_evidence", status(&fixtures::waiting_for_evidence(), &plain));
    shown!("status_open_gate", status(&fixtures::open_security_gate_with_an_outsider(), &plain));
    shown!("status_ready_to_merge", status(&fixtures::ready_to_merge(), &plain));
    let (decision, snapshot) = fixtures::blocked();
    shown!("status_blocked", status(&decision, &snapshot));
    shown!("status_broken_configuration", status(&fixtures::broken_configuration(), &plain));
    let (decision, snapshot) = fixtures::draft_with_capabilities();
    shown!("status_draft_with_capabilities", status(&decision, &snapshot));
    let (decision, snapshot) = fixtures::merged();
    shown!("status_merged", status(&decision, &snapshot));
    let (decision, snapshot) = fixtures::merged_over_an_open_gate();
    shown!("status_merged_over_an_open_gate", status(&decision, &snapshot));
}
