//! Regular files: what is read has an end and a bounded size, what is gone on with is no link to something else.
//!
//! A pipe given as an input waits for a writer, a device may never end. Both are refused before they are opened.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Largest file that is read where nothing else is said, bytes: 1 GiB.
pub const MOST_FILE_BYTES: u64 = 1 << 30;

/// Opens a file for reading; it may be found through links. A folder, pipe, device or socket is refused.
pub fn open_regular(path: &Path) -> io::Result<File> {
    refuse_special(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    // The name may have been given to something else meanwhile.
    refuse_special(&file.metadata()?)?;
    Ok(file)
}

/// The content of a file of at most `most` bytes.
pub(super) fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let too_large = |size: u64| {
        let why = format!("{size} bytes are more than the {most} that are read; make the file smaller");
        io::Error::new(ErrorKind::FileTooLarge, why)
    };
    let size = file.metadata()?.len();
    if size > most {
        return Err(too_large(size));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize)?;
    // Files that the system makes up have no size before they are read, and others may grow.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Opens a file that is gone on with, or begins it, for reading and writing. A link in its place is refused, so that
/// nobody else's file is written to.
pub fn open_own(path: &Path) -> io::Result<File> {
    match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        result => return result,
    }
    let named = fs::symlink_metadata(path)?;
    if !named.is_file() {
        let what = kind(&named);
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            format!("this is {what}, not a file; remove it"),
        ));
    }
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    match same_file(&named, &file.metadata()?) {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "another file took this name meanwhile")),
    }
}

fn refuse_special(found: &Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => {
            let why = format!("this is {}, not a file with an end; give a regular file", kind(found));
            Err(io::Error::new(ErrorKind::InvalidInput, why))
        }
    }
}

/// What is not a regular file, in words.
fn kind(found: &Metadata) -> &'static str {
    let kind = found.file_type();
    if kind.is_dir() {
        return "a folder";
    }
    if kind.is_symlink() {
        return "a link";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    "something else"
}

#[cfg(unix)]
fn same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Links are rare elsewhere, and files have no number that the standard library tells.
#[cfg(not(unix))]
fn same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("pullback-regular-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn only_files_of_bounded_size_are_read() {
        let folder = folder("bounded");
        let path = folder.join("a.txt");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_regular(&path, 5).unwrap(), b"12345");
        let message = read_regular(&path, 4).unwrap_err().to_string();
        assert_eq!(message, "5 bytes are more than the 4 that are read; make the file smaller");
        let message = read_regular(&folder, 5).unwrap_err().to_string();
        assert_eq!(message, "this is a folder, not a file with an end; give a regular file");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn pipes_devices_and_sockets_are_refused_without_waiting() {
        let folder = folder("special");
        let pipe = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = folder.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, what) in
            [(pipe.as_path(), "a pipe"), (&socket, "a socket"), (Path::new("/dev/zero"), "a device")]
        {
            let message = read_regular(path, 10).unwrap_err().to_string();
            assert!(message.starts_with(&format!("this is {what}, ")), "{message}");
        }
        // A link to a file is that file, one to a device is that device.
        fs::write(folder.join("a.txt"), "1").unwrap();
        std::os::unix::fs::symlink(folder.join("a.txt"), folder.join("link")).unwrap();
        assert_eq!(read_regular(&folder.join("link"), 10).unwrap(), b"1");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_is_gone_on_with_is_no_link() {
        let folder = folder("own");
        let (own, victim) = (folder.join("own.csv"), folder.join("victim"));
        drop(open_own(&own).unwrap());
        assert!(own.is_file());
        drop(open_own(&own).unwrap());
        fs::remove_file(&own).unwrap();
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &own).unwrap();
        assert_eq!(open_own(&own).unwrap_err().to_string(), "this is a link, not a file; remove it");
        // A link that leads nowhere yet is one too.
        fs::remove_file(&victim).unwrap();
        assert!(open_own(&own).is_err() && !victim.exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
