//! "Did you mean": the known word nearest to an unknown one.

/// The known word that is most likely meant by `text`; `None` if none is close or shares a letter with it.
pub fn near_miss<'k>(text: &str, known: &[&'k str]) -> Option<&'k str> {
    let length = text.chars().count();
    let limit = (length / 3).clamp(1, 3).min(length.saturating_sub(1));
    let near = |word: &&&str| strsim::osa_distance(text, word) <= limit;
    let closeness = |word: &&&str| (strsim::jaro_winkler(text, word) * 1e6) as u64;
    known.iter().filter(near).max_by_key(closeness).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_near() {
        assert_eq!(near_miss("pth", &["path", "method"]), Some("path"));
        assert_eq!(near_miss("arrvals", &["arrivals", "rate"]), Some("arrivals"));
        assert_eq!(near_miss("servise", &["service", "pieces"]), Some("service"));
        assert_eq!(near_miss("zebra", &["path", "method"]), None);
    }

    #[test]
    fn a_word_without_a_common_letter_is_not_near() {
        let units = ["ns", "us", "ms", "s", "m", "h"];
        assert_eq!([near_miss("", &units), near_miss("x", &units)], [None, None]);
        assert_eq!(near_miss("mss", &units), Some("ms"));
    }
}
