use proptest::prelude::*;

use super::*;
use crate::embed::cosine;

/// Made by another program, from the description at the top of the module alone.
const GOLDEN: &[(&str, u64, [f32; 16])] = &[
    (
        "Forklift operator",
        0,
        [
            0.086547, -0.432735, -0.086547, 0.000000, 0.000000, 0.259641, 0.173094, -0.173094,
            -0.086547, 0.000000, 0.483155, -0.620122, 0.000000, 0.173094, 0.086547, 0.086547,
        ],
    ),
    (
        "a",
        0,
        [
            0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, -0.447214, 0.000000,
            0.894427, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000,
        ],
    ),
    (
        "Fahrer für Łódź, 3.5 t",
        1,
        [
            -0.025957, -0.050379, -0.633362, 0.172735, 0.384367, 0.133800, 0.345470, -0.025919,
            -0.115157, 0.460627, 0.000000, 0.044600, 0.102216, 0.172735, -0.102178, -0.044600,
        ],
    ),
    (
        "叉车司机 上海",
        0,
        [
            0.000000, -0.118887, -0.713319, 0.000000, 0.000000, 0.237773, 0.000000, 0.118887,
            0.000000, -0.118887, 0.000000, 0.000000, -0.626288, 0.000000, 0.000000, 0.000000,
        ],
    ),
    (
        "re\u{301}sume\u{301}",
        0,
        [
            -0.109983, 0.000000, -0.219967, 0.219967, 0.219967, 0.000000, 0.000000, -0.109983,
            0.000000, 0.000000, 0.000000, -0.109983, 0.000000, 0.109983, 0.000000, 0.898030,
        ],
    ),
];

#[test]
fn vectors_are_for_ever_the_same() {
    for (text, seed, known) in GOLDEN {
        let vector = Hashed::new(16, *seed).unwrap().vector(text).unwrap();
        for (place, (number, known)) in vector.iter().zip(known).enumerate() {
            assert!((number - known).abs() < 1e-6, "{text:?}, {place}: {number}, not {known}");
        }
    }
}

#[test]
fn a_long_vector_is_for_ever_the_same() {
    let text = "forklift operator Gdańsk night shift RF scanner pallet jack";
    let vector = Hashed::new(256, 0).unwrap().vector(text).unwrap();
    let sum: f64 =
        vector.iter().zip(0..).map(|(&number, place)| f64::from(number) * f64::from(place)).sum();
    assert!((sum - -124.207_474).abs() < 1e-4, "{sum}");
}

#[test]
fn near_are_texts_that_share_words_and_pieces() {
    let hashed = Hashed::new(256, 0).unwrap();
    let near = |a, b| cosine(&hashed.vector(a).unwrap(), &hashed.vector(b).unwrap());
    assert!((near("Forklift OPERATOR", "forklift, operator!") - 1.0).abs() < 1e-6);
    let [same, turned, part, other] = [
        near("forklift operator", "forklift operator"),
        near("forklift operator", "operator forklift"),
        near("forklift operator", "forklifts"),
        near("forklift operator", "pastry cook"),
    ];
    assert!(same > turned && turned > part && part > other, "{same} {turned} {part} {other}");
}

#[test]
fn a_text_without_a_word_has_no_direction() {
    let hashed = Hashed::new(256, 0).unwrap();
    for text in ["", " ", "—!?", "\0", "\u{301}🙂".trim_start_matches('\u{301}')] {
        assert_eq!(hashed.vector(text), None, "{text:?}");
    }
}

#[tokio::test]
async fn the_text_without_a_word_is_named() {
    let hashed = Hashed::new(256, 0).unwrap();
    let error = hashed.embed(&["picker", "packer", "…"]).await.unwrap_err();
    assert_eq!((error.code, error.at.as_deref()), (Code::InvalidQuery, Some("/2")));
    assert_eq!(hashed.embed(&[]).await.unwrap().vectors.len(), 0);
}

#[test]
fn long_texts_and_nul_have_a_vector() {
    let hashed = Hashed::new(256, 0).unwrap();
    let texts = ["a".repeat(8_192), "CNC ".repeat(2_048), "叉".repeat(2_730), "a\0b".into()];
    for text in texts {
        let length: f32 = hashed.vector(&text).unwrap().iter().map(|number| number * number).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
}

#[test]
fn dimensions_are_bounded() {
    for dimension in [0, 15, 4_097, usize::MAX] {
        assert_eq!(Hashed::new(dimension, 0).unwrap_err().code, Code::InvalidVector);
    }
    for dimension in [16, 100, 4_096] {
        let vector = Hashed::new(dimension, 0).unwrap().vector("picker").unwrap();
        assert_eq!(vector.len(), dimension);
    }
}

#[test]
fn the_seed_makes_others_of_them() {
    let vector = |seed| Hashed::new(64, seed).unwrap().vector("order picker").unwrap();
    assert!(cosine(&vector(1), &vector(2)) < 0.5);
}

proptest! {
    #[test]
    fn every_text_has_a_vector_of_length_1_or_none(text in any::<String>()) {
        let hashed = Hashed::new(16, 5).unwrap();
        if let Some(vector) = hashed.vector(&text) {
            let length: f32 = vector.iter().map(|number| number * number).sum();
            prop_assert!((length - 1.0).abs() < 1e-5, "{}", length);
        }
        let spaced = format!("  {text}\n");
        prop_assert_eq!(hashed.vector(&spaced), hashed.vector(&text));
    }
}
