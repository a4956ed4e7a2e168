//! Changes the user and group of the whole process permanently, dropping all privileges.

use std::ffi::{CString, c_char};
use std::io;

use crate::check;

/// A user and a group without privileges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Number of the user.
    pub user: u32,
    /// Number of the group.
    pub group: u32,
}

/// Range of capability numbers that a kernel may have.
const CAPABILITIES: std::ops::Range<libc::c_ulong> = 0..64;

impl Identity {
    /// Parses `NAME`, `UID` or `UID:GID`. A name or a number alone has its group from the system's
    /// list of users.
    ///
    /// # Errors
    /// Why the text is invalid, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (user, group) = match text.split_once(':') {
            Some((user, group)) => (user, Some(group)),
            None => (text, None),
        };
        let known = match user.parse::<u32>() {
            Ok(number) => by_number(number).or(Some((number, None))),
            Err(_) => by_name(user),
        };
        let (user, own_group) = known.ok_or_else(|| format!("no user is named `{user}`"))?;
        let group = match group {
            Some(group) => Some(
                group
                    .parse()
                    .map_err(|_| format!("`{group}` is no number of a group"))?,
            ),
            None => own_group,
        };
        let group = group
            .ok_or_else(|| format!("user {user} has no group: add one, as in {user}:{user}"))?;
        if user == 0 || group == 0 {
            return Err("it has the privileges of root".into());
        }
        Ok(Self { user, group })
    }

    /// Changes the process to this user and group, without other groups and capabilities. Its child
    /// processes cannot regain them. Running threads keep a bounding set of capabilities, so call
    /// this before starting any.
    ///
    /// # Errors
    /// The kernel's error: it requires `CAP_SETUID` and `CAP_SETGID`.
    pub fn assume(self) -> io::Result<()> {
        for capability in CAPABILITIES {
            // SAFETY: plain integers. Numbers beyond the kernel's are refused, and a process
            // without the privilege to give capabilities up has none below.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        }
        let (user, group) = (self.user, self.group);
        // SAFETY: no group is read from the list, which has none; plain integers otherwise.
        unsafe {
            check(libc::setgroups(0, std::ptr::null()))?;
            check(libc::setresgid(group, group, group))?;
            check(libc::setresuid(user, user, user))?;
            check(libc::prctl(
                libc::PR_SET_NO_NEW_PRIVS,
                1_u64,
                0_u64,
                0_u64,
                0_u64,
            ))?;
        }
        give_up_capabilities()?;
        // SAFETY: a plain integer.
        match unsafe { libc::setuid(0) } {
            0 => Err(io::Error::other("the kernel gave root back")),
            _ => Ok(()),
        }
    }
}

/// Drops capabilities that remain after a change of user, if the process was not root.
fn give_up_capabilities() -> io::Result<()> {
    /// `_LINUX_CAPABILITY_VERSION_3`, and the calling thread.
    const HEADER: [u32; 2] = [0x2008_0522, 0];
    let none = [0_u32; 6];
    // SAFETY: the kernel reads a header and two sets of three words, which outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_capset, HEADER.as_ptr(), none.as_ptr()) };
    check(result as libc::c_int)?;
    Ok(())
}

/// Number and group of a user.
fn by_name(name: &str) -> Option<(u32, Option<u32>)> {
    let name = CString::new(name).ok()?;
    look_up(|entry, text, found| {
        // SAFETY: all pointers are those of live locals, and the length is that of `text`.
        unsafe { libc::getpwnam_r(name.as_ptr(), entry, text.as_mut_ptr(), text.len(), found) }
    })
}

fn by_number(number: u32) -> Option<(u32, Option<u32>)> {
    look_up(|entry, text, found| {
        // SAFETY: as above.
        unsafe { libc::getpwuid_r(number, entry, text.as_mut_ptr(), text.len(), found) }
    })
}

fn look_up(
    call: impl Fn(*mut libc::passwd, &mut [c_char], *mut *mut libc::passwd) -> libc::c_int,
) -> Option<(u32, Option<u32>)> {
    // SAFETY: `passwd` is integers and pointers that may be null.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut text = vec![0; 16 << 10];
    let mut found = std::ptr::null_mut();
    let result = call(&raw mut entry, &mut text, &raw mut found);
    (result == 0 && !found.is_null()).then_some((entry.pw_uid, Some(entry.pw_gid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_a_name_or_a_number_with_or_without_its_group() {
        let is = |user, group| Ok(Identity { user, group });
        assert_eq!(Identity::parse("65534"), Identity::parse("nobody"));
        assert_eq!(Identity::parse("7001:7002"), is(7001, 7002));
        assert_eq!(Identity::parse("nobody:7002"), is(65534, 7002));
    }

    #[test]
    fn what_is_no_user_without_privileges_is_refused_in_words() {
        for (text, words) in [
            ("no such user", "no user is named `no such user`"),
            ("nobody:x", "`x` is no number of a group"),
            (
                "4000000001",
                "user 4000000001 has no group: add one, as in 4000000001:4000000001",
            ),
            ("root", "it has the privileges of root"),
            ("7001:0", "it has the privileges of root"),
            ("", "no user is named ``"),
        ] {
            assert_eq!(Identity::parse(text), Err(words.into()), "{text}");
        }
    }
}
