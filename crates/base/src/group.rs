//! Who is in a group of the system, and so has the rights that a file gives to its group.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Bytes of the entry of a group that is looked up: a name for some fifty thousand members.
const GROUP_BYTES_MAX: usize = 1024 * 1024;

/// Whether a group is for one user (and root) alone, as the group that a user is made with is. Not where the system does not know the
/// group, or one of its members. Decision 300.
pub(crate) fn is_of_one(group: u32, user: u32) -> bool {
    // Those whose primary group it is stand in no list of the group.
    let others = |users: BTreeSet<u32>| users.into_iter().any(|member| member != user && member != 0);
    listed(group).is_some_and(|users| !others(users)) && !others(with_primary(group))
}

/// The users that the entry of a group lists. None where the system has no entry of it, or does not know one of them.
fn listed(group: u32) -> Option<BTreeSet<u32>> {
    let mut texts = vec![0; 16 * 1024];
    // SAFETY: all of its fields are numbers and pointers, for which zero is a value.
    let mut entry: libc::group = unsafe { std::mem::zeroed() };
    let mut found = ptr::null_mut();
    // SAFETY: the places are ours, and the call is told how many bytes the texts may take.
    while unsafe { libc::getgrgid_r(group, &mut entry, texts.as_mut_ptr(), texts.len(), &mut found) } == libc::ERANGE
        && texts.len() < GROUP_BYTES_MAX
    {
        texts.resize(texts.len() * 2, 0);
    }
    if found.is_null() {
        return None;
    }
    let mut users = BTreeSet::new();
    let mut next = entry.gr_mem;
    loop {
        // SAFETY: where an entry was found, its members are texts of ours, each with a zero at its end, and behind the last stands a null.
        let name = unsafe { *next };
        if name.is_null() {
            return Some(users);
        }
        // SAFETY: as above.
        users.insert(user_of(unsafe { CStr::from_ptr(name) })?);
        // SAFETY: what it points to is not the last.
        next = unsafe { next.add(1) };
    }
}

fn user_of(name: &CStr) -> Option<u32> {
    let mut texts = vec![0; 16 * 1024];
    // SAFETY: all of its fields are numbers and pointers, for which zero is a value.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = ptr::null_mut();
    // SAFETY: the name ends with a zero, the places are ours, and the call is told how many bytes the texts may take.
    let told = unsafe { libc::getpwnam_r(name.as_ptr(), &mut entry, texts.as_mut_ptr(), texts.len(), &mut found) };
    (told == 0 && !found.is_null()).then_some(entry.pw_uid)
}

/// The users whose primary group it is, as far as the system lists its users.
fn with_primary(group: u32) -> BTreeSet<u32> {
    /// The process has one place in the list of all users.
    static LIST: Mutex<()> = Mutex::new(());
    let _turn = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    let mut users = BTreeSet::new();
    // SAFETY: nobody else in this process walks over the list, and what the calls point to is read before the next one.
    unsafe {
        libc::setpwent();
        while let Some(entry) = libc::getpwent().as_ref() {
            if entry.pw_gid == group {
                users.insert(entry.pw_uid);
            }
        }
        libc::endpwent();
    }
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_the_system_does_not_know_is_nobodys_own() {
        assert_eq!((listed(4_294_000_000), is_of_one(4_294_000_000, 0)), (None, false));
        // The rest is up to the system: every one knows the group 0, which is the primary one of root.
        assert!(listed(0).is_some() && with_primary(0).contains(&0));
    }
}
