//! The word that a scenario writes for a value.

use serde::ser::{Error as _, Impossible, Serialize, Serializer};

/// How serde writes a bare enum: the word of a scenario.
pub(crate) fn bare_word<T: Serialize>(value: &T) -> String {
    value.serialize(WordOnly).unwrap_or_default()
}

type No = Impossible<String, serde::de::value::Error>;
type Answer = Result<String, serde::de::value::Error>;

/// The smallest serializer that can name a unit variant.
struct WordOnly;

macro_rules! refuse {
    ($($name:ident: $ty:ty),* $(,)?) => {$(
        fn $name(self, _: $ty) -> Answer { Err(Self::Error::custom("not a word")) }
    )*};
}

impl Serializer for WordOnly {
    type Ok = String;
    type Error = serde::de::value::Error;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Answer {
        Ok(variant.to_owned())
    }
    fn serialize_str(self, v: &str) -> Answer {
        Ok(v.to_owned())
    }
    refuse! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }
    fn serialize_none(self) -> Answer {
        Err(Self::Error::custom("not a word"))
    }
    fn serialize_some<T: ?Sized + Serialize>(self, v: &T) -> Answer {
        v.serialize(self)
    }
    fn serialize_unit(self) -> Answer {
        Err(Self::Error::custom("not a word"))
    }
    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, v: &T) -> Answer {
        v.serialize(self)
    }
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: &T,
    ) -> Answer {
        Ok(variant.to_owned())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<No, Self::Error> {
        Err(Self::Error::custom("not a word"))
    }
    fn serialize_tuple(self, _: usize) -> Result<No, Self::Error> {
        Err(Self::Error::custom("not a word"))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<No, Self::Error> {
        Err(Self::Error::custom("not a word"))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<No, Self::Error> {
        Err(Self::Error::custom("not a word"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<No, Self::Error> {
        Err(Self::Error::custom("not a word"))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<No, Self::Error> {
        Err(Self::Error::custom("not a word"))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<No, Self::Error> {
        Err(Self::Error::custom("not a word"))
    }
}
