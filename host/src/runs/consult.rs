//! Consulting: asks a run's own models one question about what is held. The call was judged like any other; what is
//! sent is judged once more, as a fetch by the host, like the prompt of a turn.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use super::chain::{About, Asked, Patience};
use super::provider::Model;
use crate::guests::apart::{Counsel, Done, Sampling, Telling, Wish};
use crate::guests::guest::Trail;
use crate::rules::budget::Ahead;
use crate::rules::caller::{Budget, Caller, Origin};
use crate::rules::consult;
use crate::rules::flow::apart::shape;
use crate::rules::inbound::Marks;
use crate::rules::manifest::Truncation;
use crate::rules::sanitise::{truncate, visible};
use crate::rules::schema::Schema;
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Code, Error, Result};
use crate::words::event::Spent;
use crate::words::label::Label;
use crate::words::limits::{CALL_TIMEOUT_MS_MAX, CONSULT_ASKS};
use crate::words::message::{Cost, Prompt, Reply, Usage};

/// The models of a host, to be asked by whoever's run has one.
#[derive(Debug)]
pub(super) struct Models(pub(super) BTreeMap<String, Model>);

impl Counsel for Models {
    fn consult<'a>(&'a self, wish: Wish<'a>) -> Pin<Box<dyn Future<Output = Done> + Send + 'a>> {
        Box::pin(self.ask(wish))
    }

    fn sample<'a>(
        &'a self,
        wish: Sampling<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Reply>> + Send + 'a>> {
        Box::pin(self.sampled(wish))
    }

    fn price(&self, model: &str, (reads, writes): (u64, u64)) -> Cost {
        let usage = Usage {
            input_tokens: reads,
            output_tokens: writes,
            ..Usage::default()
        };
        let model = self.0.get(model);
        model.map_or_else(Cost::unknown, |model| model.priced.cost(usage))
    }
}

impl Models {
    async fn ask(&self, wish: Wish<'_>) -> Done {
        let began = Clock::instant();
        let prepared = shape(wish.args).map(|shape| (prompt(wish, &shape), shape));
        let (prompt, shape) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Done::free(error),
        };
        // What is about to be sent must not be lost after the model has seen it.
        if let Err(error) = wish.station.gate.journal().commit().await {
            return Done::free(error);
        }
        let mut usage = Usage::default();
        let result = self.answer(wish, prompt, &shape, &mut usage).await;
        let telling = match &result {
            Err(error) if error.code() == Code::Cancelled => Telling::Free,
            // Its words say how much was used, and that tells of what was given.
            Err(error) if error.code() == Code::OverBudget => {
                Telling::Sentence("a budget or a limit has no room for the question".to_owned())
            }
            Err(error) if error.code() == Code::BadOutcome => {
                Telling::Sentence("the model gave no answer that fits the shape".to_owned())
            }
            Ok(_) | Err(_) => Telling::Sentence("the model could not be asked".to_owned()),
        };
        Done {
            result,
            telling,
            trail: Trail::default(),
            remade: None,
            spent: Spent {
                usage,
                ..Spent::since(began)
            },
        }
    }

    /// Asks until an answer fits, which is twice at most.
    async fn answer(
        &self,
        wish: Wish<'_>,
        mut prompt: Prompt,
        shape: &Schema,
        usage: &mut Usage,
    ) -> Result<Value> {
        let mut why = String::new();
        for _ in 0..CONSULT_ASKS {
            let mut reply = self.paid(wish, &prompt, usage).await?;
            reply.text = wish.station.scrub.clean(&reply.text);
            reply.calls.clear();
            match consult::read(&reply, shape) {
                Ok(value) => return Ok(value),
                Err(wrong) => why = wrong,
            }
            prompt = consult::again(prompt, reply, &why);
        }
        let what = format!("the model's answer does not fit the shape: {why}");
        Err(Error::new(Code::BadOutcome, what))
    }

    /// One reply to a server: of that model alone, which reads nothing else, and is told only what its provider accepts.
    async fn sampled(&self, wish: Sampling<'_>) -> Result<Reply> {
        let Some(model) = self.0.get(wish.model) else {
            return Err(Error::bug("a server's model is none of this host's"));
        };
        let asked = Asked {
            station: wish.station,
            tasks: wish.tasks,
            run: &wish.caller.run,
            known: &wish.caller.known,
            models: &[model],
            label: &wish.caller.label,
            turn: 0,
            patience: Patience::None,
            anew: &|_| false,
        };
        let prepare =
            |(model, _): About<'_>| Ok((sender((wish.caller, &wish.caller.label), model), |_| {}));
        asked.reply(wish.prompt, prepare).await.map_err(told)
    }

    /// One reply, where the budget of the run has room for it. What it came to counts before the next one is weighed.
    async fn paid(&self, wish: Wish<'_>, prompt: &Prompt, usage: &mut Usage) -> Result<Reply> {
        let consults = &wish.caller.known.consults;
        let models = consults.models().iter();
        let models: Vec<&Model> = models.filter_map(|name| self.0.get(name)).collect();
        let mut taken = consults.take(ahead(&models, (prompt, consults.reply_tokens())))?;
        let reply = self.reply(wish, (&models, prompt)).await;
        let used = match &reply {
            Ok(reply) => reply.usage,
            Err(error) => error.spent().unwrap_or_default(),
        };
        usage.add(used);
        taken.settle(used);
        reply
    }

    /// One reply, of the first of these models that gives one.
    async fn reply(&self, wish: Wish<'_>, (models, prompt): (&[&Model], &Prompt)) -> Result<Reply> {
        let asked = Asked {
            station: wish.station,
            tasks: wish.tasks,
            run: &wish.caller.run,
            known: &wish.caller.known,
            models,
            label: wish.label,
            turn: 0,
            patience: Patience::Until(wish.caller.deadline),
            anew: &|_| false,
        };
        let prepare =
            |(model, _): About<'_>| Ok((sender((wish.caller, wish.label), model), |_| {}));
        asked.reply(prompt, prepare).await.map_err(told)
    }
}

/// What a question is taken to use: the dearest of the models may be the one that answers.
fn ahead(models: &[&Model], (prompt, writes): (&Prompt, u64)) -> Ahead {
    let mut most = Ahead::default();
    for model in models {
        let reads = model.window.weigh(prompt);
        most.tokens = most.tokens.max(reads.saturating_add(writes));
        most.micros = most.micros.max(model.priced.ahead(reads, writes));
    }
    most
}

/// A provider's failure ends a run whose turn it was. This was a call, and whoever made it goes on.
fn told(error: Error) -> Error {
    if error.code() == Code::ProviderFailed {
        Error::new(Code::FetchFailed, error.message()).spending(error.spent().unwrap_or_default())
    } else {
        error
    }
}

/// The host as a caller, under all that it is about to send: it may reach the model's own server, and nothing else.
fn sender((caller, label): (&Caller, &Label), model: &Model) -> Caller {
    Caller {
        origin: Origin::Host,
        grant: Arc::new(model.provider.grant()),
        reach: Arc::new([]),
        label: label.clone(),
        deadline: caller
            .deadline
            .earlier(Deadline::after_ms(CALL_TIMEOUT_MS_MAX)),
        budget: Budget::of_calls(0),
        ..caller.clone()
    }
}

/// The values are treated as for any model that reads them.
fn prompt(wish: Wish<'_>, shape: &Schema) -> Prompt {
    let station = wish.station;
    let policy = station.gate.policy();
    let journal = station.gate.journal();
    let marks = Marks::of_run(
        (policy.inbound, &policy.flows.classes),
        journal.key(),
        &wish.caller.run,
    );
    let of = wish.args.get("of").and_then(Value::as_array);
    let values = of.into_iter().flatten().map(|value| {
        let mut value = value.clone();
        policy.inbound.guess.clean_value(&mut value);
        // What it looks like is said of observations; nobody observes this.
        let _flags = policy
            .inbound
            .treat(&mut value, (wish.label, &policy.flows.classes));
        let text = match &value {
            Value::String(text) => visible(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => visible(&value.to_string()),
        };
        truncate(&text, Truncation::default(), &policy.inbound.caps)
    });
    let values: Vec<String> = values.collect();
    let question = wish.args.get("question").and_then(Value::as_str);
    let question = question.unwrap_or_default();
    consult::prompt((question, shape), &values, (wish.label, &marks))
}
