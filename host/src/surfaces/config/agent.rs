//! `[agents.NAME]`: from what was written to who an agent is, and how far its runs may go.

use super::budget;
use super::chain::ChainTable;
use super::file::AgentTable;
use super::pace::PaceTable;
use super::resolve::in_table;
use crate::rules::agent::{Agent, refuse_secrets};
use crate::rules::code_mode::Names;
use crate::rules::context::rolling::Rolling;
use crate::rules::pace::Pace;
use crate::words::error::{Error, Result};
use crate::words::limits::{
    CALL_TIMEOUT_MS_MAX, CALLS_PARALLEL_MAX, CALLS_PER_TURN, RUN_CALLS_MAX, RUN_REPEATS_MAX,
    RUN_TIMEOUT_MS_MAX, RUN_TURNS, RUN_TURNS_MAX, SESSION_TURNS_MAX, TURN_TIMEOUT_MS_MAX,
};

/// The agent that a table describes.
///
/// # Errors
/// `BadInput` for a number out of its range, or a reference to a secret.
pub(super) fn agent(
    name: &str,
    table: &AgentTable,
    (patience, pace): (ChainTable, PaceTable),
) -> Result<Agent> {
    refuse_secrets(
        &format!("`instructions` of agent `{name}`"),
        &table.instructions,
    )?;
    let of = format!(" of agent `{name}`");
    let (turns, pace) = pace_of(&of, PaceTable::of(table).over(pace))?;
    Ok(Agent {
        name: name.to_owned(),
        instructions: table.instructions.clone(),
        tools: table.tools.clone(),
        models: table.models.clone(),
        terms: table
            .chain
            .over(patience)
            .terms(&format!("agents.{name}.chain"))?,
        caps: budget::caps(&table.budget)
            .map_err(|error| in_table(&format!("agents.{name}.budget"), &error))?,
        turns,
        pace,
        calling: table.calling,
        answer: None,
        rolling: Rolling::default(),
        names: Names::default(),
    })
}

/// What holds for the agents of the `place`-th of several files where they say nothing themselves: the least of what
/// that file and those before it say; and of those behind it what is less than that.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn common_pace(paces: &[PaceTable], place: usize) -> Result<PaceTable> {
    let (own, others) = paces.split_at_checked(place + 1).unwrap_or((paces, &[]));
    let mut pace = own
        .iter()
        .fold(PaceTable::default(), |pace, other| pace.least(*other));
    pace_of(" of `[pace]`", pace)?;
    for other in others {
        pace = pace.below(*other);
    }
    Ok(pace)
}

/// The turns of a run, and its pace. `of` says whose, for people.
fn pace_of(of: &str, table: PaceTable) -> Result<(u32, Pace)> {
    let turns = table.turns.unwrap_or(RUN_TURNS);
    let default = Pace::default();
    let pace = Pace {
        session_turns: table.session_turns,
        calls_per_turn: table.calls_per_turn.unwrap_or(default.calls_per_turn),
        calls: table.calls.unwrap_or(default.calls),
        corrections: table.corrections.unwrap_or(default.corrections),
        failed_turns: table.failed_turns.unwrap_or(default.failed_turns),
        identical_batches: table.identical_batches.unwrap_or(default.identical_batches),
        parallel: table.parallel.unwrap_or(default.parallel),
        recover_tool_failures: table
            .recover_tool_failures
            .unwrap_or(default.recover_tool_failures),
        on_denied: table.on_denied.unwrap_or(default.on_denied),
        denied_repeats: table.denied_repeats.unwrap_or(default.denied_repeats),
        final_answer_turn: table.final_answer_turn.unwrap_or(default.final_answer_turn),
        turn_timeout_ms: table.turn_timeout_ms.unwrap_or(default.turn_timeout_ms),
        call_timeout_ms: table.call_timeout_ms.unwrap_or(default.call_timeout_ms),
        run_timeout_ms: table.run_timeout_ms,
    };
    check(of, turns, &pace)?;
    Ok((turns, pace))
}

fn check(of: &str, turns: u32, pace: &Pace) -> Result<()> {
    let repeats = u64::from(RUN_REPEATS_MAX);
    let run_timeout = pace.run_timeout_ms.unwrap_or(RUN_TIMEOUT_MS_MAX);
    let session_turns = pace.session_turns.unwrap_or(SESSION_TURNS_MAX);
    let ranges = [
        ("turns", turns.into(), 1, RUN_TURNS_MAX.into()),
        (
            "session_turns",
            session_turns.into(),
            1,
            SESSION_TURNS_MAX.into(),
        ),
        (
            "calls_per_turn",
            wide(pace.calls_per_turn),
            1,
            wide(CALLS_PER_TURN),
        ),
        ("calls", pace.calls.into(), 1, RUN_CALLS_MAX.into()),
        ("corrections", pace.corrections.into(), 0, repeats),
        ("failed_turns", pace.failed_turns.into(), 0, repeats),
        (
            "identical_batches",
            pace.identical_batches.into(),
            2,
            repeats,
        ),
        ("parallel", wide(pace.parallel), 1, wide(CALLS_PARALLEL_MAX)),
        ("denied_repeats", pace.denied_repeats.into(), 0, repeats),
        (
            "turn_timeout_ms",
            pace.turn_timeout_ms,
            1,
            TURN_TIMEOUT_MS_MAX,
        ),
        (
            "call_timeout_ms",
            pace.call_timeout_ms,
            1,
            CALL_TIMEOUT_MS_MAX,
        ),
        ("run_timeout_ms", run_timeout, 1, RUN_TIMEOUT_MS_MAX),
    ];
    for (key, value, least, most) in ranges {
        within(of, key, value, (least, most))?;
    }
    Ok(())
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn within(of: &str, key: &str, value: u64, (least, most): (u64, u64)) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let what = format!("`{key}`{of} is not between {least} and {most}");
    Err(Error::bad_input(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::pace::OnDenied;
    use crate::words::limits::RUN_CALLS;
    use crate::words::message::Calling;

    fn read(text: &str) -> Result<AgentTable, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn every_key_is_read_and_no_other() {
        let text = r#"
            instructions = "i"
            tools = ["text.*"]
            models = ["m"]
            turns = 2
            session_turns = 13
            calling = "both"
            calls_per_turn = 3
            calls = 4
            corrections = 5
            failed_turns = 6
            identical_batches = 7
            parallel = 8
            recover_tool_failures = false
            on_denied = "fail"
            denied_repeats = 9
            final_answer_turn = true
            turn_timeout_ms = 10
            call_timeout_ms = 11
            run_timeout_ms = 12
        "#;
        let agent = agent("a", &read(text).unwrap(), Default::default()).unwrap();
        let pace = Pace {
            session_turns: Some(13),
            calls_per_turn: 3,
            calls: 4,
            corrections: 5,
            failed_turns: 6,
            identical_batches: 7,
            parallel: 8,
            recover_tool_failures: false,
            on_denied: OnDenied::Fail,
            denied_repeats: 9,
            final_answer_turn: true,
            turn_timeout_ms: 10,
            call_timeout_ms: 11,
            run_timeout_ms: Some(12),
        };
        assert_eq!(
            (agent.turns, agent.calling, agent.pace),
            (2, Calling::Both, pace)
        );
        let error = read("paralel = 1").unwrap_err();
        assert!(error.message().contains("`parallel`"), "{error}");
        assert!(read("on_denied = \"shrug\"").is_err());
        assert!(read("turns = 1\nturns = 2").is_err());
    }

    #[test]
    fn a_number_out_of_its_range_is_an_error() {
        for (text, says) in [
            (
                "turns = 0",
                "`turns` of agent `a` is not between 1 and 1000",
            ),
            (
                "calls_per_turn = 65",
                "`calls_per_turn` of agent `a` is not between 1 and 64",
            ),
            ("identical_batches = 1", "between 2 and"),
            ("parallel = 0", "between 1 and 64"),
            ("call_timeout_ms = 600001", "between 1 and 600000"),
            ("run_timeout_ms = 0", "`run_timeout_ms`"),
        ] {
            let error = agent("a", &read(text).unwrap(), Default::default()).unwrap_err();
            assert!(error.message().contains(says), "{error}");
        }
    }

    #[test]
    fn what_all_agents_do_is_tightened_by_a_workspace_and_not_widened() {
        let table = |text: &str| toml::from_str::<PaceTable>(text).unwrap();
        let own = table("turns = 4\non_denied = \"fail\"");
        let theirs = table("turns = 9\ncalls = 5000\nfailed_turns = 1\non_denied = \"tell\"");
        let common = |place| common_pace(&[own, theirs], place).unwrap();
        // Of the user's own agents: no more turns and calls than they have anyway.
        let pace = common(0);
        assert_eq!((pace.turns, pace.calls), (Some(4), Some(RUN_CALLS)));
        assert_eq!(
            (pace.failed_turns, pace.on_denied),
            (Some(1), Some(OnDenied::Fail))
        );
        // Of the workspace's: what it says, and the user's word where both do.
        let pace = common(1);
        assert_eq!((pace.turns, pace.calls), (Some(4), Some(5000)));
        assert_eq!(pace.failed_turns, Some(1));
        let error = common_pace(&[own, table("turns = 1001")], 1);
        assert!(error.is_ok(), "what is not followed is not looked at");
        let error = common_pace(&[table("turns = 1001")], 0).unwrap_err();
        assert!(
            error
                .message()
                .contains("`turns` of `[pace]` is not between"),
            "{error}"
        );
    }
}
