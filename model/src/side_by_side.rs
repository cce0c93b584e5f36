use std::collections::BinaryHeap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Maps items on several threads; returns the results in order.
///
/// The number of threads, including this one, is at most the machine's parallelism, and one for each `worth_a_thread`
/// items.
///
/// ```
/// let lengths = mcp_bindgen_model::side_by_side(&["a", "bcd"], 1, |text| text.len());
/// assert_eq!(lengths, [1, 3]);
/// ```
pub fn side_by_side<T: Sync, R: Send>(items: &[T], worth_a_thread: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::default()).collect();
    each_place(items.len(), worth_a_thread, &|place| {
        if let (Some(item), Some(result)) = (items.get(place), results.get(place)) {
            let done = work(item);
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        }
    });
    results.into_iter().filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Calls a function once for each place in a list. It takes a `dyn Fn`, so that the compiler writes the code of the threads
/// once, and not for each type of items.
fn each_place(count: usize, worth_a_thread: usize, work: &(dyn Fn(usize) + Sync)) {
    let most = count / worth_a_thread.max(1);
    // Asking how many threads run at once takes longer than a little work.
    let threads = if most < 2 { 1 } else { thread::available_parallelism().map_or(1, NonZero::get).min(most) };
    let next = AtomicUsize::new(0);
    // Threads take places one by one, because some items take much longer.
    let work_on = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= count {
                return;
            }
            work(place);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // A thread that the system does not give leaves its work to the others.
            if thread::Builder::new().spawn_scoped(scope, work_on).is_err() {
                break;
            }
        }
        work_on();
    });
}

/// Sorts items by a number of each; equal ones keep their order. The compiler writes a sort for each type of items, and this
/// one serves all; a heap has less code than `sort_unstable`.
pub(crate) fn in_order<T>(items: Vec<T>, number: fn(&T) -> usize) -> Vec<T> {
    let order: BinaryHeap<(usize, usize)> = items.iter().enumerate().map(|(at, item)| (number(item), at)).collect();
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.into_sorted_vec().into_iter().filter_map(|(_, at)| items.get_mut(at)?.take()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_their_items() {
        let items: Vec<usize> = (0..500).collect();
        let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
        for worth_a_thread in [0, 1, 7, 300, 1000] {
            assert_eq!(side_by_side(&items, worth_a_thread, |item| item * 2), doubled);
        }
        assert!(side_by_side(&[] as &[u8], 1, |item| *item).is_empty());
    }
}
