//! Reads a whole table by token ranges, several at a time.

use std::sync::Arc;

use parking_lot::Mutex;
use scylla::response::query_result::QueryRowsResult;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::statement::Table;
use super::{Names, flight};
use crate::store::cassandra::{ClusterError, Purpose};

/// Pieces of the ring. Enough to show progress and to share the work among nodes, but few enough that an empty table is
/// read quickly.
const PIECES: usize = 128;

/// Pieces read at the same time.
pub(super) const AT_ONCE: usize = 8;

/// Rows per page.
const PAGE: i32 = 5000;

/// Progress of a read of the whole ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Pieces read.
    pub done: usize,
    /// Pieces in all.
    pub total: usize,
    /// Rows seen so far.
    pub rows: u64,
}

/// Tokens after the first and up to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece(pub(super) i64, pub(super) i64);

/// The ring as it is read.
pub(super) fn ring_pieces() -> Vec<Piece> {
    pieces(PIECES)
}

/// The ring in this many equal pieces. No name has the smallest token.
pub(super) fn pieces(count: usize) -> Vec<Piece> {
    let bound = |nth: usize| {
        let tokens = (1_i128 << 64) * nth as i128 / count as i128;
        i64::try_from(i128::from(i64::MIN) + tokens).unwrap_or(i64::MAX)
    };
    (0..count).map(|nth| Piece(bound(nth), bound(nth + 1))).collect()
}

impl Names {
    /// Reads all pieces of the ring with `read` and passes the results to `visit`, on this thread.
    pub(super) async fn ring<R, F, W>(
        &self,
        read: F,
        progress: &mut dyn FnMut(Progress),
        mut visit: impl FnMut(R) -> Result<u64, ClusterError>,
    ) -> Result<(), ClusterError>
    where
        R: Send + 'static,
        F: Fn(Names, Piece) -> W + Clone + Send + 'static,
        W: Future<Output = Result<R, ClusterError>> + Send + 'static,
    {
        let pieces = ring_pieces();
        let mut state = Progress { done: 0, total: pieces.len(), rows: 0 };
        progress(state);
        let work = Arc::new(Mutex::new(pieces.into_iter()));
        // Room for one: a slow visitor slows down the reading.
        let (sender, mut receiver) = mpsc::channel(1);
        let mut workers = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (names, work, sender, read) = (self.clone(), work.clone(), sender.clone(), read.clone());
            let worker: flight::Worker<()> = Box::pin(async move {
                loop {
                    let next = work.lock().next();
                    let Some(piece) = next else { return };
                    if sender.send(read(names.clone(), piece).await).await.is_err() {
                        return;
                    }
                }
            });
            workers.spawn(worker);
        }
        drop(sender);
        while let Some(read) = receiver.recv().await {
            state.rows += visit(read?)?;
            state.done += 1;
            progress(state);
        }
        while let Some(worker) = workers.join_next().await {
            worker.map_err(flight::lost)?;
        }
        Ok(())
    }

    /// Visits the pages of some columns of a table in one piece.
    pub(super) async fn scan(
        &self,
        table: Table,
        columns: &str,
        piece: Piece,
        mut visit: impl FnMut(&QueryRowsResult) -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        let text = self.statements().scan(table, columns);
        let mut statement = (*self.shared.cluster.prepare(Purpose::Background, &text).await?).clone();
        statement.set_page_size(PAGE);
        self.pages(&statement, &(piece.0, piece.1), |page| visit(&page).map(|()| true)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_ring() {
        for count in [1, 3, PIECES] {
            let pieces = pieces(count);
            assert_eq!((pieces[0].0, pieces[count - 1].1), (i64::MIN, i64::MAX));
            assert!(pieces.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].0 < pair[0].1));
        }
    }
}
