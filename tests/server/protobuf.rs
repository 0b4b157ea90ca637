//! Protobuf as it goes over the wire, without anybody's schema: what our definitions are checked against.

#![allow(dead_code, reason = "each test binary that includes this file uses its own part of it")]

use std::collections::BTreeMap;

/// A message as anybody reads it who has no schema: its fields by number.
#[derive(Debug, Default)]
pub(crate) struct Message(pub(crate) BTreeMap<u64, Vec<Field>>);

/// What a field holds.
#[derive(Clone, Debug)]
pub(crate) enum Field {
    Number(u64),
    Float(f32),
    Bytes(Vec<u8>),
}

impl Message {
    /// Takes a message apart.
    pub(crate) fn read(mut bytes: &[u8]) -> Self {
        let mut message = Self::default();
        while !bytes.is_empty() {
            let key = number(&mut bytes);
            let field = match key & 7 {
                0 => Field::Number(number(&mut bytes)),
                2 => {
                    let length = number(&mut bytes) as usize;
                    Field::Bytes(take(&mut bytes, length).to_vec())
                }
                5 => Field::Float(f32::from_le_bytes(take(&mut bytes, 4).try_into().unwrap())),
                kind => panic!("field {} is of kind {kind}", key >> 3),
            };
            message.0.entry(key >> 3).or_default().push(field);
        }
        message
    }

    /// What a field holds that may come more than once.
    pub(crate) fn bytes(&self, field: u64) -> Vec<&[u8]> {
        self.0.get(&field).into_iter().flatten().map(Field::as_bytes).collect()
    }

    /// The same, of messages in the message.
    pub(crate) fn messages(&self, field: u64) -> Vec<Message> {
        self.bytes(field).into_iter().map(Message::read).collect()
    }

    /// The same, of texts.
    pub(crate) fn texts(&self, field: u64) -> Vec<String> {
        self.bytes(field).into_iter().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect()
    }

    /// A number is left out where it is 0.
    pub(crate) fn number(&self, field: u64) -> u64 {
        match self.0.get(&field).map(Vec::as_slice) {
            None => 0,
            Some([Field::Number(number)]) => *number,
            Some(other) => panic!("{other:?}"),
        }
    }
}

impl Field {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            other => panic!("{other:?} is not bytes"),
        }
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn number(bytes: &mut &[u8]) -> u64 {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    take(bytes, length).iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f))
}

/// A number as it is written.
pub(crate) fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A field that holds a text.
pub(crate) fn text(field: u64, text: &str) -> Vec<u8> {
    [varint(field << 3 | 2), varint(text.len() as u64), text.as_bytes().to_vec()].concat()
}

/// A field that holds a message.
pub(crate) fn message(field: u64, message: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(message.len() as u64), message.to_vec()].concat()
}
