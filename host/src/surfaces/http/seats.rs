//! Seats: so many connections at once, and room for whoever has the token, however many sit there without.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::words::clock::Clock;

/// How a connection stands with the door; it only ever rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stand {
    /// It has asked nothing yet.
    Silent,
    /// It has asked, and brought no token.
    Heard,
    /// It has brought the token once, and keeps its seat.
    Admitted,
    /// It has no seat any more.
    Gone,
}

/// A connection, as the door and whoever gives out seats know it. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Standing(watch::Sender<Stand>);

impl Standing {
    fn new() -> Self {
        Self(watch::Sender::new(Stand::Silent))
    }

    /// It asks something, and has brought the token or not. Says whether its seat is still its own.
    pub(super) fn hears(&self, has_token: bool) -> bool {
        self.rises(match has_token {
            true => Stand::Admitted,
            false => Stand::Heard,
        });
        *self.0.borrow() != Stand::Gone
    }

    /// Returns once its seat is somebody else's, or it has asked nothing for so long.
    pub(super) async fn leaves(&self, silent: Duration) {
        let mut stand = self.0.subscribe();
        let asks = stand.wait_for(|stand| *stand != Stand::Silent);
        let asks = tokio::time::timeout(silent, asks).await.is_ok();
        if asks {
            // The sender lives as long as this does.
            let _ = stand.wait_for(|stand| *stand == Stand::Gone).await;
        }
    }

    /// Returns once there is no seat to be had from it: it was admitted, or has gone.
    async fn settles(&self) {
        let mut stand = self.0.subscribe();
        let _ = stand.wait_for(|stand| *stand >= Stand::Admitted).await;
    }

    fn is_settled(&self) -> bool {
        *self.0.borrow() >= Stand::Admitted
    }

    /// Its seat is somebody else's, unless it was admitted; says whether it is.
    fn unseat(&self) -> bool {
        self.0.send_if_modified(|stand| {
            let loses = *stand < Stand::Admitted;
            if loses {
                *stand = Stand::Gone;
            }
            loses
        })
    }

    fn rises(&self, to: Stand) {
        self.0.send_if_modified(|stand| {
            let rises = *stand < to;
            if rises {
                *stand = to;
            }
            rises
        });
    }
}

/// The seat of one connection, for as long as it has one.
#[derive(Debug)]
pub(super) struct Seat {
    standing: Standing,
    _place: OwnedSemaphorePermit,
}

impl Seat {
    pub(super) fn standing(&self) -> &Standing {
        &self.standing
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.standing.rises(Stand::Gone);
    }
}

/// All seats.
#[derive(Debug)]
pub(super) struct Seats {
    free: Arc<Semaphore>,
    most: usize,
    turn: Duration,
    /// Whoever has come without the token as far as is known, and when: the first of them first.
    strangers: VecDeque<(Instant, Standing)>,
}

impl Seats {
    /// So many, each of which a stranger has for itself for one `turn`.
    pub(super) fn new(most: usize, turn: Duration) -> Self {
        Self {
            free: Arc::new(Semaphore::new(most)),
            most,
            turn,
            strangers: VecDeque::new(),
        }
    }

    /// A seat for one more: a free one, or that of the stranger who has had one longest. Nothing if there are no more
    /// seats at all.
    pub(super) async fn take(&mut self) -> Option<Seat> {
        let mut place = std::pin::pin!(self.free.clone().acquire_owned());
        let place = tokio::select! {
            biased;
            place = place.as_mut() => place,
            // Whoever has lost it is about to go.
            () = self.unseats() => place.await,
        };
        let standing = Standing::new();
        self.remember(standing.clone());
        Some(Seat {
            standing,
            _place: place.ok()?,
        })
    }

    /// Takes the seat of the first stranger whose turn is over; never returns where all who sit have brought the token.
    async fn unseats(&mut self) {
        while let Some((came, stranger)) = self.strangers.front() {
            let left = self.turn.saturating_sub(came.elapsed());
            let settled = tokio::time::timeout(left, stranger.settles()).await.is_ok();
            let unseated = !settled && stranger.unseat();
            self.strangers.pop_front();
            if unseated {
                return;
            }
        }
        std::future::pending().await
    }

    /// Who has settled is forgotten now and then: so many are looked at only once as many have come.
    fn remember(&mut self, stranger: Standing) {
        if self.strangers.len() > self.most.saturating_mul(2) {
            self.strangers.retain(|(_, known)| !known.is_settled());
        }
        self.strangers.push_back((Clock::instant(), stranger));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn seats(most: usize) -> Seats {
        Seats::new(most, Duration::ZERO)
    }

    /// Ends as a connection does that has lost its seat.
    async fn goes(seat: Seat) {
        seat.standing().leaves(Duration::MAX).await;
    }

    #[tokio::test]
    async fn whoever_was_longest_there_without_the_token_makes_room() {
        let mut seats = seats(3);
        let known = seats.take().await.expect("a seat");
        assert!(known.standing().hears(true));
        let first = seats.take().await.expect("a seat");
        let second = seats.take().await.expect("a seat");
        // Asking without the token is no reason to stay.
        assert!(first.standing().hears(false));
        let said = first.standing().clone();
        let (third, ()) = tokio::join!(seats.take(), goes(first));
        let third = third.expect("a seat");
        // Nothing begins for it any more, with the token or without.
        assert!(!said.hears(false) && !said.hears(true));
        for seat in [&known, &second, &third] {
            assert!(seat.standing().hears(false));
        }
    }

    #[tokio::test]
    async fn whoever_has_brought_the_token_makes_room_for_nobody() {
        let mut seats = seats(2);
        let one = seats.take().await.expect("a seat");
        let other = seats.take().await.expect("a seat");
        assert!(one.standing().hears(true) && other.standing().hears(true));
        // What it says afterwards changes nothing.
        assert!(one.standing().hears(false));
        assert!(seats.take().now_or_never().is_none());
        assert!(one.standing().hears(true) && other.standing().hears(true));
        drop(other);
        assert!(seats.take().await.is_some());
    }

    #[tokio::test]
    async fn whoever_has_just_come_has_its_turn() {
        let mut seats = Seats::new(1, Duration::from_secs(3_600));
        let one = seats.take().await.expect("a seat");
        assert!(seats.take().now_or_never().is_none());
        assert!(one.standing().hears(false));
        drop(one);
        assert!(seats.take().await.is_some());
    }

    #[tokio::test]
    async fn those_who_have_gone_are_forgotten() {
        let mut seats = seats(4);
        for _ in 0..100 {
            let seat = seats.take().await.expect("a seat");
            drop(seat);
            assert!(seats.strangers.len() <= 9, "{}", seats.strangers.len());
        }
    }
}
