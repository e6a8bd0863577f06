use super::*;

#[test]
fn what_has_a_direction_is_brought_to_length_1() {
    for (vector, known) in [
        (vec![3.0, -4.0], Some(vec![0.6, -0.8])),
        (vec![f32::MAX, 0.0, f32::MAX], Some(vec![0.5_f32.sqrt(), 0.0, 0.5_f32.sqrt()])),
        (vec![1e-30, 0.0], Some(vec![1.0, 0.0])),
        (vec![1e-40, 0.0], None),
        (vec![0.0, -0.0], None),
        (vec![], None),
        (vec![1.0, f32::NAN], None),
        (vec![1.0, f32::INFINITY], None),
    ] {
        let mut made = vector.clone();
        assert_eq!(normalize(&mut made), known.is_some(), "{vector:?}");
        assert_eq!(has_direction(&vector), known.is_some(), "{vector:?}");
        if let Some(known) = known {
            assert!(made.iter().zip(&known).all(|(a, b)| (a - b).abs() < 1e-6), "{made:?}");
        }
    }
}

#[test]
fn cosines_are_of_angles() {
    assert_eq!(cosine(&[1.0, 0.0], &[0.0, 1.0]), 0.0);
    assert_eq!(cosine(&[0.6, 0.8], &[-0.6, -0.8]), -1.0);
    let third = 1.0 / 3.0_f32.sqrt();
    assert!(cosine(&[third; 3], &[third; 3]) <= 1.0, "rounding led beyond 1");
}
