//! `fetch`: one request to the outside.

use crate::guests::bindings::lazaret::plugin::fetch::{Host, Request, Response};
use crate::guests::bindings::lazaret::plugin::types::Refusal;
use crate::guests::guest::Inside;
use crate::rules::fetch::Fetch;

impl Host for Inside {
    async fn send(&mut self, request: Request) -> Result<Response, Refusal> {
        let fetch = move || {
            let (headers, body) = (request.headers, request.body);
            Fetch::new(&request.method, &request.url, headers, body)
        };
        let answer = self
            .hand_over(fetch, |station, permit, deadline| async move {
                station.egress.send(permit, deadline).await
            })
            .await?;
        Ok(Response {
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
        })
    }
}
