//! What a server asks for in the middle of its call, where the operator allows it: a form for a person, an answer of a model.
//!
//! A form is a question of the run like any other, on record before anybody sees it. But the server's call is under way, and
//! cannot be left and taken up again: so whoever called waits for the answer, for a part of the time that the call has,
//! and where none comes the server is told so, and goes on.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::super::apart::Sampling;
use super::super::catalog::{Served, Tool};
use super::super::station::Station;
use super::super::tasks::Tasks;
use super::of_outcome;
use crate::edges::answers::Awaited;
use crate::edges::mcp::Wants;
use crate::gate::Performed;
use crate::rules::caller::Caller;
use crate::rules::inbound::Marks;
use crate::rules::server::Asks;
use crate::rules::server::asked::{Filled, Put, Sample, Told, Want, sampled};
use crate::rules::server::form::Form;
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, Event, Spent};
use crate::words::label::{Label, Source};
use crate::words::length::json_bytes;
use crate::words::limits::servers::{ANSWER_LOOK_MS, FORMS_PER_CALL, SERVER_ASK_BYTES};

/// One call, as far as its server may ask for something in its middle.
struct Asker {
    station: Arc<Station>,
    tasks: Tasks,
    /// The call as a caller, under the influence of its server. What that says is as secret as what its tool returns.
    caller: Caller,
    server: String,
    asks: Asks,
    /// Forms that it has put.
    forms: AtomicU32,
    /// One model answers it at a time.
    replies: Mutex<()>,
}

/// Who sees to what a server asks for in the middle of this call; nobody, where it may ask for nothing.
pub(super) fn wants(
    (station, tasks): (&Arc<Station>, &Tasks),
    inner: &Caller,
    (tool, served): (&Tool, &Served),
) -> Option<Wants> {
    let terms = served.server.terms();
    if terms.asks == Asks::default() {
        return None;
    }
    let label = inner.label.join(&terms.label());
    let asker = Arc::new(Asker {
        station: station.clone(),
        tasks: tasks.clone(),
        caller: Caller {
            label: of_outcome(tool, label),
            ..inner.clone()
        },
        server: terms.name.clone(),
        asks: terms.asks.clone(),
        forms: AtomicU32::new(0),
        replies: Mutex::new(()),
    });
    Some(Arc::new(move |want, params| {
        let asker = asker.clone();
        Box::pin(async move {
            match want {
                Want::Form => asker.form(params).await,
                Want::Reply => asker.reply(params).await,
            }
        })
    }))
}

impl Asker {
    /// Has a person fill a form.
    async fn form(&self, params: Value) -> Result<Value> {
        let nth = self.forms.fetch_add(1, Ordering::AcqRel);
        if !self.asks.elicitation || nth >= FORMS_PER_CALL {
            return Err(Error::new(Code::Denied, "no form is put"));
        }
        let put = Put {
            server: self.server.clone(),
            form: Form::read(&self.scrubbed(params)?)?,
            of: (self.caller.parent, nth),
        };
        let journal = self.station.gate.journal();
        // What is left after it is for the server to go on.
        let wait = self.caller.deadline.rest().mul_f32(0.75);
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let until = journal.clock().now_ms().saturating_add(wait_ms);
        let put_by = self.station.gate.put(&self.caller, &put, until).await;
        let question = match put_by.map_err(|not| not.error) {
            Ok(question) => question.id,
            Err(error) if error.code() == Code::Denied => return Ok(json!({"action": "decline"})),
            Err(error) => return Err(error),
        };
        let mut awaited = self
            .station
            .counsel
            .persons
            .await_one(&question, &self.caller.run)?;
        let said = self.said(&mut awaited, Deadline::after_ms(wait_ms)).await?;
        let answer = said.as_ref().and_then(|said| said.answer);
        let (Some(said), Some(answer)) = (said, answer) else {
            self.record(Event::Expired { question }).await?;
            return Ok(json!({"action": "cancel"}));
        };
        self.record(Event::Answered {
            question,
            answer,
            reason: said.reason,
        })
        .await?;
        drop(awaited);
        if answer == Answer::Deny {
            return Ok(json!({"action": "decline"}));
        }
        let content = put.form.answer(&said.content)?;
        let told = self.told(Want::Form, content);
        match self.tell(told).await {
            Ok(content) => Ok(json!({"action": "accept", "content": content})),
            Err(error) if error.code() == Code::Denied => Ok(json!({"action": "decline"})),
            Err(error) => Err(error),
        }
    }

    /// What the server says, before anything of it is cut: half a secret is not recognised. All of it is looked through, so it
    /// may not be long.
    fn scrubbed(&self, mut params: Value) -> Result<Value> {
        let bytes = json_bytes(&params);
        if bytes > SERVER_ASK_BYTES {
            let what = "what a server asks for";
            return Err(Error::too_big(what, SERVER_ASK_BYTES, bytes));
        }
        self.station.scrub.clean_value(&mut params);
        Ok(params)
    }

    /// What somebody says in time.
    async fn said(&self, awaited: &mut Awaited, until: Deadline) -> Result<Option<Filled>> {
        let look = Duration::from_millis(ANSWER_LOOK_MS);
        let looking = async {
            loop {
                if let Some(said) = awaited.take()? {
                    return Ok(serde_json::from_str(&said).ok());
                }
                if until.rest().is_zero() {
                    return Ok(None);
                }
                // Running out is what this is for.
                let _ = tokio::time::timeout(look.min(until.rest()), pending::<()>()).await;
            }
        };
        self.tasks.unless_cancelled(looking).await
    }

    /// Whoever finds that nobody waits any more finds in the journal, from any process, what became of the question.
    async fn record(&self, event: Event) -> Result<()> {
        let journal = self.station.gate.journal();
        journal.append(&self.caller.run, self.caller.parent, event)?;
        journal.commit().await
    }

    fn told(&self, want: Want, content: Value) -> Told {
        let mut clean = content.clone();
        self.station.scrub.known().clean_value(&mut clean);
        Told {
            server: self.server.clone(),
            want,
            is_secret: clean != content,
            content,
        }
    }

    /// What a person says goes out as their own words: judged, on record, and then gone.
    async fn tell(&self, told: Told) -> Result<Value> {
        let caller = Caller {
            label: Label::of(Source::user()),
            ..self.caller.clone()
        };
        let label = caller.label.clone();
        let began = Clock::instant();
        let say = async |permit: crate::gate::Permit<Told>| {
            let (told, ()) = permit.redeem();
            Performed::of(Ok(told.content), label, Spent::since(began))
        };
        let passed = self.station.gate.pass(&caller, told, say).await;
        passed.map_err(|not| not.error)?.performed.result
    }

    /// Has a model answer.
    async fn reply(&self, params: Value) -> Result<Value> {
        let Some(sampling) = &self.asks.sampling else {
            return Err(Error::new(Code::Denied, "no model is asked"));
        };
        let sample = Sample::read(&self.scrubbed(params)?)?;
        let _alone = self.replies.lock().await;
        let consults = &self.caller.known.consults;
        let may = (sample.reads(), sample.tokens);
        let models = &self.station.counsel.models;
        let price = |reads, writes| models.price(&sampling.model, (reads, writes));
        let reserved = consults.admit_sample(&self.server, sampling, may, price)?;
        let tokens = reserved.most();
        let told = self.told(
            Want::Reply,
            json!({
                "model": sampling.model, "reads": sample.reads(), "tokens": tokens, "cost": reserved.cost(),
            }),
        );
        let began = Clock::instant();
        let ask = async |permit: crate::gate::Permit<Told>| {
            let inner = Caller {
                parent: permit.seq(),
                ..self.caller.clone()
            };
            let _ = permit.redeem();
            let mut reserved = reserved;
            let policy = self.station.gate.policy();
            let key = self.station.gate.journal().key();
            let inbound = (policy.inbound, &policy.flows.classes);
            let marks = Marks::of_run(inbound, key, &inner.run);
            let prompt = sample.prompt((&inner.label, &marks), tokens);
            reserved.asked();
            let replied = self.station.counsel.models.sample(Sampling {
                station: &self.station,
                tasks: &self.tasks,
                caller: &inner,
                model: &sampling.model,
                prompt: &prompt,
            });
            let replied = replied.await;
            let usage = match &replied {
                Ok(reply) => reply.usage,
                Err(error) => error.spent().unwrap_or_default(),
            };
            reserved.settled(usage, replied.is_ok());
            let spent = Spent {
                usage,
                ..Spent::since(began)
            };
            Performed::of(replied, inner.label, spent)
        };
        let passed = self.station.gate.pass(&self.caller, told, ask).await;
        let mut reply = passed.map_err(|not| not.error)?.performed.result?;
        reply.text = self.station.scrub.clean(&reply.text);
        Ok(sampled(&reply, &sampling.model))
    }
}
