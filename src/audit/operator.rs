//! Who runs a command: a user of the operating system.

use std::cell::RefCell;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::ptr;

/// A user of the operating system. The name is personal data.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SystemUser {
    pub uid: u32,
    /// Nothing where the system knows no name for the number.
    pub name: Option<String>,
}

thread_local! {
    /// Whom a thread works for; nothing: for the process itself.
    static ACTING: RefCell<Option<SystemUser>> = const { RefCell::new(None) };
}

impl SystemUser {
    /// The user whose command this thread carries out; that of the process itself where none was named.
    pub fn current() -> SystemUser {
        ACTING.with_borrow(Clone::clone).unwrap_or_else(|| {
            // SAFETY: the call takes nothing and cannot fail.
            SystemUser::of_uid(unsafe { libc::geteuid() })
        })
    }

    /// The user at the other end of a socket, as the kernel noted when it was connected.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn of_peer(stream: &UnixStream) -> io::Result<SystemUser> {
        peer_uid(stream).map(SystemUser::of_uid)
    }

    /// Does work for this user on this thread.
    pub fn acting<T>(self, work: impl FnOnce() -> T) -> T {
        let before = ACTING.replace(Some(self));
        let done = work();
        ACTING.set(before);
        done
    }

    fn of_uid(uid: u32) -> SystemUser {
        SystemUser { uid, name: name_of(uid) }
    }
}

#[cfg(target_os = "linux")]
fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    let place = ptr::from_mut(&mut found).cast();
    // SAFETY: the socket is open, and the place has as many bytes as the call is told.
    let told = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, ptr::from_mut(&mut bytes))
    };
    if told == 0 { Ok(found.uid) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    let (mut uid, mut gid) = (0, 0);
    // SAFETY: the socket is open, and both places are numbers of ours.
    let told = unsafe { libc::getpeereid(stream.as_raw_fd(), &mut uid, &mut gid) };
    if told == 0 { Ok(uid) } else { Err(io::Error::last_os_error()) }
}

/// What the system calls a user.
fn name_of(uid: u32) -> Option<String> {
    let mut texts = vec![0; 16 * 1024];
    // SAFETY: all of its fields are numbers and pointers, for which zero is a value.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = ptr::null_mut();
    // SAFETY: the places are ours, and the call is told how many bytes the texts may take.
    let told = unsafe { libc::getpwuid_r(uid, &mut entry, texts.as_mut_ptr(), texts.len(), &mut found) };
    if told != 0 || found.is_null() {
        return None;
    }
    // SAFETY: where an entry was found, its name ends with a zero within the texts.
    let name = unsafe { CStr::from_ptr(entry.pw_name) };
    name.to_str().ok().map(str::to_owned)
}

impl fmt::Debug for SystemUser {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "SystemUser({})", self.uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_of_a_socket_of_ours_is_the_user_of_the_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(SystemUser::of_peer(&one).unwrap(), SystemUser::current());
    }

    #[test]
    fn a_thread_works_for_another_user_as_long_as_it_is_told() {
        let other = SystemUser { uid: 4_711, name: Some("mari".to_owned()) };
        let own = SystemUser::current();
        assert_eq!(other.clone().acting(SystemUser::current), other);
        assert_eq!(SystemUser::current(), own);
    }

    #[test]
    fn a_number_without_a_name_has_none() {
        assert_eq!(SystemUser::of_uid(u32::MAX - 7).name, None);
    }
}
