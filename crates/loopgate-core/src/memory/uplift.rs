//! Whether what the debug memory shows helps: retries with a card against retries from which it was withheld.

use serde::Serialize;

use super::Rate;

/// Retries of each side below which nothing is said.
const ENOUGH: u32 = 200;
/// The normal distribution's 97.5th percentile.
const Z: f64 = 1.959_963_984_540_054;

/// What showing cards changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "uplift", rename_all = "snake_case")]
pub enum Uplift {
    TooFewToSay {
        shown: Rate,
        withheld: Rate,
    },
    /// The difference of the shares that were gone, with its 95 % interval.
    Measured {
        shown: Rate,
        withheld: Rate,
        difference: f64,
        low: f64,
        high: f64,
    },
}

impl Uplift {
    /// Newcombe's hybrid score interval: the square-and-add of the two Wilson intervals, which keeps within what shares
    /// can be (Statistics in Medicine 17, 873–890, method 10).
    pub fn between(shown: Rate, withheld: Rate) -> Self {
        if shown.retries < ENOUGH || withheld.retries < ENOUGH {
            return Self::TooFewToSay { shown, withheld };
        }
        let (with, without) = (Wilson::of(shown), Wilson::of(withheld));
        let difference = with.share - without.share;
        let low = difference - (with.share - with.low).hypot(without.high - without.share);
        let high = difference + (with.high - with.share).hypot(without.share - without.low);
        Self::Measured { shown, withheld, difference, low, high }
    }
}

struct Wilson {
    share: f64,
    low: f64,
    high: f64,
}

impl Wilson {
    fn of(side: Rate) -> Self {
        let (n, share) = (f64::from(side.retries), f64::from(side.gone) / f64::from(side.retries));
        let middle = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt() / (1.0 + Z * Z / n);
        Self { share, low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SplitMix64: the same numbers on every machine.
    struct Numbers(u64);

    impl Numbers {
        fn chance(&mut self, share: f64) -> bool {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 <= share
        }

        fn side(&mut self, retries: u32, share: f64) -> Rate {
            Rate { retries, gone: (0..retries).map(|_| u32::from(self.chance(share))).sum() }
        }
    }

    #[test]
    fn a_known_effect_is_found_and_the_interval_covers_it() {
        const EFFECT: f64 = 0.12;
        let mut numbers = Numbers(7);
        let (mut covered, mut sum) = (0, 0.0);
        for _ in 0..1_000 {
            let (shown, withheld) = (numbers.side(400, 0.55 + EFFECT), numbers.side(250, 0.55));
            let Uplift::Measured { difference, low, high, .. } = Uplift::between(shown, withheld) else {
                panic!("there are enough")
            };
            assert!(low < difference && difference < high);
            covered += i32::from(low <= EFFECT && EFFECT <= high);
            sum += difference;
        }
        assert!((sum / 1_000.0 - EFFECT).abs() < 0.005, "{}", sum / 1_000.0);
        // 950 of 1,000, give or take three standard deviations.
        assert!((929..=971).contains(&covered), "{covered}");
    }

    #[test]
    fn where_nothing_helps_the_interval_holds_nothing() {
        let mut numbers = Numbers(11);
        let none = (0..1_000).filter(|_| {
            let (shown, withheld) = (numbers.side(300, 0.4), numbers.side(300, 0.4));
            matches!(Uplift::between(shown, withheld), Uplift::Measured { low, high, .. } if low <= 0.0 && 0.0 <= high)
        });
        let none = none.count();
        assert!((929..=971).contains(&none), "{none}");
    }

    #[test]
    fn below_two_hundred_a_side_nothing_is_said() {
        let side = |retries| Rate { retries, gone: retries / 2 };
        assert!(matches!(Uplift::between(side(199), side(5_000)), Uplift::TooFewToSay { .. }));
        assert!(matches!(Uplift::between(side(5_000), side(199)), Uplift::TooFewToSay { .. }));
        assert!(matches!(Uplift::between(side(200), side(200)), Uplift::Measured { .. }));
    }

    #[test]
    fn newcombes_own_example() {
        // 56 of 70 against 48 of 80, scaled up to be enough: the published interval of 0.0524 to 0.3339 narrows by
        // the square root of ten.
        let sides = (Rate { retries: 700, gone: 560 }, Rate { retries: 800, gone: 480 });
        let Uplift::Measured { difference, low, high, .. } = Uplift::between(sides.0, sides.1) else { panic!() };
        let rounded = [difference, low, high].map(|it| (it * 1_000.0).round() / 1_000.0);
        assert_eq!(rounded, [0.2, 0.154, 0.244]);
    }
}
