//! What an index holds before it serves: what is known from before, or rows of the generator.

use std::time::Duration;

use crate::api_error::ApiError;
use crate::corpus;
use crate::embed::Embed;
use crate::gateway::Gateway;
use crate::index::{Batch, Index};
use crate::row::Row;

/// Rows written at a time.
const AT_ONCE: usize = 10_000;

/// What can be done where an index and what is known do not belong together.
pub(super) const HINT: &str =
    "put `rows.redb` back beside the index that it belongs to, or begin anew with an empty index";

/// What an index holds after it was filled.
#[derive(Debug, PartialEq)]
pub(super) struct Filled {
    /// How many rows there are.
    pub rows: u64,
    /// How many rows had no metadata.
    pub forgotten: u64,
}

/// Fills an index; rows are made only where there are none.
///
/// An index that holds less than is known, because it was in memory or because of a kill between the two, learns of
/// all that is known. One that holds more, because it made a write for which the service no longer waited, forgets
/// everything first.
///
/// Errors: an index with rows where nothing at all is known; a part that does not answer, or the disk
pub(super) async fn fill<E: Embed, I: Index>(
    gateway: &Gateway<E, I>,
    workers: u64,
    seed: u64,
    threads: usize,
) -> Result<Filled, ApiError> {
    let parts = gateway.parts();
    let (known, held) = (parts.metadata.size()?, parts.index.status().await?.size);
    if known == 0 && held > 0 {
        let why = format!("the index has {held} rows, none of which has metadata");
        return Err(ApiError::unavailable(why, Duration::from_secs(1)));
    }
    if known == 0 {
        let mut begin = 0;
        while begin < workers {
            let end = workers.min(begin + AT_ONCE as u64);
            load(gateway, threads, corpus::rows(seed, begin..end).collect()).await?;
            begin = end;
        }
    } else if held != known {
        if held > known {
            parts.index.write(Batch { drop: true, ..Batch::default() }).await?;
        }
        let mut last = Box::from("");
        loop {
            let page = parts.metadata.after(&last, AT_ONCE)?;
            let Some((id, _)) = page.last() else { break };
            last = id.clone();
            load(gateway, threads, page.into_iter().map(|(id, record)| record.row(id)).collect())
                .await?;
        }
    }
    let rows = parts.index.status().await?.size;
    Ok(Filled { rows, forgotten: held.saturating_sub(known) })
}

async fn load<E: Embed, I: Index>(
    gateway: &Gateway<E, I>,
    threads: usize,
    rows: Vec<Row>,
) -> Result<(), ApiError> {
    let share = rows.len().div_ceil(threads).max(1);
    let shares: Vec<Vec<Row>> = rows.chunks(share).map(<[Row]>::to_vec).collect();
    let embedding: Vec<_> = shares
        .into_iter()
        .map(|rows| {
            let gateway = gateway.clone();
            tokio::spawn(async move {
                let vectors = gateway.embed_rows(&rows).await;
                vectors.map(|vectors| (rows, vectors))
            })
        })
        .collect();
    let (mut rows, mut vectors) = (Vec::new(), Vec::new());
    for share in embedding {
        let (some, of_them) = share.await.expect("it is neither ended nor panics")?;
        rows.extend(some);
        vectors.extend(of_them);
    }
    gateway.write(false, rows, vectors, Vec::new()).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use serving::metrics::Registry;

    use super::*;
    use crate::embed::cache::Cached;
    use crate::embed::hashed::Hashed;
    use crate::gateway::tests::BruteForceIndex;
    use crate::gateway::{Parts, Tuning};
    use crate::metadata::{Changes, Metadata};
    use crate::playbook::Playbook;

    fn gateway(metadata: &Metadata) -> Gateway<Hashed, BruteForceIndex> {
        let parts = Parts {
            embed: Cached::new(Hashed::new(64, 1).unwrap(), 0),
            index: BruteForceIndex::default(),
            metadata: metadata.clone(),
            playbook: Playbook::open(metadata).unwrap(),
        };
        let tuning = Tuning { sample_every: 0, samples: 1, bulks: 1 };
        Gateway::new(parts, tuning, &Registry::default())
    }

    #[tokio::test]
    async fn rows_are_made_where_there_are_none_and_what_is_known_is_learned_again() {
        let metadata = Metadata::open(None).unwrap();
        let first = gateway(&metadata);
        let filled = |rows| Ok(Filled { rows, forgotten: 0 });
        assert_eq!(fill(&first, 25_000, 1, 3).await, filled(25_000));
        let sequence = first.parts().index.status().await.unwrap().sequence;
        assert_eq!(fill(&first, 7, 1, 3).await, filled(25_000), "there are rows");
        let status = first.parts().index.status().await.unwrap();
        assert_eq!(status.sequence, sequence, "nothing was written");
        let vector = Hashed::new(64, 1).unwrap().vector("own").unwrap();
        let own = Row { id: "own".into(), vector: Some(vector.clone()), ..Row::default() };
        first.write(false, vec![own], vec![vector.clone()], Vec::new()).await.unwrap();
        let second = gateway(&metadata);
        assert_eq!(
            fill(&second, 7, 1, 3).await,
            filled(25_001),
            "an index that has lost everything"
        );
        let query = crate::index::Query { vector, k: 1, filter: None, exact: true, as_of: None };
        let found = second.parts().index.search(query).await.unwrap();
        assert_eq!(&*found.nearest[0].id, "own", "its vector was given and not embedded");
    }

    #[tokio::test]
    async fn an_index_that_knows_more_is_refused_or_learns_anew() {
        let metadata = Metadata::open(None).unwrap();
        let service = gateway(&metadata);
        fill(&service, 20, 1, 3).await.unwrap();
        metadata
            .write(Changes { delete: vec![corpus::row(1, 7).id], ..Changes::default() })
            .await
            .unwrap();
        assert_eq!(fill(&service, 20, 1, 3).await, Ok(Filled { rows: 19, forgotten: 1 }));
        assert_eq!(metadata.size(), Ok(19), "what is known stays");
        metadata.write(Changes { drop: true, ..Changes::default() }).await.unwrap();
        let error = fill(&service, 20, 1, 3).await.unwrap_err();
        assert!(error.message.contains("has 19 rows, none of which"), "{error}");
    }
}
