//! Messages of protocol buffers, as far as ONNX files need them: the writer of a binary format.
//!
//! A field is a key, number · 8 + wire type, then its value: a variable-length integer (0), bytes with their
//! length before them (2), or four bytes (5).

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Appends an integer.
    pub fn int(mut self, field: u32, value: i64) -> Self {
        self.key(field, 0);
        self.varint(value as u64);
        self
    }
    /// Appends a 32-bit float.
    pub fn float(mut self, field: u32, value: f32) -> Self {
        self.key(field, 5);
        self.bytes.extend(value.to_le_bytes());
        self
    }
    /// Appends bytes.
    pub fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.key(field, 2);
        self.varint(value.len() as u64);
        self.bytes.extend(value);
        self
    }
    /// Appends text.
    pub fn text(self, field: u32, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }
    /// Appends a message.
    pub fn message(self, field: u32, value: &Message) -> Self {
        self.bytes(field, &value.bytes)
    }
    /// The encoded message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn key(&mut self, field: u32, wire_type: u64) {
        self.varint(u64::from(field) << 3 | wire_type);
    }
    /// Seven bits to a byte, the lowest first; the eighth bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
pub mod reader {
    //! What a test reads back.

    /// A field: its number and value; integers as eight bytes.
    pub type Field = (u32, Vec<u8>);

    /// Fields of a message in order.
    pub fn fields(mut bytes: &[u8]) -> Vec<Field> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let length = match key & 7 {
                0 => {
                    fields.push(((key >> 3) as u32, varint(&mut bytes).to_le_bytes().to_vec()));
                    continue;
                }
                2 => varint(&mut bytes) as usize,
                5 => 4,
                other => panic!("wire type {other}"),
            };
            let (value, rest) = bytes.split_at(length);
            fields.push(((key >> 3) as u32, value.to_vec()));
            bytes = rest;
        }
        fields
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let inner = super::Message::default().text(2, "name").float(3, 1.5);
        let message = super::Message::default().int(1, 300).int(20, -1).message(7, &inner);
        let fields_read = fields(&message.into_bytes());
        assert_eq!(fields_read[0], (1, 300_u64.to_le_bytes().to_vec()));
        assert_eq!(fields_read[1], (20, vec![0xff; 8]));
        let inner = fields(&fields_read[2].1);
        assert_eq!(inner, [(2, b"name".to_vec()), (3, 1.5_f32.to_le_bytes().to_vec())]);
    }
}
