//! Work that wakes itself while it is polled, such as a connection whose request is read as it is answered: it goes on where
//! it is. The runtime would put it into its queue and wake another thread to look there, which takes as long as a small
//! request, and takes the next one to that thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// How often in a row it is polled; then others have their turn.
const ROUNDS: u32 = 8;

/// Nobody polls it, and nobody has woken it since.
const RESTS: u8 = 0;
/// It was woken.
const WOKEN: u8 = 1;
/// It is being polled.
const POLLED: u8 = 2;

/// The same work, which goes on at once where it has woken itself.
pub(super) struct OnTheSpot<W> {
    work: Pin<Box<W>>,
    own: Arc<Own>,
    waker: Waker,
}

/// Who is woken.
struct Own {
    state: AtomicU8,
    outer: AtomicWaker,
}

impl Wake for Own {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Whoever polls it looks again, and whoever woke it before has said so.
        if self.state.fetch_or(WOKEN, Ordering::AcqRel) == RESTS {
            self.outer.wake();
        }
    }
}

impl<W: Future> OnTheSpot<W> {
    pub(super) fn new(work: W) -> Self {
        let own = Arc::new(Own {
            state: AtomicU8::new(RESTS),
            outer: AtomicWaker::new(),
        });
        Self {
            work: Box::pin(work),
            waker: own.clone().into(),
            own,
        }
    }
}

impl<W: Future> Future for OnTheSpot<W> {
    type Output = W::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<W::Output> {
        let this = &mut *self;
        this.own.outer.register(context.waker());
        for _ in 0..ROUNDS {
            // Whatever was said by whoever woke it is seen now.
            this.own.state.swap(POLLED, Ordering::AcqRel);
            let done = this
                .work
                .as_mut()
                .poll(&mut Context::from_waker(&this.waker));
            if done.is_ready() {
                return done;
            }
            let state = &this.own.state;
            let rests = state.compare_exchange(POLLED, RESTS, Ordering::AcqRel, Ordering::Acquire);
            if rests.is_ok() {
                return Poll::Pending;
            }
        }
        this.own.state.store(WOKEN, Ordering::Release);
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Polls it, with how often it has woken whoever polls it by then.
    fn polled<W: Future>(work: &mut OnTheSpot<W>, woken: &Arc<Counted>) -> (bool, usize) {
        let waker = woken.clone().into();
        let done = Pin::new(work).poll(&mut Context::from_waker(&waker));
        (done.is_ready(), woken.0.load(Ordering::SeqCst))
    }

    /// Work that wakes itself so often.
    fn restless(times: u32) -> impl Future<Output = ()> {
        let mut left = times;
        std::future::poll_fn(move |context| match left.checked_sub(1) {
            Some(less) => {
                left = less;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            None => Poll::Ready(()),
        })
    }

    #[test]
    fn what_wakes_itself_goes_on_at_once() {
        let woken = Arc::default();
        let mut work = OnTheSpot::new(restless(ROUNDS - 1));
        assert_eq!(polled(&mut work, &woken), (true, 0));
    }

    #[test]
    fn what_never_rests_lets_others_have_their_turn() {
        let woken = Arc::default();
        let mut work = OnTheSpot::new(restless(ROUNDS));
        assert_eq!(polled(&mut work, &woken), (false, 1));
        assert_eq!(polled(&mut work, &woken), (true, 1));
    }

    #[test]
    fn whoever_wakes_it_later_is_heard_and_once() {
        let kept: Arc<Mutex<Option<Waker>>> = Arc::default();
        let keeps = kept.clone();
        let mut work = OnTheSpot::new(std::future::poll_fn(move |context| -> Poll<()> {
            *keeps.lock().unwrap() = Some(context.waker().clone());
            Poll::Pending
        }));
        let woken = Arc::default();
        for wakes in 1..=2 {
            assert_eq!(polled(&mut work, &woken), (false, wakes - 1));
            let waker = kept.lock().unwrap().take().unwrap();
            waker.wake_by_ref();
            waker.wake();
            assert_eq!(woken.0.load(Ordering::SeqCst), wakes);
        }
    }
}
