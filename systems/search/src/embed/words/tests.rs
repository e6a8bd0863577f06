use super::*;

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each(text, &mut Vec::new(), |word| words.push(word.iter().collect()));
    words
}

#[test]
fn words_are_runs_of_letters_and_numbers_of_any_script() {
    assert_eq!(
        words("Forklift-Fahrer, 3.5 t (Łódź)!"),
        ["forklift", "fahrer", "3", "5", "t", "łódź"]
    );
    assert_eq!(words("ВОДИТЕЛЬ погрузчика"), ["водитель", "погрузчика"]);
    assert_eq!(words("叉车司机 上海"), ["叉车司机", "上海"]);
    assert_eq!(words("re\u{301}sume\u{301}"), ["re\u{301}sume\u{301}"], "accents belong to words");
    assert_eq!(words("İ"), ["i\u{307}"], "one letter may become two");
    assert_eq!(words("a\0b\u{a0}c"), ["a", "b", "c"]);
}

#[test]
fn marks_and_spaces_are_no_words() {
    for text in ["", " \t\n", "—…!?«»", "\0\u{1}\u{feff}", "🙂"] {
        assert!(words(text).is_empty(), "{text:?}");
    }
}
