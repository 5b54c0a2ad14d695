//! What `--help` says, read: the one table of options that pages and completions are held to.

use super::common::Cmd;

/// The help of one program.
pub struct Help {
    pub about: String,
    pub options: Vec<Opt>,
    pub operand: Value,
}

/// One option.
pub struct Opt {
    pub short: Option<char>,
    /// Without its hyphens.
    pub long: String,
    pub value: Option<Value>,
    pub about: String,
}

/// An operand, or the value of an option.
pub struct Value {
    /// `FILE`
    pub name: String,
    /// Whether it may be given more than once.
    pub repeats: bool,
}

impl Help {
    /// Ask the program itself.
    pub fn of(program: &str) -> Help {
        let output = Cmd::new(program).arg("--help").run().ok();
        let (usage, rest) = output.stdout_str().split_once("\n\n").unwrap();
        let (about, rest) = rest.split_once("\n\n").unwrap();
        let (_, list) = rest.split_once("Options:\n").unwrap();

        let mut options: Vec<Opt> = Vec::new();
        for line in list.lines() {
            match line.strip_prefix("  -") {
                Some(option) => options.push(Opt::read(option, usage)),
                None => options.last_mut().unwrap().tell(line),
            }
        }
        assert!(options.len() >= 2, "{list}");
        let operand = Value::after("[--] [", usage).or_else(|| Value::after("[--] <OUT> [", usage)).unwrap();
        Help { about: about.replace('\n', " "), options, operand }
    }
}

impl Opt {
    /// `o, --output      make one file` or `-pretty          lay bodies`, after the first hyphen.
    fn read(line: &str, usage: &str) -> Opt {
        let (names, about) = line.split_once("  ").unwrap_or((line, ""));
        let (short, long) = match names.split_once(", --") {
            Some((short, long)) => (short.chars().next(), long),
            None => (None, names.trim_start_matches('-')),
        };
        // Only the usage names values, after one of the names.
        let spellings = [short.map(|short| format!("[-{short} ")), Some(format!("[--{long} "))];
        let value = spellings.iter().flatten().find_map(|spelling| Value::after(spelling, usage));
        let mut option = Opt { short, long: long.to_owned(), value, about: String::new() };
        option.tell(about);
        option
    }

    fn tell(&mut self, more: &str) {
        self.about = format!("{} {}", self.about, more.trim()).trim().to_owned();
    }

    /// `-o`, `--output`
    pub fn names(&self) -> Vec<String> {
        let short = self.short.map(|short| format!("-{short}"));
        short.into_iter().chain([format!("--{}", self.long)]).collect()
    }
}

impl Value {
    /// `<DIR>` or `<SOURCE...>` where it follows `before`.
    fn after(before: &str, usage: &str) -> Option<Value> {
        let (_, rest) = usage.split_once(&format!("{before}<"))?;
        let name = rest.split('>').next()?;
        let once = name.trim_end_matches("...");
        Some(Value { name: once.to_owned(), repeats: once != name })
    }
}
