//! Which request goes where. Every route of the server stands here once, and each of them in the document of the API.

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware;
use axum::routing::{MethodRouter, any, get, post};

use super::answer::{Answered, Failed, ok};
use super::site::Site;
use super::{agents, chat, console, door, events, openapi, questions, runs, scripts, tools};
use crate::surfaces::mcp::http::Clients;
use crate::words::error::Error;
use crate::words::id::shown;

/// A route: how and where it is asked, and what it does.
type Route = (&'static str, &'static str, MethodRouter<Site>);

fn routes() -> Vec<Route> {
    vec![
        ("get", "/", get(console::page)),
        ("get", "/console/{part}", get(console::part)),
        ("get", "/healthz", get(health)),
        ("get", "/openapi.json", get(openapi::document)),
        ("get", "/v1/tools", get(tools::list)),
        ("get", "/v1/tools/{name}", get(tools::one)),
        ("post", "/v1/tools/{name}/call", post(tools::call)),
        ("get", "/v1/agents", get(agents::list)),
        ("get", "/v1/runs", get(runs::list)),
        ("post", "/v1/runs", post(runs::begin)),
        ("get", "/v1/runs/{run}", get(runs::one)),
        ("get", "/v1/runs/{run}/flow", get(runs::flow)),
        ("post", "/v1/runs/{run}/cancel", post(runs::cancel)),
        ("post", "/v1/runs/{run}/resume", post(runs::resume)),
        ("get", "/v1/runs/{run}/events", get(events::events)),
        ("post", "/v1/scripts", post(scripts::run)),
        ("get", "/v1/questions", get(questions::list)),
        ("get", "/v1/questions/{question}", get(questions::one)),
        ("post", "/v1/questions/{question}", post(questions::answer)),
        ("post", "/v1/chat/completions", post(chat::complete)),
        ("get", "/v1/models", get(chat::models)),
        ("get", "/v1/models/{model}", get(chat::one)),
    ]
}

/// Where clients of MCP come.
const MCP: &str = "/mcp";

/// The whole of the server, behind its door.
pub(super) fn router(site: &Site, clients: &Clients) -> Router {
    let mut router = Router::new();
    for (_, path, methods) in routes() {
        router = router.route(path, methods);
    }
    behind_door(router, (site, clients))
}

/// Clients of MCP alone, behind the same door.
pub(super) fn router_of_clients(site: &Site, clients: &Clients) -> Router {
    behind_door(Router::new(), (site, clients))
}

fn behind_door(router: Router<Site>, (site, clients): (&Site, &Clients)) -> Router {
    let clients = clients.clone();
    let mcp = move |request: Request| async move { clients.answer(request).await };
    router
        .route(MCP, any(mcp))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(site.clone(), door::pass))
        .with_state(site.clone())
}

async fn health() -> Answered {
    let version = env!("CARGO_PKG_VERSION");
    ok(&serde_json::json!({"ok": true, "version": version}))
}

async fn unknown() -> Failed {
    Error::not_found("such address")
        .hint("`GET /openapi.json` lists what there is")
        .into()
}

/// Which ways there are stands in `allow`, which the router adds.
async fn wrong_method(method: Method) -> Failed {
    let what = format!(
        "this address is not asked with `{}`",
        shown(method.as_str())
    );
    let error = Error::bad_input(what).hint("`GET /openapi.json` lists what there is");
    Failed::from(error).status(StatusCode::METHOD_NOT_ALLOWED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Each route is in the document, and each operation of the document is a route.
    #[test]
    fn the_document_has_every_route_and_no_other() {
        let routes: BTreeSet<(String, String)> = routes()
            .iter()
            .map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned()))
            .collect();
        let document = openapi::described();
        let paths = document["paths"].as_object().expect("paths");
        let told = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods").keys();
            methods.map(move |method| (method.clone(), path.clone()))
        });
        assert_eq!(told.collect::<BTreeSet<_>>(), routes);
    }
}
