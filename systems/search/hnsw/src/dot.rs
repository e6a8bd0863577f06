//! The product of two vectors, with the widest registers that the machine has.

use pulp::{Arch, Simd, WithSimd};

/// Chosen once for the machine at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dot(Arch);

impl Dot {
    /// Looks at what the machine has.
    pub(crate) fn new() -> Self {
        Self(Arch::new())
    }

    /// The sum of products; of vectors of length 1: the cosine of their angle, but for rounding.
    ///
    /// The order of additions is the same for each pair of one machine, so that equal pairs have
    /// equal products.
    pub(crate) fn of(self, one: &[f32], other: &[f32]) -> f32 {
        self.0.dispatch(Pair { one, other })
    }
}

struct Pair<'v> {
    one: &'v [f32],
    other: &'v [f32],
}

impl WithSimd for Pair<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (one, one_rest) = S::as_simd_f32s(self.one);
        let (other, other_rest) = S::as_simd_f32s(self.other);
        let (one, one_last) = pulp::as_arrays::<4, _>(one);
        let (other, other_last) = pulp::as_arrays::<4, _>(other);
        // Four sums at a time: an addition need not wait for the one before it.
        let mut sums = [simd.splat_f32s(0.0); 4];
        for (one, other) in one.iter().zip(other) {
            for at in 0..4 {
                sums[at] = simd.mul_add_e_f32s(one[at], other[at], sums[at]);
            }
        }
        for (one, other) in one_last.iter().zip(other_last) {
            sums[0] = simd.mul_add_e_f32s(*one, *other, sums[0]);
        }
        let [a, b, c, d] = sums;
        let sum = simd.reduce_sum_f32s(simd.add_f32s(simd.add_f32s(a, b), simd.add_f32s(c, d)));
        one_rest.iter().zip(other_rest).fold(sum, |sum, (one, other)| sum + one * other)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn products_are_those_of_a_loop_in_double_precision(
            pairs in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 0..300),
        ) {
            let (one, other): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let exact: f64 = one.iter().zip(&other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let dot = Dot::new().of(&one, &other);
            prop_assert!((f64::from(dot) - exact).abs() < 1e-4, "{dot} {exact}");
            prop_assert_eq!(dot.to_bits(), Dot::new().of(&one, &other).to_bits());
        }
    }
}
