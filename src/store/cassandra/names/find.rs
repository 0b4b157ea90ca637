//! The metrics and directories that match a glob, straight from the tables.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::CqlValue;

use super::plan::{Query, plan};
use super::ring::{self, Piece};
use super::statement::{Table, rows};
use super::{Names, flight, identity};
use crate::store::cassandra::{ClusterError, Purpose};
use crate::store::{Hit, StoreError};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, Cancelled, QueryError};

/// Queries of one find at the same time.
const AT_ONCE: usize = 32;

/// Most queries of one find.
const MAX_QUERIES: usize = 4096;

/// Rows per page.
const PAGE: i32 = 2000;

/// A query with many answers is split into this many pieces of the ring, so that nodes and cores share the work.
const BROAD_PIECES: usize = 4;

/// Kinds of queries kept prepared. Patterns come from outside, and could make any number of kinds.
const MAX_SHAPES: usize = 512;

/// How often a find checks whether its client is still there.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Bounds on one find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookupLimits {
    /// Most names it may return.
    pub max_hits: usize,
    /// Most rows it may read: more than hits, because the indexes cannot express every pattern.
    pub max_rows: usize,
}

/// Why a find failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// More names match than may be returned.
    #[error("`{pattern}` matches more than {limit} names; narrow it, or raise query.max_find_hits")]
    TooManyHits {
        /// The query.
        pattern: String,
        /// The limit.
        limit: usize,
    },
    /// It would have to read too many rows.
    #[error(
        "looking for `{pattern}` in Cassandra takes more than {limit} rows; begin it with more components that have no \
         wildcard; with store.cassandra.index = \"memory\", ask again when all names are loaded"
    )]
    TooManyRows {
        /// The query.
        pattern: String,
        /// The limit.
        limit: usize,
    },
    /// Its alternatives need too many queries.
    #[error(
        "`{pattern}` would need {queries} queries, more than {MAX_QUERIES}; use fewer alternatives in braces"
    )]
    TooManyQueries {
        /// The query.
        pattern: String,
        /// How many it would need.
        queries: usize,
    },
    /// It was abandoned.
    #[error("looking for `{pattern}` was given up")]
    Cancelled {
        /// The query.
        pattern: String,
        /// Why.
        cancelled: Cancelled,
    },
    /// The cluster did not answer.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl From<LookupError> for QueryError {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Cancelled { cancelled, .. } => cancelled.into(),
            LookupError::Cluster(error) => StoreError::from(error).into(),
            limit => QueryError::Limit(limit.to_string()),
        }
    }
}

/// Prepared queries by their text.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    prepared: Mutex<HashMap<String, Arc<PreparedStatement>>>,
}

/// The hits so far.
#[derive(Debug, Default)]
struct Findings {
    hits: BTreeMap<String, (bool, bool)>,
    rows: usize,
    /// Which limit was exceeded.
    full: Option<Limit>,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Hits,
    Rows,
}

/// A query to one table, or to a piece of it.
struct Question {
    table: Table,
    query: Query,
    piece: Option<Piece>,
}

/// A find in progress.
struct Search {
    glob: Glob,
    limits: LookupLimits,
    findings: Mutex<Findings>,
}

impl Search {
    /// Handles a row. False when no more are needed.
    fn take(&self, table: Table, name: &str) -> bool {
        let mut findings = self.findings.lock();
        findings.rows += 1;
        if findings.rows > self.limits.max_rows {
            findings.full.get_or_insert(Limit::Rows);
        }
        // A tagged name is in no directory.
        if findings.full.is_none() && !identity::is_tagged(name) && self.glob.matches(name) {
            let hit = match findings.hits.get_mut(name) {
                Some(hit) => hit,
                None => findings.hits.entry(name.to_owned()).or_default(),
            };
            *(if table == Table::Metrics { &mut hit.0 } else { &mut hit.1 }) = true;
            if findings.hits.len() > self.limits.max_hits {
                findings.full = Some(Limit::Hits);
            }
        }
        findings.full.is_none()
    }
}

fn limited(glob: &Glob, limits: LookupLimits, hits: Vec<Hit>) -> Result<Vec<Hit>, LookupError> {
    if hits.len() > limits.max_hits {
        return Err(LookupError::TooManyHits { pattern: glob.as_str().to_owned(), limit: limits.max_hits });
    }
    Ok(hits)
}

impl Names {
    /// The metrics and directories that match, sorted by path, each once: the same as the index in memory would return. A tagged
    /// name is found when the pattern is exactly that name.
    pub fn find(&self, glob: &Glob, limits: LookupLimits, cancel: &Cancel) -> Result<Vec<Hit>, LookupError> {
        self.find_in(&[Table::Metrics, Table::Directories], glob, limits, cancel)
    }

    /// Only the metrics that match, sorted by name.
    pub fn find_leaves(
        &self,
        glob: &Glob,
        limits: LookupLimits,
        cancel: &Cancel,
    ) -> Result<Vec<String>, LookupError> {
        let hits = self.find_in(&[Table::Metrics], glob, limits, cancel)?;
        Ok(hits.into_iter().map(|hit| hit.path).collect())
    }

    fn find_in(
        &self,
        tables: &[Table],
        glob: &Glob,
        limits: LookupLimits,
        cancel: &Cancel,
    ) -> Result<Vec<Hit>, LookupError> {
        let given_up = |cancelled| LookupError::Cancelled { pattern: glob.as_str().to_owned(), cancelled };
        cancel.check().map_err(given_up)?;
        self.shared.cluster.block_on(async {
            let mut work = std::pin::pin!(async {
                if let Some(hits) = self.find_tagged(glob).await? {
                    return Ok(hits);
                }
                match self.walk(tables, glob).await? {
                    Some(hits) => limited(glob, limits, hits),
                    None => self.search(tables, glob, limits).await,
                }
            });
            loop {
                if let Ok(done) = tokio::time::timeout(LOOK_EVERY, &mut work).await {
                    return done;
                }
                cancel.check().map_err(given_up)?;
            }
        })
    }

    /// The answer, if the pattern is about one tagged name. Tag values may contain dots and wildcards, so the text is
    /// first tried literally.
    async fn find_tagged(&self, glob: &Glob) -> Result<Option<Vec<Hit>>, ClusterError> {
        if !identity::is_tagged(glob.as_str()) {
            return Ok(None);
        }
        for name in [Some(glob.as_str()), glob.literal()].into_iter().flatten() {
            if self.is_metric(name).await? {
                return Ok(Some(vec![Hit { path: name.to_owned(), leaf: true, directory: false }]));
            }
        }
        Ok(glob.is_literal().then(Vec::new))
    }

    async fn is_metric(&self, name: &str) -> Result<bool, ClusterError> {
        if self.exists(Table::Metrics, name).await? {
            return Ok(true);
        }
        self.has_metadata(name).await
    }

    async fn search(
        &self,
        tables: &[Table],
        glob: &Glob,
        limits: LookupLimits,
    ) -> Result<Vec<Hit>, LookupError> {
        let pattern = || glob.as_str().to_owned();
        let queries = plan(glob, self.shared.indexes);
        if queries.len() > MAX_QUERIES {
            return Err(LookupError::TooManyQueries { pattern: pattern(), queries: queries.len() });
        }
        let search = Arc::new(Search { glob: glob.clone(), limits, findings: Mutex::default() });
        let questions = queries.iter().flat_map(|query| {
            let pieces = if query.is_broad() {
                ring::pieces(BROAD_PIECES).into_iter().map(Some).collect()
            } else {
                vec![None]
            };
            let ask =
                |piece| tables.iter().map(move |&table| Question { table, query: query.clone(), piece });
            pieces.into_iter().flat_map(ask).collect::<Vec<_>>()
        });
        let (names, seeker) = (self.clone(), search.clone());
        flight::map(questions.collect(), AT_ONCE, move |question| {
            let (names, search) = (names.clone(), seeker.clone());
            async move { names.ask(&question, &search).await }
        })
        .await?;
        let findings = std::mem::take(&mut *search.findings.lock());
        match findings.full {
            Some(Limit::Hits) => {
                return Err(LookupError::TooManyHits { pattern: pattern(), limit: limits.max_hits });
            }
            Some(Limit::Rows) => {
                return Err(LookupError::TooManyRows { pattern: pattern(), limit: limits.max_rows });
            }
            None => {}
        }
        let hits = findings.hits.into_iter();
        Ok(hits.map(|(path, (leaf, directory))| Hit { path, leaf, directory }).collect())
    }

    async fn ask(&self, question: &Question, search: &Search) -> Result<(), ClusterError> {
        let (table, piece) = (question.table, question.piece);
        let (condition, texts) = question.query.condition(self.shared.indexes, piece.is_some());
        let tokens = piece.into_iter().flat_map(|Piece(after, upto)| [after, upto]).map(CqlValue::BigInt);
        let values: Vec<CqlValue> = tokens.chain(texts.into_iter().map(CqlValue::Text)).collect();
        let text = self.statements().select_names(table, &condition);
        let statement = self.shape(text).await?;
        let done = || search.findings.lock().full.is_some();
        if done() {
            return Ok(());
        }
        self.pages(&statement, &values, |page| {
            for row in rows::<(&str,)>(&page)? {
                if !search.take(table, row?.0) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await
    }

    /// A query, prepared.
    pub(super) async fn shape(&self, text: String) -> Result<Arc<PreparedStatement>, ClusterError> {
        if let Some(found) = self.shared.shapes.prepared.lock().get(&text) {
            return Ok(found.clone());
        }
        let cluster = &self.shared.cluster;
        let prepared = cluster.session().await?.prepare(text.as_str()).await;
        let mut statement =
            prepared.map_err(|error| ClusterError::of(format!("prepare `{text}`"), &error))?;
        statement.set_is_idempotent(true);
        statement.set_page_size(PAGE);
        statement.set_execution_profile_handle(Some(cluster.profile(Purpose::Metadata)));
        let statement = Arc::new(statement);
        let mut prepared = self.shared.shapes.prepared.lock();
        if prepared.len() >= MAX_SHAPES {
            prepared.clear();
        }
        prepared.insert(text, statement.clone());
        Ok(statement)
    }
}
