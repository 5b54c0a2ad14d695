//! Bundles: zips of files (the spec, "Bulk convention"), known by their content, never by their name.
//!
//! Each entry is inflated as it is read, and checked against the size and the checksum of the bundle's
//! directory, so that a damaged one is told from a whole one and the others are read all the same. What
//! bounds an entry is what comes out of it, never the size that it claims.

use super::operands::Input;
use flate2::{read::DeflateDecoder, write::DeflateEncoder};
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, FileReader, RangeReader, ZipArchiveEntryWayfinder, ZipLocator};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::sync::Arc;

/// How every zip begins that holds an entry, and one that holds none (APPNOTE 4.3.7, 4.3.16).
const SIGNATURES: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Bytes that tell a zip from everything else.
const HEAD: usize = 4;

/// An input, opened.
pub enum Opened {
    /// Bytes that are no zip.
    Stream(Box<dyn Read + Send>),
    /// A zip.
    Bundle(Bundle),
}

/// Open an input. A zip that comes through a pipe is put into an unnamed temporary file first, because
/// its directory stands at its end. What begins as a zip and is none is a stream whose first read says so.
///
/// # Errors
/// Those of [`Input::open`], of reading the first bytes and the directory.
pub fn open(input: &Input) -> io::Result<Opened> {
    let mut file = input.file()?;
    let mut head = Vec::with_capacity(HEAD);
    (&file).take(HEAD as u64).read_to_end(&mut head)?;
    if !is_zip(&head) {
        return Ok(Opened::Stream(Box::new(io::Cursor::new(head).chain(file))));
    }
    // A file of which somebody has read before is what is left of it.
    if file.metadata()?.is_file() && file.stream_position()? == HEAD as u64 {
        return opened(file);
    }
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut head.as_slice().chain(file), &mut copy)?;
    opened(copy)
}

fn opened(zip: File) -> io::Result<Opened> {
    match Bundle::new(zip) {
        Ok(bundle) => Ok(Opened::Bundle(bundle)),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Ok(Opened::Stream(Box::new(Unreadable(Some(error)))))
        }
        Err(error) => Err(error),
    }
}

/// Whether a file with these first bytes is a zip.
pub fn is_zip(head: &[u8]) -> bool {
    SIGNATURES.iter().any(|signature| head.starts_with(signature))
}

/// The entries of a zip, in the order of its directory; without those that are directories.
#[derive(Debug)]
pub struct Bundle {
    file: Arc<FileReader>,
    archive: rawzip::ZipArchive<Arc<FileReader>>,
    entries: std::vec::IntoIter<Listed>,
    /// What is wrong with the directory behind them.
    fault: Option<io::Error>,
}

/// What the directory says of an entry.
#[derive(Debug)]
struct Listed {
    name: Vec<u8>,
    method: CompressionMethod,
    is_encrypted: bool,
    crc: u32,
    at: ZipArchiveEntryWayfinder,
}

/// A file in a bundle.
pub struct Entry<R = Box<dyn Read + Send>> {
    /// Its name, as the bytes it is: often a path, perhaps one that leads anywhere. For messages alone. Empty
    /// for what is wrong with the rest of the directory.
    pub name: Vec<u8>,
    /// What is in it. What is wrong with it is [`ErrorKind::InvalidData`]; an error of another kind is
    /// one of reading the zip.
    pub data: R,
}

impl Bundle {
    fn new(mut file: File) -> io::Result<Bundle> {
        let size = file.seek(io::SeekFrom::End(0))?;
        let file = Arc::new(FileReader::from(file));
        // Room for any one record of the directory: a name, a comment and extra fields of 64 KiB each.
        let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let archive = ZipLocator::new()
            .locate_in_reader(Arc::clone(&file), &mut buffer, size)
            .map_err(|(_, error)| damaged(&error))?;
        let (mut entries, mut packed) = (Vec::new(), 0_u64);
        let mut directory = archive.entries(&mut buffer);
        let fault = loop {
            match directory.next_entry() {
                Ok(None) => break None,
                Err(error) => break Some(damaged(&error)),
                Ok(Some(entry)) if entry.is_dir() => {}
                Ok(Some(entry)) => {
                    packed = packed.saturating_add(entry.compressed_size_hint());
                    entries.push(Listed {
                        name: entry.file_path().as_bytes().to_vec(),
                        method: entry.compression_method(),
                        is_encrypted: entry.flags().is_encrypted(),
                        crc: entry.crc32(),
                        at: entry.wayfinder(),
                    });
                }
            }
        };
        // A bomb whose entries share their bytes: else no zip unpacks to more than 1032 times its size.
        if packed > size {
            return Err(no("damaged zip: its entries overlap"));
        }
        Ok(Bundle { file, archive, entries: entries.into_iter(), fault })
    }

    fn read(&self, entry: &Listed) -> io::Result<Box<dyn Read + Send>> {
        if entry.is_encrypted {
            return Err(no("encrypted"));
        }
        let (start, end) = self.archive.get_entry(entry.at).map_err(|e| damaged(&e))?.compressed_data_range();
        let packed = RangeReader::new(Arc::clone(&self.file), start..end);
        match entry.method {
            CompressionMethod::STORE => Ok(Box::new(Verified::new(packed, entry))),
            CompressionMethod::DEFLATE => Ok(Box::new(Verified::new(DeflateDecoder::new(packed), entry))),
            method => {
                let name = method.name().map_or_else(|| method.as_u16().to_string(), str::to_lowercase);
                Err(no(&format!("compressed by a method that is not known here: {name}")))
            }
        }
    }
}

impl Iterator for Bundle {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let Some(entry) = self.entries.next() else {
            let error = self.fault.take()?;
            return Some(Entry { name: Vec::new(), data: Box::new(Unreadable(Some(error))) });
        };
        let data = self.read(&entry).unwrap_or_else(|error| Box::new(Unreadable(Some(error))));
        Some(Entry { name: entry.name, data })
    }
}

/// The bytes of an entry, which must be as many as the directory says and have the checksum it says.
struct Verified<R> {
    data: R,
    left: u64,
    crc: u32,
    sum: flate2::Crc,
}

impl<R: Read> Verified<R> {
    fn new(data: R, entry: &Listed) -> Self {
        Verified { data, left: entry.at.uncompressed_size_hint(), crc: entry.crc, sum: flate2::Crc::new() }
    }
}

impl<R: Read> Read for Verified<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.data.read(buffer).map_err(|error| match error.kind() {
            // How flate2 tells what is no deflate.
            ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => no("damaged: corrupt deflate stream"),
            _ => error,
        })?;
        if count == 0 && !buffer.is_empty() {
            return match (self.left, self.sum.sum() == self.crc) {
                (0, true) => Ok(0),
                (0, false) => Err(no("damaged: wrong checksum")),
                _ => Err(no("damaged: shorter than the zip says")),
            };
        }
        self.left =
            (self.left.checked_sub(count as u64)).ok_or_else(|| no("damaged: longer than the zip says"))?;
        self.sum.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// What cannot be read at all; says why once.
struct Unreadable(Option<io::Error>);

impl Read for Unreadable {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// A zip being written: the same entries give the same bytes. Entries are packed as they come; of each
/// only its name is kept, for the directory.
pub struct Writer<W: Write>(rawzip::ZipArchiveWriter<W>);

impl<W: Write> Writer<W> {
    /// Write it here.
    pub fn new(to: W) -> Writer<W> {
        Writer(rawzip::ZipArchiveWriter::new(to))
    }

    /// Add a file that only its owner can read, by a name without slashes, last changed at `modified`, in seconds since the epoch.
    /// `data` writes it.
    ///
    /// # Errors
    /// Those of writing.
    pub fn add(
        &mut self,
        name: &str,
        modified: i64,
        data: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let entry = (self.0.new_file(name))
            .compression_method(CompressionMethod::DEFLATE)
            // What a DOS date can hold (APPNOTE 4.4.6).
            .last_modified(UtcDateTime::from_unix(modified.clamp(FIRST_DATE, LAST_DATE)))
            .unix_permissions(0o100_600);
        let (mut entry, config) = entry.start().map_err(unwritten)?;
        let mut packer = config.wrap(DeflateEncoder::new(&mut entry, flate2::Compression::default()));
        data(&mut packer)?;
        let (packer, descriptor) = packer.finish().map_err(unwritten)?;
        packer.finish()?;
        entry.finish(descriptor).map_err(unwritten)?;
        Ok(())
    }

    /// Write the directory; the sink comes back.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish().map_err(unwritten)
    }
}

/// 1980-01-01 and 2107-12-31.
const FIRST_DATE: i64 = 315_532_800;
const LAST_DATE: i64 = 4_354_732_800;

fn unwritten(error: rawzip::Error) -> io::Error {
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => error,
        kind => io::Error::other(kind.to_string()),
    }
}

fn no(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason)
}

/// What is wrong with a zip, in our words; an error of reading it stays one.
fn damaged(error: &rawzip::Error) -> io::Error {
    match error.kind() {
        rawzip::ErrorKind::IO(error) if error.kind() != ErrorKind::UnexpectedEof => {
            error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
        }
        rawzip::ErrorKind::MissingEndOfCentralDirectory => no("not a whole zip: its directory is missing"),
        _ => no("damaged zip: its directory and its entries disagree"),
    }
}

#[cfg(test)]
mod tests;
