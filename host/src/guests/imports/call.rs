//! `call`: another tool, on the one path that every call takes.

use crate::guests::bindings::lazaret::plugin::call::Host;
use crate::guests::bindings::lazaret::plugin::types::Refusal;
use crate::guests::dispatch::{Request, dispatch, read_args};
use crate::guests::guest::Inside;
use crate::rules::caller::Caller;
use crate::words::bound::Bound;
use crate::words::event::Read;

impl Host for Inside {
    async fn invoke(&mut self, tool: String, args: String) -> Result<String, Refusal> {
        let visit = self.visit()?;
        let mut caller: Caller = visit.wisher().caller(true);
        caller.depth += 1;
        if !caller.budget.take_call() {
            let most = visit.station.gate.policy().bounds.calls;
            let error = Bound::Calls.passed("this call", u64::from(most));
            return Err(visit.refuse(&error));
        }
        visit.trail.calls += 1;
        let (station, tasks) = (visit.station.clone(), visit.tasks.clone());
        let args = read_args(&station, &caller, (&tool, &args));
        let args = args.map_err(|error| visit.refuse(&error))?;
        let called = (tool.as_str(), args.json());
        let awaited = station
            .catalog
            .behind(called, &caller, station.gate.policy());
        let under_way = visit.heard.under_way(Some(awaited));
        let knew = caller.label.clone();
        let request = Request { tool, args };
        let inner = tasks.clone();
        let work = async move { Ok(dispatch(station, inner, caller, request).await) };
        let outcome = tasks.run(work).await;
        let visit = self.visit()?;
        let outcome = outcome.map_err(|error| visit.refuse(&error))?;
        // What it was told with the call is no reading of its own, but for what has come of the call again. What it was told of
        // that was read by somebody else.
        let called = visit.station.catalog.resolve(&outcome.tool, &[]).ok();
        let own = called.map(|tool| outcome.trail.label().with(tool.source()));
        under_way.ended(&Read {
            label: outcome.label.without(&knew).join(&own.unwrap_or_default()),
            ..Read::default()
        });
        match outcome.result {
            Ok(value) => {
                visit.heard.granted();
                Ok(value.to_string())
            }
            Err(error) => Err(visit.refuse(&error)),
        }
    }
}
