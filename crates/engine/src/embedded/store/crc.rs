//! The checksum of rows that are no certificates: those have zstd's.

/// CRC-32 of some bytes.
pub fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
