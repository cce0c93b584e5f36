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
    let most = items.len() / worth_a_thread.max(1);
    // Asking how many threads run at once takes longer than a little work.
    let threads = if most < 2 { 1 } else { thread::available_parallelism().map_or(1, NonZero::get).min(most) };
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    // Threads take items one by one, because some take much longer.
    let take = || {
        let place = next.fetch_add(1, Ordering::Relaxed);
        items.get(place).map(|item| (place, item))
    };
    let work_on = || {
        let mut own = Vec::new();
        while let Some((place, item)) = take() {
            own.push((place, work(item)));
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
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
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    in_order(done, |(place, _)| *place).into_iter().map(|(_, result)| result).collect()
}

/// Sorts items by a number of each; equal ones keep their order. The compiler writes a sort for each type of items, and this
/// one serves all.
pub(crate) fn in_order<T>(items: Vec<T>, number: fn(&T) -> usize) -> Vec<T> {
    let mut order: Vec<(usize, usize)> = items.iter().enumerate().map(|(at, item)| (number(item), at)).collect();
    order.sort_unstable();
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.into_iter().filter_map(|(_, at)| items.get_mut(at)?.take()).collect()
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
