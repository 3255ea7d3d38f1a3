//! The 512 bytes before each member. They follow from name, size and time of the archive alone, so that not one of them can be
//! another: a reader makes them again and compares.

use tar::{EntryType, Header};

use super::member::ArchiveMember;

/// Bytes of a block; members are filled up to whole ones with zeros.
pub(super) const BLOCK_BYTES: usize = 512;

/// Two empty blocks end a tar file.
pub(super) const END_BYTES: usize = 2 * BLOCK_BYTES;

/// The block before a member. `seconds` is the time of the archive, since 1970 UTC.
pub(super) fn block(member: &ArchiveMember, bytes: u64, seconds: u64) -> [u8; BLOCK_BYTES] {
    let mut header = Header::new_ustar();
    header.set_path(member.to_string()).expect("names of members are short and lead nowhere else");
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o600);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(bytes);
    header.set_mtime(seconds);
    header.set_cksum();
    *header.as_bytes()
}

/// Reads a block: the member behind it, its bytes, and the time. None when it was not made by [`block`].
pub(super) fn read(bytes: &[u8; BLOCK_BYTES]) -> Option<(ArchiveMember, u64, u64)> {
    let header = Header::from_byte_slice(bytes);
    let name = header.path_bytes();
    let member = ArchiveMember::parse(std::str::from_utf8(&name).ok()?)?;
    let (size, seconds) = (header.entry_size().ok()?, header.mtime().ok()?);
    (block(&member, size, seconds) == *bytes).then_some((member, size, seconds))
}

/// Zeros behind a member of so many bytes.
pub(super) fn padding(bytes: u64) -> usize {
    (bytes.wrapping_neg() % BLOCK_BYTES as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_reads_as_it_was_made_and_no_byte_of_it_may_change() {
        for (member, bytes) in
            [(ArchiveMember::About, 0), (ArchiveMember::Changes(9), 4 << 20), (ArchiveMember::Manifest, 20 << 30)]
        {
            let made = block(&member, bytes, 1_793_000_000);
            assert_eq!(read(&made), Some((member, bytes, 1_793_000_000)));
            for at in 0..BLOCK_BYTES {
                for flip in [1, 0x20, 0xff] {
                    let mut changed = made;
                    changed[at] ^= flip;
                    assert_eq!(read(&changed), None, "{at}");
                }
            }
        }
        assert_eq!(read(&[0; BLOCK_BYTES]), None);
    }

    #[test]
    fn links_folders_and_strange_names_are_no_members() {
        let made = |kind: EntryType, name: &str| {
            let mut header = Header::new_ustar();
            header.set_path(name).unwrap();
            header.set_entry_type(kind);
            header.set_mode(0o600);
            header.set_size(0);
            header.set_mtime(1);
            header.set_cksum();
            *header.as_bytes()
        };
        for (kind, name) in [
            (EntryType::Symlink, "changes/00000001"),
            (EntryType::Link, "manifest.json"),
            (EntryType::Directory, "changes/"),
            (EntryType::GNULongName, "changes/00000001"),
            (EntryType::Regular, "evil"),
        ] {
            assert_eq!(read(&made(kind, name)), None, "{name}");
        }
    }
}
