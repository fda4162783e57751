//! Names: where a host's name leads, looked up once, and every address of the answer checked.
//!
//! The connection goes to the addresses that were checked and no others; there is no second look-up. What a refusal
//! tells a guest, and when, does not depend on what was found: text and code are the same ([`Reason::error`]), and
//! every refusal waits for the next multiple of a fixed time. That hides whether a name of the inner network exists
//! from the tool that asks. It does not hide it from whoever answers the look-up, nor that a look-up took longer than
//! one such time.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::rules::fetch::reason::Reason;
use crate::rules::ranges::{Range, range};
use crate::words::clock::Clock;
use crate::words::error::Error;
use crate::words::limits::LOOKUP_TICK_MS;
use crate::words::lock::lock;

/// Answers by name, first to last.
type Turns = HashMap<String, VecDeque<Vec<IpAddr>>>;

/// Where names are looked up.
#[derive(Clone, Debug, Default)]
pub enum Names {
    /// As the machine does.
    #[default]
    System,
    /// In this table and nowhere else: for tests, and for a host that may reach only these.
    Table(Arc<HashMap<String, Vec<IpAddr>>>),
    /// In this table, each look-up getting the next answer and the last one staying: a name server that lies.
    Turns(Arc<Mutex<Turns>>),
    /// In this table, where each look-up takes its time: for tests of what that time says.
    Slow(Arc<Slow>),
}

/// A table in which a look-up takes as long as it says, by a time that passes only where somebody waits.
#[derive(Debug, Default)]
pub struct Slow {
    table: HashMap<String, (Duration, Vec<IpAddr>)>,
    ends: Mutex<Vec<Duration>>,
}

impl Slow {
    /// Each name with how long it is looked up, and where it leads.
    #[must_use]
    pub fn of(table: HashMap<String, (Duration, Vec<IpAddr>)>) -> Self {
        let ends = Mutex::default();
        Self { table, ends }
    }

    /// When whoever asked was answered, since each look-up began, in their order.
    #[must_use]
    pub fn ends(&self) -> Vec<Duration> {
        lock(&self.ends).clone()
    }

    fn took(&self, name: &str) -> Duration {
        self.table
            .get(name)
            .map_or(Duration::ZERO, |(took, _)| *took)
    }

    fn ended(&self, after: Duration) {
        lock(&self.ends).push(after);
    }
}

impl Names {
    #[expect(
        clippy::disallowed_methods,
        reason = "egress is where names are looked up, once"
    )]
    async fn look_up(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        match self {
            Self::System => {
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            }
            Self::Table(table) => Ok(table.get(name).cloned().unwrap_or_default()),
            Self::Turns(turns) => {
                let mut turns = lock(turns);
                let Some(answers) = turns.get_mut(name) else {
                    return Ok(Vec::new());
                };
                let answer = answers.pop_front().unwrap_or_default();
                if answers.is_empty() {
                    answers.push_back(answer.clone());
                }
                Ok(answer)
            }
            Self::Slow(slow) => {
                let found = slow.table.get(name);
                Ok(found.map_or_else(Vec::new, |(_, found)| found.clone()))
            }
        }
    }
}

/// Whether a connection may go to `address`.
fn check_address(address: IpAddr, private: bool) -> Result<(), Refused> {
    let refused = |reason, what: String| Err(Refused { reason, what });
    match range(address) {
        Range::Public => Ok(()),
        Range::Special(_) if private => Ok(()),
        Range::Special(name) => {
            let what = format!("{address} is not on the public internet: {name}");
            refused(Reason::PrivateAddress, what)
        }
        Range::Metadata => {
            let what =
                format!("{address} is where clouds have metadata services, which no line opens");
            refused(Reason::MetadataAddress, what)
        }
    }
}

/// Resolves a name and refuses the whole answer if one of its addresses may not be reached: a mixed answer is an
/// attack.
pub(super) struct Checked {
    pub(super) names: Names,
    pub(super) private: bool,
}

/// A refusal as it travels through the HTTP library.
#[derive(Debug)]
pub(super) struct Refused {
    reason: Reason,
    what: String,
}

impl Refused {
    pub(super) fn error(&self) -> Error {
        self.reason.error(&self.what)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.what)
    }
}

impl std::error::Error for Refused {}

impl Checked {
    async fn find(&self, name: &str) -> Result<Vec<SocketAddr>, Refused> {
        let none = |what: String| Refused {
            reason: Reason::NoSuchHost,
            what,
        };
        let found = self.names.look_up(name).await;
        let found = found.map_err(|error| none(format!("no connection to the server: {error}")))?;
        if found.is_empty() {
            return Err(none("no connection to the server: no such host".to_owned()));
        }
        for address in &found {
            check_address(*address, self.private)?;
        }
        Ok(found
            .into_iter()
            .map(|address| SocketAddr::new(address, 0))
            .collect())
    }
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let checked = Self {
            names: self.names.clone(),
            private: self.private,
        };
        Box::pin(async move {
            let finding = checked.find(name.as_str());
            let found = match &checked.names {
                Names::System => at_tick((TICK, &Machine::now()), finding).await?,
                Names::Slow(slow) => {
                    let time = Still::default();
                    let took = slow.took(name.as_str());
                    let finding = async {
                        time.wait(took).await;
                        finding.await
                    };
                    let found = at_tick((TICK, &time), finding).await;
                    slow.ended(time.passed());
                    found?
                }
                // How long that takes says nothing: a table is as fast for what is not in it.
                Names::Table(_) | Names::Turns(_) => finding.await?,
            };
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

/// What a refusal waits for.
const TICK: Duration = Duration::from_millis(LOOKUP_TICK_MS);

/// The time that passes since a look-up began.
trait Passing {
    /// How much has passed.
    fn passed(&self) -> Duration;

    /// Waits until so much more has.
    async fn wait(&self, time: Duration);
}

/// That of the machine.
struct Machine(Instant);

impl Machine {
    fn now() -> Self {
        Self(Clock::instant())
    }
}

impl Passing for Machine {
    fn passed(&self) -> Duration {
        self.0.elapsed()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "refusals wait, so that their time says nothing"
    )]
    async fn wait(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// A time that passes only where somebody waits.
#[derive(Default)]
struct Still(Mutex<Duration>);

impl Passing for Still {
    fn passed(&self) -> Duration {
        *lock(&self.0)
    }

    async fn wait(&self, time: Duration) {
        *lock(&self.0) += time;
    }
}

/// Answers with what succeeds at once, and with what fails at the next multiple of `tick` since the beginning.
async fn at_tick<T, E>(
    (tick, time): (Duration, &impl Passing),
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let outcome = work.await;
    if outcome.is_err() {
        time.wait(rest_of_tick(time.passed(), tick)).await;
    }
    outcome
}

/// From `took` to the next multiple of `tick`.
fn rest_of_tick(took: Duration, tick: Duration) -> Duration {
    let (took, tick) = (took.as_nanos(), tick.as_nanos().max(1));
    let rest = tick - took % tick;
    Duration::from_nanos(u64::try_from(rest).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_end_at_multiples_of_the_tick() {
        let ms = Duration::from_millis;
        for (took, rest) in [(0, 50), (1, 49), (49, 1), (50, 50), (51, 49), (120, 30)] {
            assert_eq!(rest_of_tick(ms(took), ms(50)), ms(rest), "{took}");
        }
    }

    #[tokio::test]
    async fn only_what_is_refused_waits() {
        let (tick, time) = (Duration::from_millis(40), Still::default());
        assert_eq!(
            at_tick((tick, &time), async { Err::<(), _>(1) }).await,
            Err(1)
        );
        assert_eq!(time.passed(), tick);
        let (never, time) = (Duration::from_secs(3_600), Still::default());
        let found = at_tick((never, &time), async { Ok::<_, ()>(1) }).await;
        assert_eq!((found, time.passed()), (Ok(1), Duration::ZERO));
    }

    /// Of a look-up that takes so long the tool learns that it took so many ticks, and nothing of what was found.
    #[tokio::test]
    async fn refusals_of_every_kind_are_told_alike_and_at_the_same_tick() {
        let of = |address: &str| vec![address.parse().unwrap()];
        let table = HashMap::from([
            ("intra.test".to_owned(), of("10.0.0.1")),
            ("cloud.test".to_owned(), of("169.254.169.254")),
            ("loop.test".to_owned(), of("127.0.0.1")),
        ]);
        let names = Names::Table(Arc::new(table));
        for (took, end) in [(0, 1), (30, 1), (120, 1), (1_020, 2)] {
            let mut told = Vec::new();
            for name in ["nobody.test", "intra.test", "cloud.test", "loop.test"] {
                let checked = Checked {
                    names: names.clone(),
                    private: false,
                };
                let time = Still::default();
                let finding = async {
                    time.wait(Duration::from_millis(took)).await;
                    checked.find(name).await
                };
                let refused = at_tick((TICK, &time), finding).await.unwrap_err();
                let error = refused.error();
                assert_eq!(time.passed(), end * TICK, "{name} after {took} ms");
                let heard = error.for_guests();
                told.push((heard.code(), heard.message().to_owned()));
            }
            told.dedup();
            assert_eq!(told.len(), 1, "{told:?}");
        }
    }

    #[tokio::test]
    async fn one_bad_address_refuses_the_whole_answer() {
        let check = async |addresses: &[&str], private, reason: Option<Reason>| {
            let addresses = addresses.iter().map(|one| one.parse().unwrap()).collect();
            let table = HashMap::from([("a.test".to_owned(), addresses)]);
            let names = Names::Table(Arc::new(table));
            let found = Checked { names, private }.find("a.test").await;
            assert_eq!(found.err().map(|refused| refused.reason), reason);
        };
        check(&["93.184.216.34"], false, None).await;
        check(
            &["93.184.216.34", "10.0.0.1"],
            false,
            Some(Reason::PrivateAddress),
        )
        .await;
        check(&["10.0.0.1"], true, None).await;
        check(
            &["10.0.0.1", "169.254.169.254"],
            true,
            Some(Reason::MetadataAddress),
        )
        .await;
        check(&[], true, Some(Reason::NoSuchHost)).await;
    }
}
