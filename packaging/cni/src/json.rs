//! As much of JSON (RFC 8259) as the plugin needs: one member of an object, and a quoted string.

const DEEPEST: usize = 128;

/// Return a top-level member of the object `text`: a string's content, or a number, true, false or null as written.
/// None where it is absent, or an object or array, or where the text before it is not JSON.
pub fn member(text: &str, key: &str) -> Option<String> {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
    reader.expect(b'{')?;
    loop {
        let name = reader.string()?;
        reader.expect(b':')?;
        if name == key {
            return reader.scalar();
        }
        reader.skip(0)?;
        reader.expect(b',')?;
    }
}

/// Return `text` as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut made = String::with_capacity(text.len() + 2);
    made.push('"');
    for letter in text.chars() {
        match letter {
            '"' => made.push_str("\\\""),
            '\\' => made.push_str("\\\\"),
            letter if (letter as u32) < 0x20 => made.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => made.push(letter),
        }
    }
    made.push('"');
    made
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    fn scalar(&mut self) -> Option<String> {
        if self.peek()? == b'"' {
            return self.string();
        }
        let from = self.at;
        while matches!(self.bytes.get(self.at), Some(b'0'..=b'9' | b'a'..=b'z' | b'E' | b'+' | b'-' | b'.')) {
            self.at += 1;
        }
        (self.at > from).then(|| String::from_utf8_lossy(&self.bytes[from..self.at]).into_owned())
    }

    fn skip(&mut self, depth: usize) -> Option<()> {
        let close = match self.peek()? {
            b'{' => b'}',
            b'[' => b']',
            _ => return self.scalar().map(|_| ()),
        };
        if depth == DEEPEST {
            return None;
        }
        self.at += 1;
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            if close == b'}' {
                self.string()?;
                self.expect(b':')?;
            }
            self.skip(depth + 1)?;
            if self.peek()? == close {
                self.at += 1;
                return Some(());
            }
            self.expect(b',')?;
        }
    }

    fn string(&mut self) -> Option<String> {
        self.expect(b'"')?;
        let mut made = Vec::new();
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(made).ok(),
                b'\\' => made.extend_from_slice(self.escaped()?.encode_utf8(&mut [0; 4]).as_bytes()),
                byte => made.push(byte),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' => Some(byte as char),
            b'b' => Some('\u{8}'),
            b'f' => Some('\u{c}'),
            b'n' => Some('\n'),
            b'r' => Some('\r'),
            b't' => Some('\t'),
            b'u' => self.code_point(),
            _ => None,
        }
    }

    /// Read one UTF-16 code unit, or two that are a surrogate pair; one alone is U+FFFD.
    fn code_point(&mut self) -> Option<char> {
        let first = self.code_unit()?;
        if !(0xd800..0xdc00).contains(&first) || self.bytes.get(self.at..self.at + 2) != Some(b"\\u".as_slice()) {
            return Some(char::from_u32(first).unwrap_or('\u{fffd}'));
        }
        self.at += 2;
        let second = self.code_unit()?;
        let joined = 0x10000 + ((first - 0xd800) << 10) + second.wrapping_sub(0xdc00);
        Some(char::from_u32(joined).filter(|_| (0xdc00..0xe000).contains(&second)).unwrap_or('\u{fffd}'))
    }

    fn code_unit(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }
}
