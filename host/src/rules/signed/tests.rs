//! What is signed, and what a signature is worth.

use super::*;

fn key(seed: u8) -> SigningKey {
    SigningKey::new([seed; 32])
}

fn claim(name: &str, text: &str, file: &[u8]) -> Claim {
    Claim {
        name: name.to_owned(),
        version: version(text).unwrap(),
        digest: Digest::of(file),
    }
}

fn mail() -> Signed {
    key(1).sign(claim("mail", "1.2.0", b"file")).unwrap()
}

fn vouched(name: &str, seed: u8) -> Vouched {
    Vouched {
        name: name.to_owned(),
        by: key(seed).signer().unwrap(),
    }
}

#[track_caller]
fn refused(result: Result<()>, says: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), Code::Denied);
    assert!(error.message().contains(says), "{error:?}");
}

#[test]
fn what_was_signed_is_read_as_it_was_written() {
    let signed = mail();
    let text = signed.text();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert_eq!(Signed::read(&text).unwrap(), signed);
    vouched("mail", 1)
        .admit(&signed, Digest::of(b"file"))
        .unwrap();
}

#[test]
fn no_byte_of_a_signature_can_be_another() {
    let text = mail().text();
    for at in 0..text.len() {
        for other in [b'0', b'B', b' ', b'\n'] {
            let mut bytes = text.clone().into_bytes();
            if bytes[at] == other {
                continue;
            }
            bytes[at] = other;
            let changed = String::from_utf8(bytes).unwrap();
            assert!(Signed::read(&changed).is_err(), "{changed}");
        }
        assert!(Signed::read(&text[..at]).is_err());
    }
    for more in ["\n", " ", "key x\n"] {
        assert!(Signed::read(&format!("{text}{more}")).is_err());
    }
    assert!(Signed::read(&text.replace('\n', "\r\n")).is_err());
    assert!(Signed::read("").is_err());
}

#[test]
fn what_a_key_has_signed_for_something_else_is_no_signature() {
    let mut signed = mail();
    let lines = signed.claim.lines(signed.by);
    let made = key(1).pair().unwrap().sign(lines.as_bytes());
    signed.signature = made.as_ref().try_into().unwrap();
    assert!(Signed::read(&signed.text()).is_err());
}

#[test]
fn a_signature_is_of_one_file_one_name_and_one_signer() {
    let (signed, file) = (mail(), Digest::of(b"file"));
    refused(
        vouched("mail", 1).admit(&signed, Digest::of(b"other")),
        "another file",
    );
    refused(
        vouched("web", 1).admit(&signed, file),
        "plugin `mail`, and not of `web`",
    );
    refused(vouched("mail", 2).admit(&signed, file), "it is signed by");
}

#[test]
fn a_manifest_says_what_was_signed() {
    let manifest = |name: &str, version: &str| {
        let tool = r#"{"name":"run","description":"d","effect":"pure","input":{"type":"object"},"output":{}}"#;
        let text = format!(
            r#"{{"plugin":"{name}","version":"{version}","description":"d","tools":[{tool}]}}"#
        );
        Manifest::read(&text).unwrap()
    };
    let claim = claim("mail", "1.2.0", b"file");
    claim.admit_manifest(&manifest("mail", "1.2.0")).unwrap();
    refused(
        claim.admit_manifest(&manifest("web", "1.2.0")),
        "is `web` 1.2.0",
    );
    refused(
        claim.admit_manifest(&manifest("mail", "1.2.1")),
        "`mail` 1.2.1",
    );
    refused(claim.admit_manifest(&manifest("mail", "one")), "`mail` one");
    assert_eq!(
        Claim::of(&manifest("mail", "1.2.0"), claim.digest).unwrap(),
        claim
    );
    let vague = Claim::of(&manifest("mail", "one"), claim.digest).unwrap_err();
    assert_eq!(vague.code(), Code::BadPlugin);
}

#[test]
fn versions_never_go_back() {
    let table = [
        ("1.2.0", None, true),
        ("1.2.0", Some("1.2.0"), true),
        ("1.10.0", Some("1.9.0"), true),
        ("1.9.0", Some("1.10.0"), false),
        ("1.2.0-rc.1", Some("1.2.0"), false),
        ("1.2.0", Some("1.2.0-rc.1"), true),
        ("0.9.9", Some("1.0.0"), false),
    ];
    for (now, newest, passes) in table {
        let newest = newest.map(|text| version(text).unwrap());
        let said = claim("mail", now, b"").admit_after(newest.as_ref());
        assert_eq!(said.is_ok(), passes, "{now} after {newest:?}");
    }
    assert!(version("1").is_none());
    assert!(version(&format!("1.0.0-{}", "a".repeat(SIGNED_VERSION_CHARS))).is_none());
}

#[test]
fn a_key_is_read_as_it_was_written_and_never_shown() {
    let text = key(7).text();
    let read = SigningKey::read(&text).unwrap();
    assert_eq!(read.signer().unwrap(), key(7).signer().unwrap());
    let secret = STANDARD.encode([7; 32]);
    for wrong in [
        "",
        "x",
        &text[1..],
        &text.replace(" 1", " 2"),
        &format!("{}\n", *text),
    ] {
        let error = SigningKey::read(wrong).map(|_| ()).unwrap_err();
        assert!(!format!("{error:?}").contains(&secret));
    }
}

#[test]
fn a_public_key_is_written_in_one_way() {
    let signer = key(1).signer().unwrap();
    assert_eq!(Signer::parse(&signer.to_string()).unwrap(), signer);
    let bare = signer.to_string().replace("ed25519:", "");
    for wrong in ["", "ed25519:", &bare, &format!("{signer}="), "ed25519:AAAA"] {
        assert!(Signer::parse(wrong).is_err(), "{wrong}");
    }
}
