//! How much memory the evidence of all looks at pull requests may take at a time, whatever was uploaded.
//!
//! A look is free to hold [`LIGHT`] bytes, which is more than nearly all need. One that needs more holds one of
//! [`HEAVY_LOOKS`] permits from then on until it ends, and others wait for it; what one heavy look holds is bounded by
//! the limits of one head's evidence ([`artifacts`](crate::github::observe::artifacts)). A look holds at most one permit, also while it
//! looks at other pull requests of the same commit, and asks for it before it holds anything that others wait for. So
//! no two looks wait for each other, and those with little evidence do not wait at all.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

/// Bytes of evidence that each look may hold: 32 looks at a time are 64 MiB.
const LIGHT: usize = 2 << 20;
/// Looks that may hold more at a time. One holds at most the evidence of a head, of its base and of one other pull
/// request (16 MiB each), three archives (8 MiB each) and one unpacked document (16 MiB): 88 MiB.
const HEAVY_LOOKS: usize = 2;

static HEAVY: Semaphore = Semaphore::const_new(HEAVY_LOOKS);

tokio::task_local! {
    static SHARE: Arc<Share>;
}

/// What one look uses of the process's memory for evidence.
#[derive(Default)]
struct Share {
    permit: OnceCell<SemaphorePermit<'static>>,
    held: AtomicUsize,
}

/// Runs a look with a share of its own. All that it reads must be dropped by its end.
pub(in crate::github) async fn shared<T>(look: impl Future<Output = T>) -> T {
    SHARE.scope(Arc::default(), look).await
}

/// Waits until the look that asks may hold so many bytes more. Outside of a look, in a process of one turn, nothing is
/// shared with anybody.
pub(in crate::github) async fn room_for(bytes: usize) {
    let Ok(share) = SHARE.try_with(Arc::clone) else {
        return;
    };
    if share
        .held
        .fetch_add(bytes, Ordering::Relaxed)
        .saturating_add(bytes)
        > LIGHT
    {
        // The semaphore is never closed.
        share.permit.get_or_try_init(|| HEAVY.acquire()).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, future::join, pin_mut};

    use super::*;

    #[tokio::test]
    async fn heavy_looks_wait_for_each_other_and_light_ones_for_nobody() {
        let ended: [Semaphore; HEAVY_LOOKS] = std::array::from_fn(|_| Semaphore::new(0));
        let heavy = |ended| {
            shared(async move {
                room_for(LIGHT).await;
                room_for(1).await;
                // The same look asks again, as for its base, and for two at a time.
                join(room_for(16 << 20), room_for(16 << 20)).await;
                let _: Result<_, _> = Semaphore::acquire(ended).await;
            })
        };
        let [one, two] = &ended;
        let (first, second, third) = (heavy(one), heavy(two), shared(room_for(LIGHT + 1)));
        pin_mut!(first, second, third);
        assert!(
            first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none()
        );
        assert!(
            third.as_mut().now_or_never().is_none(),
            "both permits are held"
        );
        assert!(
            shared(room_for(LIGHT)).now_or_never().is_some(),
            "a light look goes on"
        );
        one.add_permits(1);
        first.await;
        third.await;
        two.add_permits(1);
        second.await;
    }
}
