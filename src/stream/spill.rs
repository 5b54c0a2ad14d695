//! Bytes that wait until what stands before them is known, in little memory.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// How much waits in memory.
const ROOM: usize = 4 << 20;

/// Gathers bytes and gives them out; what does not fit in memory goes to a nameless temporary file.
#[derive(Debug)]
pub struct Spill {
    room: usize,
    buffer: Vec<u8>,
    file: Option<File>,
    /// Bytes of this gathering in the file.
    filed: u64,
}

impl Default for Spill {
    fn default() -> Spill {
        Spill::of(ROOM)
    }
}

impl Spill {
    /// One that keeps about so many bytes in memory.
    pub fn of(room: usize) -> Spill {
        Spill { room, buffer: Vec::new(), file: None, filed: 0 }
    }

    /// Where to append. Call [`Spill::settle`] after each record.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Make room in memory where it is used up.
    ///
    /// # Errors
    /// No temporary file can be made or written.
    pub fn settle(&mut self) -> io::Result<()> {
        if self.buffer.len() < self.room {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        if let Some(file) = &mut self.file {
            file.write_all(&self.buffer)?;
            self.filed += self.buffer.len() as u64;
        }
        self.buffer.clear();
        // A single huge record leaves no huge buffer behind.
        self.buffer.shrink_to(2 * self.room);
        Ok(())
    }

    /// Forget everything gathered.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn clear(&mut self) -> io::Result<()> {
        self.buffer.clear();
        if let Some(file) = self.file.as_mut().filter(|_| self.filed > 0) {
            file.set_len(0)?;
            file.rewind()?;
        }
        self.filed = 0;
        Ok(())
    }

    /// Read back from the front everything but the last bytes, which are in memory.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn filed(&mut self) -> io::Result<Option<impl Read + '_>> {
        let filed = self.filed;
        let Some(file) = self.file.as_mut().filter(|_| filed > 0) else { return Ok(None) };
        file.rewind()?;
        Ok(Some(file.take(filed)))
    }

    /// Read back everything, as often as wanted.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn read(&mut self) -> io::Result<impl Read + '_> {
        let Spill { buffer, file, filed, .. } = self;
        let file = file.as_mut().filter(|_| *filed > 0);
        let front: Box<dyn Read> = match file {
            Some(file) => {
                file.rewind()?;
                Box::new(file.take(*filed))
            }
            None => Box::new(io::empty()),
        };
        Ok(front.chain(buffer.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(spill: &mut Spill, records: &[Vec<u8>]) -> Vec<u8> {
        for record in records {
            spill.buffer().extend_from_slice(record);
            spill.settle().unwrap();
        }
        let mut all = Vec::new();
        spill.read().unwrap().read_to_end(&mut all).unwrap();
        let mut back = Vec::new();
        if let Some(mut filed) = spill.filed().unwrap() {
            filed.read_to_end(&mut back).unwrap();
        }
        back.extend_from_slice(spill.buffer());
        assert!(all == back);
        spill.clear().unwrap();
        back
    }

    #[test]
    fn what_went_in_comes_out_time_after_time() {
        let mut spill = Spill::default();
        for sizes in [&[1, 2, 3][..], &[ROOM, 1, ROOM + 5, 7], &[], &[3, 3 * ROOM], &[9]] {
            let records: Vec<_> = sizes.iter().zip(b'a'..).map(|(size, byte)| vec![byte; *size]).collect();
            assert!(round(&mut spill, &records) == records.concat(), "{sizes:?}");
        }
    }

    #[test]
    fn a_small_one_makes_no_file() {
        let mut spill = Spill::default();
        round(&mut spill, &[vec![b'x'; ROOM - 1]]);
        assert!(spill.file.is_none());
        round(&mut spill, &[vec![b'x'; ROOM]]);
        assert!(spill.file.is_some());
    }
}
