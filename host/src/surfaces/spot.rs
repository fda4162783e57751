//! Work that is done on the spot, where the runtime would wake another thread for it, which takes as long as a small request.
//!
//! What wakes itself while it is polled, such as a connection whose request is read as it is answered, goes on where it is:
//! [`OnTheSpot`]. What is asked for on a thread that one client has for itself is begun there, and goes on elsewhere only if
//! that does not do: [`begun_here`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use tokio::runtime::Handle;

use crate::guests::tasks;

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

/// Does work of a runtime of many threads on the one thread of another: as far as it goes at once, which is most often to its
/// end; and then in its own runtime, so that whatever takes longer keeps nobody waiting here.
pub(super) async fn begun_here<T: Send + 'static>(
    own: &Handle,
    mut work: BoxFuture<'static, T>,
) -> T {
    if Handle::current().id() == own.id() {
        return work.await;
    }
    let begun = std::future::poll_fn(|context| {
        // What it begins belongs to its own runtime.
        let _own = own.enter();
        Poll::Ready(work.as_mut().poll(context))
    });
    match begun.await {
        Poll::Ready(done) => done,
        Poll::Pending => match tasks::begin_in(own, work).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Its runtime has ended, and with it the process.
                Err(_) => std::future::pending().await,
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;

    use futures_util::FutureExt;

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

    /// The thread that one client has for itself, and what it does there.
    fn alone<T>(work: impl Future<Output = T>) -> T {
        let alone = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        alone.block_on(work)
    }

    #[test]
    fn what_is_done_at_once_is_done_here_and_what_waits_elsewhere() {
        let own = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let here = std::thread::current().id();
        let now = begun_here(own.handle(), async { std::thread::current().id() }.boxed());
        assert_eq!(alone(now), here);
        let (say, said) = tokio::sync::oneshot::channel();
        let waits = async {
            let began = std::thread::current().id();
            said.await.unwrap();
            (began, std::thread::current().id())
        };
        let waits = begun_here(own.handle(), waits.boxed());
        let (began, went_on) = alone(async {
            let mut waits = std::pin::pin!(waits);
            assert!(futures_util::poll!(&mut waits).is_pending());
            say.send(()).unwrap();
            waits.await
        });
        assert_eq!(began, here);
        assert_ne!(went_on, here);
    }

    #[test]
    fn what_it_begins_is_its_own_runtimes() {
        let own = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let id = begun_here(own.handle(), async { Handle::current().id() }.boxed());
        assert_eq!(alone(id), own.handle().id());
    }
}
