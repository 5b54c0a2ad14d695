//! Bytes that wait until what stands before them is known, in little memory.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek, Write};

/// How much waits in memory, unless a caller wants more.
const ROOM: usize = 2 << 20;

/// How much is written to the file at a time.
const CHUNK: usize = 4 << 20;

/// Gathers bytes and gives them out; what does not fit in memory goes to a nameless temporary file.
#[derive(Debug)]
pub struct Spill {
    room: usize,
    /// The first bytes, once there are as many as there is room for.
    front: Vec<u8>,
    file: Option<File>,
    /// Bytes of this gathering in the file: they follow the front.
    filed: u64,
    /// The last bytes.
    buffer: Vec<u8>,
}

impl Default for Spill {
    fn default() -> Spill {
        Spill::of(ROOM)
    }
}

impl Spill {
    /// One that keeps about so many bytes in memory.
    pub fn of(room: usize) -> Spill {
        Spill { room, front: Vec::new(), file: None, filed: 0, buffer: Vec::new() }
    }

    /// Where to append. Call [`Spill::settle`] after each record.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Whether everything gathered is in the buffer.
    pub fn is_short(&self) -> bool {
        self.front.is_empty()
    }

    /// How many bytes were gathered.
    pub fn gathered(&self) -> u64 {
        self.filed + (self.front.len() + self.buffer.len()) as u64
    }

    /// Make room in the buffer where it is used up.
    ///
    /// # Errors
    /// No temporary file can be made or written.
    pub fn settle(&mut self) -> io::Result<()> {
        if self.front.is_empty() {
            if self.buffer.len() >= self.room {
                self.front = std::mem::take(&mut self.buffer);
            }
            return Ok(());
        }
        let most = self.room.min(CHUNK);
        if self.buffer.len() < most {
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
        self.buffer.shrink_to(2 * most);
        Ok(())
    }

    /// Forget everything gathered.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn clear(&mut self) -> io::Result<()> {
        self.front = Vec::new();
        self.buffer.clear();
        if let Some(file) = self.file.as_mut().filter(|_| self.filed > 0) {
            file.set_len(0)?;
            file.rewind()?;
        }
        self.filed = 0;
        Ok(())
    }

    /// Read back everything, as often as wanted.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn read(&mut self) -> io::Result<impl Read + '_> {
        let Spill { front, file, filed, buffer, .. } = self;
        let file = file.as_mut().filter(|_| *filed > 0);
        let middle: Box<dyn Read> = match file {
            Some(file) => {
                file.rewind()?;
                Box::new(file.take(*filed))
            }
            None => Box::new(io::empty()),
        };
        Ok(front.as_slice().chain(middle).chain(buffer.as_slice()))
    }

    /// Write everything.
    ///
    /// # Errors
    /// Those of `out` and of the temporary file.
    pub fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.front)?;
        if let Some(file) = self.file.as_mut().filter(|_| self.filed > 0) {
            file.rewind()?;
            let mut middle = io::BufReader::with_capacity(self.room.min(CHUNK), file.take(self.filed));
            while let block @ [_, ..] = middle.fill_buf()? {
                out.write_all(block)?;
                let length = block.len();
                middle.consume(length);
            }
        }
        out.write_all(&self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 10_000;

    fn round(spill: &mut Spill, sizes: &[usize]) {
        let records: Vec<_> = sizes.iter().zip(b'a'..).map(|(size, byte)| vec![byte; *size]).collect();
        for record in &records {
            spill.buffer().extend_from_slice(record);
            spill.settle().unwrap();
        }
        let all = records.concat();
        for _ in 0..2 {
            let (mut read, mut written) = (Vec::new(), Vec::new());
            spill.read().unwrap().read_to_end(&mut read).unwrap();
            spill.write(&mut written).unwrap();
            assert!(read == all && written == all, "{sizes:?}");
        }
        assert!(!spill.is_short() || *spill.buffer() == all);
        spill.clear().unwrap();
    }

    #[test]
    fn what_went_in_comes_out_time_after_time() {
        let mut spill = Spill::of(ROOM);
        for sizes in
            [&[1, 2, 3][..], &[ROOM, 1, ROOM + 5, 7], &[], &[3, 3 * ROOM, 4 * ROOM], &[9], &[ROOM; 7]]
        {
            round(&mut spill, sizes);
        }
    }

    #[test]
    fn only_what_memory_does_not_hold_makes_a_file() {
        let mut spill = Spill::of(ROOM);
        round(&mut spill, &[ROOM - 1]);
        round(&mut spill, &[ROOM, ROOM - 1]);
        assert!(spill.file.is_none());
        round(&mut spill, &[ROOM, ROOM]);
        assert!(spill.file.is_some());
    }
}
