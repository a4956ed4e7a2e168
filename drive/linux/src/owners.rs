//! Finds the process that has a socket open, by the inode of its file (`/proc/PID/fd`).
//!
//! Only root sees processes of other users.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// A process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// Its name (`/proc/PID/comm`).
    pub name: String,
}

/// First process that has each socket open, by inode. Processes that may not be read are left out.
pub fn of_sockets() -> HashMap<u32, Process> {
    let mut owners = HashMap::new();
    let Ok(processes) = fs::read_dir("/proc") else {
        return owners;
    };
    for process in processes.flatten() {
        let id = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(id) = id else { continue };
        let Ok(files) = fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        let mut name = None;
        for file in files.flatten() {
            let Some(inode) = socket(&file.path()) else {
                continue;
            };
            let comm = name.get_or_insert_with(|| {
                fs::read_to_string(process.path().join("comm"))
                    .unwrap_or_default()
                    .trim_end()
                    .to_owned()
            });
            owners.entry(inode).or_insert_with(|| Process {
                id,
                name: comm.clone(),
            });
        }
    }
    owners
}

/// Inode of a descriptor that is a socket.
fn socket(file: &Path) -> Option<u32> {
    let target = fs::read_link(file).ok()?;
    let inode = target.to_str()?.strip_prefix("socket:[")?;
    inode.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_socket_of_this_process_is_owned_by_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let file = format!("/proc/self/fd/{}", listener.as_raw_fd());
        let inode = socket(Path::new(&file)).unwrap();
        let owners = of_sockets();
        assert_eq!(owners[&inode].id, std::process::id());
        assert!(!owners[&inode].name.is_empty());
    }
}
