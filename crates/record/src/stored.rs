//! Histograms and series of counts among the stored facts of a trial. A histogram is buckets in the codec of
//! HdrHistogram with the exact moments beside them, so that what is read back equals what was written.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer as Decoder, Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stats::Histogram;

use crate::hlog::{from_hdr, to_hdr};

/// The stored form. Sums are text, since few readers of JSON know numbers of 128 bits.
#[derive(Serialize, Deserialize)]
struct Stored {
    grouping_power: u32,
    min: u64,
    max: u64,
    sum: String,
    sum_of_squares: String,
    buckets: String,
}

impl Stored {
    fn of(histogram: &Histogram) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let encoded = V2DeflateSerializer::new().serialize(&to_hdr(histogram), &mut bytes);
        encoded.map_err(|error| error.to_string())?;
        Ok(Self {
            grouping_power: histogram.grouping_power(),
            min: histogram.min(),
            max: histogram.max(),
            sum: histogram.sum().to_string(),
            sum_of_squares: histogram.sum_of_squares().to_string(),
            buckets: STANDARD.encode(&bytes),
        })
    }

    fn histogram(&self) -> Result<Histogram, String> {
        let bytes = STANDARD.decode(&self.buckets).map_err(|error| error.to_string())?;
        let hdr = Decoder::new().deserialize(&mut bytes.as_slice());
        let hdr = hdr.map_err(|error| format!("the histogram cannot be decoded: {error}"))?;
        if !(stats::COARSE..=stats::FINE).contains(&self.grouping_power) {
            return Err(format!("no histogram has the grouping power {}", self.grouping_power));
        }
        let whole = |text: &str| text.parse().map_err(|_| format!("expected a sum, got {text:?}"));
        let mut histogram = from_hdr(&hdr, self.grouping_power);
        let sums = (whole(&self.sum)?, whole(&self.sum_of_squares)?);
        histogram.restore_moments((self.min, self.max), sums);
        Ok(histogram)
    }
}

/// One histogram.
pub(crate) mod one {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(one: &Histogram, to: S) -> Result<S::Ok, S::Error> {
        Stored::of(one).map_err(S::Error::custom)?.serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Histogram, D::Error> {
        Stored::deserialize(from)?.histogram().map_err(D::Error::custom)
    }
}

/// One by span.
pub(crate) mod several {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(all: &[Histogram], to: S) -> Result<S::Ok, S::Error> {
        let stored: Result<Vec<_>, _> = all.iter().map(Stored::of).collect();
        stored.map_err(S::Error::custom)?.serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<Vec<Histogram>, D::Error> {
        let stored = Vec::<Stored>::deserialize(from)?;
        stored.iter().map(|one| one.histogram().map_err(D::Error::custom)).collect()
    }
}

/// One by power of two.
pub(crate) mod by_power {
    use super::*;

    type ByPower<T> = BTreeMap<u32, T>;

    pub(crate) fn serialize<S: Serializer>(
        all: &ByPower<Histogram>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let stored = all.iter().map(|(power, one)| Ok((*power, Stored::of(one)?)));
        stored.collect::<Result<ByPower<_>, String>>().map_err(S::Error::custom)?.serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<ByPower<Histogram>, D::Error> {
        let stored = ByPower::<Stored>::deserialize(from)?;
        let read = stored.iter().map(|(power, one)| Ok((*power, one.histogram()?)));
        read.collect::<Result<_, String>>().map_err(D::Error::custom)
    }
}

/// Counts, most of them small: each as LEB128, all of them as base64.
pub(crate) mod counts {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(counts: &[u32], to: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(counts.len());
        for count in counts {
            let mut rest = *count;
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        STANDARD.encode(&bytes).serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<u32>, D::Error> {
        let bytes = STANDARD.decode(String::deserialize(from)?).map_err(D::Error::custom)?;
        let (mut counts, mut count, mut shift) = (Vec::new(), 0_u64, 0);
        for byte in bytes {
            count |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if shift > 35 {
                return Err(D::Error::custom("a count has more than 32 bits"));
            }
            if byte < 0x80 {
                let whole = u32::try_from(count);
                counts.push(whole.map_err(|_| D::Error::custom("a count has more than 32 bits"))?);
                (count, shift) = (0, 0);
            }
        }
        match shift {
            0 => Ok(counts),
            _ => Err(D::Error::custom("the last count is cut off")),
        }
    }
}
