//! Numbers at the ends of what a format holds: kept or refused, never turned into another one, nor into `null`.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::de::value::{Error, MapDeserializer};
use serde::{Deserialize, Serialize};

use crate::{Count, Label, by_hand, json, keeps_numbers_as_text, reprinted};

/// A number under a key, as messagepack has it.
#[derive(Serialize)]
struct Given<T> {
    plain: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsigned_64: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    or_number: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    below_zero_and_unsigned: Option<T>,
}

const NONE: Given<f64> = Given { plain: 1, unsigned_64: None, or_number: None, below_zero_and_unsigned: None };

fn messagepack<T: Serialize>(given: &Given<T>) -> Result<Count, String> {
    rmp_serde::from_slice(&rmp_serde::to_vec_named(given).unwrap()).map_err(|error| error.to_string())
}

fn yaml(text: &str) -> Result<Count, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

/// Refused, or kept as it is; then JSON cannot print it.
#[track_caller]
fn not_null<E: Debug>(read: Result<Count, E>, is: fn(f64) -> bool) {
    if let Ok(count) = read {
        assert!(count.below_zero_and_unsigned.is_none(), "JSON holds no such number: {count:?}");
        assert!(count.or_number.is_some_and(is), "{count:?}");
        let printed = serde_json::to_string(&count);
        assert!(printed.is_err(), "{printed:?}");
        assert!(serde_json::to_value(&count).is_err());
    }
}

#[test]
fn nan_and_infinity_never_become_null() {
    for (name, number, is) in [
        (".nan", f64::NAN, f64::is_nan as fn(f64) -> bool),
        (".inf", f64::INFINITY, |number| number == f64::INFINITY),
        ("-.inf", f64::NEG_INFINITY, |number| number == f64::NEG_INFINITY),
    ] {
        not_null(messagepack(&Given { or_number: Some(number), ..NONE }), is);
        not_null(messagepack(&Given { below_zero_and_unsigned: Some(number), ..NONE }), is);
        not_null(yaml(&format!("plain: 1\nor_number: {name}\n")), is);
        not_null(yaml(&format!("plain: 1\nbelow_zero_and_unsigned: {name}\n")), is);
        messagepack(&Given { unsigned_64: Some(number), ..NONE }).unwrap_err();
        yaml(&format!("plain: {name}\n")).unwrap_err();
        let toml = name.replace('.', "");
        not_null(toml::from_str(&format!("plain = 1\nor_number = {toml}\n")), is);
        // Untyped, and deep within.
        let map = BTreeMap::from([("labels", BTreeMap::new()), ("free", BTreeMap::from([("a", vec![number])]))]);
        let label: Result<Label, _> = rmp_serde::from_slice(&rmp_serde::to_vec_named(&map).unwrap());
        assert!(label.is_err(), "{label:?}");
        let printed = serde_json::to_string(&Count { or_number: Some(number), ..Count::new(1) });
        assert!(printed.is_err(), "{printed:?}");
    }
}

#[test]
fn limits_of_64_bit_integers_round_trip_in_every_format() {
    for plain in [i64::MIN, i64::MIN + 1, -1, 0, (1 << 53) + 1, i64::MAX] {
        for unsigned in [0, (1 << 53) + 1, i64::MAX.unsigned_abs(), u64::MAX] {
            let text = format!(r#"{{"plain":{plain},"unsigned_64":{unsigned}}}"#);
            let count: Count = serde_json::from_str(&text).unwrap();
            assert_eq!((count.plain, count.unsigned_64), (plain, Some(unsigned)));
            assert_eq!(serde_json::to_string(&count).unwrap(), text);
            assert_eq!(serde_json::to_value(&count).unwrap(), json(&text));
            assert_eq!(reprinted::<by_hand::Count>(&text).unwrap(), text);
            assert_eq!(yaml(&serde_saphyr::to_string(&count).unwrap()).unwrap(), count);
            assert_eq!(rmp_serde::from_slice::<Count>(&rmp_serde::to_vec(&count).unwrap()).unwrap(), count);
            match toml::to_string(&count) {
                Ok(printed) => assert_eq!(toml::from_str::<Count>(&printed).unwrap(), count),
                Err(_) => assert!(unsigned > i64::MAX.unsigned_abs(), "TOML holds {text}"),
            }
        }
    }
    for text in
        [r#"{"plain":9223372036854775808}"#, r#"{"plain":-9223372036854777856}"#, r#"{"plain":1,"unsigned_64":-1}"#]
    {
        assert_eq!(reprinted::<Count>(text), None, "{text}");
        assert_eq!(reprinted::<by_hand::Count>(text), None, "{text}");
    }
    let error = serde_json::from_str::<Count>(r#"{"plain":9223372036854775808}"#).unwrap_err().to_string();
    assert!(error.contains("64-bit") && error.contains("plain"), "{error}");
}

#[test]
fn floats_round_trip_in_every_format() {
    for text in ["5", "-0.0", "1e300", "5e-324", "0.1", "1.7976931348623157e308", "31.245270191439438", "-1e19"] {
        let given = format!(r#"{{"plain":1,"or_number":{text}}}"#);
        let count: Count = serde_json::from_str(&given).unwrap();
        let number: f64 = text.parse().unwrap();
        let kept = |read: Count| read.or_number.map(f64::to_bits) == Some(number.to_bits());
        assert!(kept(count.clone()), "{text}");
        assert!(kept(serde_json::from_str(&serde_json::to_string(&count).unwrap()).unwrap()), "{text} in JSON");
        assert!(kept(Count::deserialize(serde_json::to_value(&count).unwrap()).unwrap()), "{text} in a Value");
        assert!(kept(yaml(&serde_saphyr::to_string(&count).unwrap()).unwrap()), "{text} in YAML");
        assert!(kept(rmp_serde::from_slice(&rmp_serde::to_vec(&count).unwrap()).unwrap()), "{text} in messagepack");
        assert!(kept(toml::from_str(&toml::to_string(&count).unwrap()).unwrap()), "{text} in TOML");
    }
    assert_eq!(reprinted::<Count>(r#"{"plain":1,"or_number":5.0}"#).unwrap(), r#"{"plain":1,"or_number":5}"#);
}

#[test]
fn integral_floats_decode_as_integers() {
    for text in ["5.0", "-9007199254740992.0", "1e3"] {
        let given = format!("plain: {text}\n");
        assert_eq!(yaml(&given).unwrap().plain as f64, text.parse::<f64>().unwrap());
        assert_eq!(toml::from_str::<Count>(&format!("plain = {text}")).unwrap(), yaml(&given).unwrap());
    }
    assert_eq!(messagepack(&Given { unsigned_64: Some(5.0), ..NONE }).unwrap().unsigned_64, Some(5));
    for text in ["5.5", "1e300", "'5'", "5x", "true"] {
        yaml(&format!("plain: {text}\n")).unwrap_err();
    }
    for number in [0.5, -1.0, 18_446_744_073_709_551_616.0] {
        messagepack(&Given { unsigned_64: Some(number), ..NONE }).unwrap_err();
    }
}

#[test]
fn integers_beyond_64_bits_are_refused() {
    let wide = |number: i128, key: &'static str| {
        let plain = BTreeMap::from([("plain", 1), (key, number)]);
        Count::deserialize(MapDeserializer::<_, Error>::new(plain.into_iter()))
    };
    let unsigned = |number: u128, key: &'static str| {
        let plain = BTreeMap::from([("plain", 1), (key, number)]);
        Count::deserialize(MapDeserializer::<_, Error>::new(plain.into_iter()))
    };
    // serde's own integers refuse any that come as 128 bits.
    assert_eq!(wide(7, "plain").unwrap().plain, 7);
    assert_eq!(unsigned(u128::from(u64::MAX), "unsigned_64").unwrap().unsigned_64, Some(u64::MAX));
    for number in [i128::MAX, i128::MIN, 1 << 64, (1 << 100) + 1] {
        for key in ["plain", "unsigned_64", "or_number", "below_zero_and_unsigned"] {
            let error = wide(number, key).unwrap_err().to_string();
            assert!(error.contains(&format!("found a larger integer at `/{key}`")), "{error}");
            // The reader of YAML makes a double of it where no integer is asked for, as JSON's does.
            let text =
                if key == "plain" { format!("plain: {number}\n") } else { format!("plain: 1\n{key}: {number}\n") };
            if let Ok(count) = yaml(&text) {
                let double = count.below_zero_and_unsigned.map_or(count.or_number, |untyped| untyped.as_f64());
                assert_eq!(double, Some(number as f64), "{text}");
            }
        }
    }
    for key in ["plain", "unsigned_64", "or_number", "below_zero_and_unsigned"] {
        unsigned(u128::MAX, key).unwrap_err();
        unsigned(1 << 64, key).unwrap_err();
    }
}

#[test]
fn errors_name_the_kind_of_a_number() {
    let error = |number: &str| {
        let read = serde_json::from_str::<Count>(&format!(r#"{{"plain":{number}}}"#));
        read.unwrap_err().to_string()
    };
    for (number, kind) in [
        ("0.5", "a fraction"),
        ("1e19", "a larger integer"),
        ("1e300", "a larger number"),
        ("-1e300", "a larger number"),
    ] {
        assert!(error(number).contains(&format!("found {kind} at")), "{}", error(number));
    }
    if keeps_numbers_as_text() {
        let larger = ["1e400", "-9223372036854775809", "18446744073709551616"];
        assert!(larger.iter().all(|number| error(number).contains("found a larger number at")));
        assert!(error("1.00000000000000000000001").contains("found a fraction at"));
    }
}

#[derive(Debug)]
struct Old {}
mcp_bindgen::__private::__object!(Old {} tag "version");

#[derive(Debug)]
enum Versioned {
    Old(Old),
}
mcp_bindgen::__private::__tagged_union!(Versioned by json "version" { Old = "0", });

#[test]
fn number_as_a_tag_is_compared_by_value() {
    for text in ["0", "0.0", "-0", "-0.0", "0e5"] {
        assert_eq!(reprinted::<Versioned>(&format!(r#"{{"version":{text}}}"#)).unwrap(), r#"{"version":0}"#, "{text}");
    }
}

#[test]
fn untyped_numbers_round_trip_in_every_format() {
    let texts = ["0", "-1", "18446744073709551615", "-9223372036854775808", "0.1", "1e300", "-0.0", "5.0"];
    for text in texts {
        let given = format!(r#"{{"labels":{{}},"free":{{"n":{text},"in":[{{"n":{text}}}]}}}}"#);
        let label: Label = serde_json::from_str(&given).unwrap();
        let same = |read: Label, format: &str| {
            let number = |label: &Label| label.free.as_ref().and_then(|free| free["in"][0]["n"].as_f64());
            assert_eq!(number(&read).map(f64::to_bits), number(&label).map(f64::to_bits), "{text} in {format}");
            let (read, label) = (serde_json::to_value(&read).unwrap(), serde_json::to_value(&label).unwrap());
            assert!(crate::same(&read, &label), "{text} in {format}: {read}");
        };
        same(serde_json::from_str(&serde_json::to_string(&label).unwrap()).unwrap(), "JSON");
        same(serde_json::from_value(serde_json::to_value(&label).unwrap()).unwrap(), "a Value");
        same(serde_saphyr::from_str(&serde_saphyr::to_string(&label).unwrap()).unwrap(), "YAML");
        same(rmp_serde::from_slice(&rmp_serde::to_vec(&label).unwrap()).unwrap(), "messagepack");
        if text != "18446744073709551615" {
            same(toml::from_str(&toml::to_string(&label).unwrap()).unwrap(), "TOML");
        }
    }
}
