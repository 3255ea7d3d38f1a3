//! Numbers that only look random: the same seed throws the same.

/// Source: Knuth's MMIX generator.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}
