//! What is told of a run that does not fit into the window, or soon will not.

use super::super::counting::Counting;
use super::super::rolling::Rolling;
use super::super::tokens::Tokenizer;
use super::super::window::Window;
use super::*;
use crate::words::error::Code;
use crate::words::event::{Cause, Compacted, Spent};
use crate::words::message::{ToolCall, WishedArgs};

fn window(tokens: u64) -> Window {
    Window {
        tokens,
        reserve_tokens: 0,
        counting: Counting::by(Tokenizer::Estimate),
        ..Window::of("m")
    }
}

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        tool: "t.x".to_owned(),
        args: WishedArgs::Json(json!({})),
    }
}

/// A reply with its calls, and an outcome of so many characters for each.
fn turn(number: usize, outcomes: &[usize], label: &Label) -> Vec<Message> {
    let ids: Vec<String> = (0..outcomes.len())
        .map(|at| format!("c{number}-{at}"))
        .collect();
    let mut messages = vec![Message::Assistant(Reply {
        text: format!("step {number}"),
        calls: ids.iter().map(|id| call(id)).collect(),
        ..Reply::default()
    })];
    messages.extend(
        ids.into_iter()
            .zip(outcomes)
            .map(|(id, chars)| Message::Tool {
                id,
                observation: Observation {
                    text: "x".repeat(*chars),
                    ok: true,
                    label: label.clone(),
                    flags: Vec::new(),
                },
            }),
    );
    messages
}

/// A goal, and after it turns whose outcomes have so many characters.
fn run(sizes: &[Vec<usize>]) -> Vec<Message> {
    let trusted = Label::of(Source::user());
    let mut messages = vec![user("the goal")];
    for (number, outcomes) in sizes.iter().enumerate() {
        messages.extend(turn(number, outcomes, &trusted));
    }
    messages
}

fn told(context: &mut Context, own: &[Message], window: &Window) -> Result<Prompt, Code> {
    let (agent, cards, named, marks) = (agent(), cards(), named(), marks());
    let telling = Telling {
        agent: &agent,
        cards: &cards,
        named: &named,
        own,
        marks: &marks,
    };
    context
        .prompt(telling, window)
        .map_err(|error| error.code())
}

/// Folds what is due, as the driver does.
fn fold(
    context: &mut Context,
    own: &[Message],
    (rolling, window): (&Rolling, &Window),
) -> Option<Compacted> {
    let (agent, cards, named, marks) = (agent(), cards(), named(), marks());
    let telling = Telling {
        agent: &agent,
        cards: &cards,
        named: &named,
        own,
        marks: &marks,
    };
    let due = context.due(telling, (rolling, window))?;
    let mut compacted = Compacted {
        through: due.through,
        turns: due.turns,
        summary: rolling.summary(&due.before, &due.messages),
        label: web(),
        by: "host".into(),
        cause: Cause::Window,
        before_tokens: due.tokens,
        after_tokens: 0,
        summary_tokens: 0,
        estimated: true,
        instead: String::new(),
        after: Vec::new(),
        spent: Spent::default(),
    };
    context.folded(&compacted);
    (compacted.after_tokens, compacted.summary_tokens) = context.tokens(telling, window.counting);
    Some(compacted)
}

fn texts(prompt: &Prompt) -> Vec<String> {
    let texts = prompt.messages.iter().map(|message| match message {
        Message::User { text, .. } => text.lines().next().unwrap_or_default().to_owned(),
        Message::Assistant(reply) => reply.text.clone(),
        Message::Tool { id, .. } => id.clone(),
    });
    texts.collect()
}

#[test]
fn what_frames_a_message_is_counted_as_the_operator_says() {
    let own = run(&[vec![40], vec![40]]);
    let (marks, agent) = (marks(), agent());
    let tokens = |message_tokens| {
        let counting = Counting {
            message_tokens,
            ..Counting::by(Tokenizer::Estimate)
        };
        let telling = Telling {
            agent: &agent,
            cards: &[],
            named: &[],
            own: &own,
            marks: &marks,
        };
        Context::default().tokens(telling, counting).0
    };
    let messages = u64::try_from(own.len()).unwrap();
    assert_eq!(tokens(100) - tokens(4), 96 * messages);
    assert_eq!(tokens(4) - tokens(0), 4 * messages);
}

#[test]
fn a_goal_that_does_not_fit_is_cut_where_that_is_said_and_the_rest_of_the_run_is_told() {
    let mut own = run(&[vec![40], vec![40]]);
    own[0] = user(&"é".repeat(2_000));
    let fails = told(&mut Context::default(), &own, &window(1_000));
    assert_eq!(fails.unwrap_err(), Code::OverBudget);
    let cuts = Window {
        cut_latest: true,
        ..window(1_000)
    };
    let mut context = Context::default();
    let prompt = told(&mut context, &own, &cuts).unwrap();
    // The newest turns are there, whole.
    assert_eq!(prompt.messages[prompt.messages.len() - 4..], own[1..]);
    let Message::User { text, .. } = &prompt.messages[0] else {
        panic!("{prompt:?}");
    };
    let (kept, notice) = text.split_once('\n').unwrap();
    assert!(kept.chars().count() > 200, "{}", kept.len());
    let left = 2_000 - kept.chars().count();
    assert_eq!(notice, format!("[{left} of 2000 characters left out]"));
    let all: u64 = prompt
        .messages
        .iter()
        .map(|message| super::super::window::tokens_of(cuts.counting, message))
        .sum();
    assert!(all <= 1_000, "{all}");
    // What fits is not cut.
    let fits = run(&[vec![40]]);
    assert_eq!(
        told(&mut Context::default(), &fits, &cuts)
            .unwrap()
            .messages,
        fits
    );
}

#[test]
fn the_newest_turns_are_told_and_the_goal_before_them() {
    let own = run(&vec![vec![400]; 6]);
    let all = told(&mut Context::default(), &own, &window(10_000)).unwrap();
    assert_eq!(all.messages, own);
    let some = told(&mut Context::default(), &own, &window(340)).unwrap();
    assert_eq!(
        texts(&some),
        [
            "[Earlier messages are left out here: they no longer fit.]",
            "the goal",
            "step 4",
            "c4-0",
            "step 5",
            "c5-0"
        ]
    );
    assert_eq!(some.replies_before, 4);
}

#[test]
fn what_must_be_told_is_told_or_nothing_is() {
    let long = [user(&"word ".repeat(4_000))];
    let small = window(2_048);
    assert_eq!(
        told(&mut Context::default(), &long, &small),
        Err(Code::OverBudget)
    );
    let outcome = run(&[vec![100], vec![9_000]]);
    assert_eq!(
        told(&mut Context::default(), &outcome, &small),
        Err(Code::OverBudget)
    );
    assert_eq!(
        told(&mut Context::default(), &[user("a")], &window(20)),
        Err(Code::OverBudget)
    );
}

#[test]
fn older_turns_become_one_summary_and_all_before_it_stays() {
    let (rolling, window) = (Rolling::default(), window(2_048));
    let mut context = Context::default();
    let mut own = run(&[]);
    let mut folded = 0;
    let first = told(&mut context, &own, &window).unwrap();
    for number in 0..40 {
        own.extend(turn(number, &[700], &web()));
        if let Some(compacted) = fold(&mut context, &own, (&rolling, &window)) {
            folded += 1;
            assert!(
                compacted.after_tokens < compacted.before_tokens,
                "{compacted:?}"
            );
            assert!(compacted.summary_tokens > 0);
        }
        let prompt = told(&mut context, &own, &window).unwrap();
        assert!(prompt.instructions.starts_with(&first.instructions));
        assert_eq!(prompt.cards, first.cards);
        let texts = texts(&prompt);
        let summaries = texts.iter().filter(|text| text.starts_with("Summary of"));
        assert_eq!(summaries.count(), usize::from(folded > 0), "{texts:?}");
        assert_eq!(texts.iter().filter(|text| *text == "the goal").count(), 1);
        assert_eq!(texts.last().unwrap(), &format!("c{number}-0"));
    }
    assert!(folded > 2, "{folded}");
    // Its words are those of whoever was read.
    let prompt = told(&mut context, &own, &window).unwrap();
    let Some(Message::User { text, .. }) = prompt.messages.first() else {
        panic!("{prompt:?}");
    };
    assert!(
        text.contains("\n[untrusted text n0nce, from web:https://h.test"),
        "{text}"
    );
    assert!(!text.contains("n0nce, from user"), "{text}");
}

#[test]
fn little_is_not_folded_and_nothing_where_it_is_turned_off() {
    let few = run(&vec![vec![1_600]; 5]);
    let many = run(&vec![vec![1_200]; 7]);
    let off = Rolling {
        trigger_percent: 0,
        ..Rolling::default()
    };
    let at = |rolling: &Rolling, own: &[Message]| {
        fold(&mut Context::default(), own, (rolling, &window(2_048))).map(|done| done.turns)
    };
    assert_eq!(at(&Rolling::default(), &few), None, "five turns");
    assert_eq!(at(&Rolling::default(), &many), Some(4));
    assert_eq!(at(&off, &many), None);
    let mut context = Context::default();
    context.ask();
    let asked = fold(&mut context, &many, (&off, &window(100_000)));
    assert_eq!(asked.map(|done| done.turns), Some(5), "all but two");
}

#[test]
fn a_session_goes_on_where_it_was() {
    let mut earlier = run(&[vec![10]]);
    earlier.push(Message::Assistant(Reply {
        text: "done".into(),
        ..Reply::default()
    }));
    let mut context = Context::after(earlier, web());
    let own = [user("and now this")];
    let prompt = told(&mut context, &own, &window(10_000)).unwrap();
    assert_eq!(
        texts(&prompt),
        ["the goal", "step 0", "c0-0", "done", "and now this"]
    );
    assert_eq!(context.label(), &web());
    let tight = told(&mut context, &own, &window(150)).unwrap();
    assert_eq!(texts(&tight).last().unwrap(), "and now this");
}

proptest! {
    /// O-24, O-26, O-27: whatever the sizes, what is told fits, is the end of what was said, and splits no turn.
    #[test]
    fn what_is_told_fits_and_is_whole(
        sizes in proptest::collection::vec(proptest::collection::vec(0_usize..900, 0..4), 0..14),
        tokens in 100_u64..3_000,
        folds in any::<bool>(),
    ) {
        let own = run(&sizes);
        let (mut context, window) = (Context::default(), window(tokens));
        if folds {
            fold(&mut context, &own, (&Rolling::default(), &window));
        }
        let Ok(prompt) = told(&mut context, &own, &window) else {
            return Ok(());
        };
        let count = |text: &str| Tokenizer::Estimate.count(text);
        let mut all = count(&prompt.instructions);
        for card in &prompt.cards {
            all += count(&card.name) + count(&card.description) + count(&card.input.to_string());
        }
        for message in &prompt.messages {
            all += super::super::window::tokens_of(window.counting, message);
        }
        prop_assert!(all <= tokens, "{all} of {tokens}");
        prop_assert!(prompt.messages.contains(&own[0]));
        // But for the goal and what stands for the others: the end of what was said.
        let said: Vec<_> = prompt.messages.iter().filter(|message| !matches!(message, Message::User { .. })).collect();
        let rest: Vec<_> = own.iter().skip(1).collect();
        prop_assert!(rest.ends_with(&said));
        let begins = said.first().is_none_or(|first| matches!(first, Message::Assistant(_)));
        prop_assert!(begins, "an outcome without its call");
        let replies = said.iter().filter(|message| matches!(message, Message::Assistant(_))).count();
        prop_assert_eq!(replies + prompt.replies_before, sizes.len());
    }

    /// The same messages, counted or not, make the same prompt; and so does a context that was read back.
    #[test]
    fn the_same_records_make_the_same_prompt(
        sizes in proptest::collection::vec(proptest::collection::vec(0_usize..900, 1..3), 0..14),
        tokens in 2_048_u64..4_000,
    ) {
        let own = run(&sizes);
        let (rolling, window) = (Rolling::default(), window(tokens));
        let mut context = Context::default();
        let mut folds = Vec::new();
        for end in 1..=own.len() {
            folds.extend(fold(&mut context, &own[..end], (&rolling, &window)));
        }
        let mut again = Context::default();
        folds.iter().for_each(|compacted| again.folded(compacted));
        prop_assert_eq!(told(&mut context, &own, &window), told(&mut again, &own, &window));
    }
}
