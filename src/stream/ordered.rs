//! Many inputs read at once, what they give passed on in their order.
//!
//! Each worker takes the next few inputs and sends what it finds through a channel of its own; the channels are
//! emptied in the order of the inputs. They are short, so that a worker which is far ahead, or whose input gives
//! much, waits: memory does not grow with the number of inputs nor with what one of them gives.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Inputs a worker takes at a time: a small file is read in less time than a thread takes to wake,
const BATCH: usize = 16;

/// but large ones are not left to one worker.
const BATCH_SIZE: u64 = 1 << 20;

/// What waits in a channel.
const WAITING: usize = 64;

/// Passes a finding on; [`ControlFlow::Break`] when nobody wants more.
pub type Emit<'e, F> = &'e mut dyn FnMut(F) -> ControlFlow<()>;

/// Read `inputs` with `jobs` workers and give what `read` finds to `tell`, in the order of the inputs, on this
/// thread. With one job all is done here. `size` tells about how many bytes an input has.
///
/// # Errors
/// The first one of `tell`, which ends the run.
pub fn ordered<I: Send, F: Send, E>(
    jobs: usize,
    mut inputs: impl Iterator<Item = I>,
    size: impl Fn(&I) -> u64,
    read: impl Fn(I, Emit<'_, F>) + Sync,
    mut tell: impl FnMut(F) -> Result<(), E>,
) -> Result<(), E> {
    if jobs < 2 {
        return inputs.try_for_each(|input| {
            let mut told = Ok(());
            read(input, &mut |finding| {
                if told.is_ok() {
                    told = tell(finding);
                }
                if told.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            told
        });
    }
    let (work, taken) = channel::<(Vec<I>, SyncSender<F>)>();
    let taken = Mutex::new(taken);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((batch, found)) = next(&taken) {
                    let mut wanted = true;
                    for input in batch {
                        read(input, &mut |finding| {
                            wanted = wanted && found.send(finding).is_ok();
                            if wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                        });
                        if !wanted {
                            break;
                        }
                    }
                }
            });
        }
        let mut begun: VecDeque<Receiver<F>> = VecDeque::new();
        loop {
            // One batch each, and one ahead.
            while begun.len() < 2 * jobs {
                let batch = batch(&mut inputs, &size);
                if batch.is_empty() {
                    break;
                }
                let (found, findings) = sync_channel(WAITING);
                begun.push_back(findings);
                // The workers live until `work` is dropped.
                let _ = work.send((batch, found));
            }
            let Some(findings) = begun.pop_front() else { break };
            findings.into_iter().try_for_each(&mut tell)?;
        }
        drop(work);
        Ok(())
    })
}

/// What a worker takes next: some small inputs, or a large one.
fn batch<I>(inputs: &mut impl Iterator<Item = I>, size: impl Fn(&I) -> u64) -> Vec<I> {
    let mut left = BATCH_SIZE;
    let mut batch = Vec::with_capacity(BATCH);
    while left > 0
        && batch.len() < BATCH
        && let Some(input) = inputs.next()
    {
        left = left.saturating_sub(size(&input));
        batch.push(input);
    }
    batch
}

/// What a worker does next; nothing at the end.
fn next<T>(taken: &Mutex<Receiver<T>>) -> Option<T> {
    taken.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(jobs: usize, counts: &[usize]) -> Vec<(usize, usize)> {
        let mut told = Vec::new();
        let size = |&(_, count): &(usize, usize)| BATCH_SIZE / 199 * count as u64;
        let read = |(n, count): (usize, usize), emit: Emit<'_, (usize, usize)>| {
            for k in 0..count {
                // Later inputs are quicker than earlier ones.
                if n % 16 == 0 {
                    thread::yield_now();
                }
                assert!(emit((n, k)).is_continue());
            }
        };
        let end: Result<(), ()> = ordered(jobs, counts.iter().copied().enumerate(), size, read, |finding| {
            told.push(finding);
            Ok(())
        });
        end.unwrap();
        told
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn findings_come_in_the_order_of_the_inputs(counts in prop::collection::vec(0..200_usize, 0..100), jobs in 0..5_usize) {
            let expected: Vec<_> = counts.iter().enumerate().flat_map(|(n, c)| (0..*c).map(move |k| (n, k))).collect();
            prop_assert_eq!(run(jobs, &counts), expected);
        }
    }

    #[test]
    fn large_inputs_are_not_left_to_one_worker() {
        let mut inputs = [0, 1, 2, BATCH_SIZE, 3, BATCH_SIZE - 1, 1, 5].into_iter().chain([0; 20]);
        let mut next = || batch(&mut inputs, |size| *size).len();
        assert_eq!([next(), next(), next(), next(), next()], [4, 2, 16, 6, 0]);
    }

    #[test]
    fn an_error_ends_the_run_while_workers_still_send() {
        for jobs in [1, 3] {
            let mut told = 0;
            let end = ordered(
                jobs,
                0..10_000_u32,
                |_| 0,
                |n, emit| {
                    for _ in 0..1000 {
                        let _ = emit(n);
                    }
                },
                |n| {
                    told += 1;
                    if told == 2500 { Err(n) } else { Ok(()) }
                },
            );
            assert_eq!((end, told), (Err(2), 2500));
        }
    }
}
