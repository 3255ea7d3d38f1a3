//! Encrypted and signed archives: opened by the identity and by nothing else, known by their labels, told from damage.

use std::fs;

use age::secrecy::ExposeSecret;

use super::*;
use crate::config::limits::RECIPIENTS_MAX;

fn identity(place: &Place, name: &str) -> (PathBuf, String) {
    let identity = age::x25519::Identity::generate();
    let path = place.path(name);
    let text =
        format!("# created: now\n# public key: {}\n{}\n", identity.to_public(), identity.to_string().expose_secret());
    fs::write(&path, text).unwrap();
    (path, identity.to_public().to_string())
}

fn sealed(place: &Place, name: &str, sealing: &Sealing, base: Option<&Archive>) -> PathBuf {
    let target = ArchiveTarget::File(place.path("archives").join(name));
    fs::create_dir_all(place.path("archives")).unwrap();
    let base = base.map(Archive::base);
    place.try_sealed(target, base.as_ref(), Some(sealing.clone())).expect("the backup is taken").path
}

fn sealed_as(place: &Place, name: &str, sealing: &Sealing) -> PathBuf {
    sealed(place, name, sealing, None)
}

fn keys(path: &Path, signed_by: Option<Signer>) -> ArchiveKeys {
    ArchiveKeys::read(&[path.to_owned()], signed_by).unwrap()
}

/// What was seen: `hcert backup`, run by root on the folder of a running server, made a key that the server's next start could not read.
#[test]
fn a_key_that_root_makes_belongs_to_the_owner_of_the_folder() {
    use std::os::unix::fs::{MetadataExt, chown};
    if base::owner::own_user() != 0 {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("store.redb"), "").unwrap();
    chown(folder.path(), Some(4_242), Some(4_243)).unwrap();
    let recipient = age::x25519::Identity::generate().to_public().to_string();
    Sealing::open(&[recipient], folder.path()).unwrap().unwrap();
    let made = fs::metadata(folder.path().join(SIGNING_KEY_FILE)).unwrap();
    assert_eq!((made.uid(), made.gid(), made.mode() & 0o777), (4_242, 4_243, 0o600));
}

#[test]
fn an_encrypted_archive_is_opened_by_its_identity_alone_and_restores_what_a_plain_one_does() {
    let place = Place::with_history(40);
    let ((own, recipient), (other, _)) = (identity(&place, "own"), identity(&place, "other"));
    let sealing = Sealing::open(&[recipient], &place.path("data")).unwrap().unwrap();
    let plain = place.full("plain.tar");
    let sealed = sealed(&place, "sealed.tar.age", &sealing, None);
    let bytes = fs::read(&sealed).unwrap();
    assert!(!bytes.windows(9).any(|window| window == b"manifest."), "nothing of it can be read");
    let looked = Archive::look(&sealed, &keys(&own, Some(sealing.signer()))).unwrap();
    assert_eq!((looked.about.until, looked.about.next_id), (plain.about.until, plain.about.next_id));
    let checked = check(std::slice::from_ref(&looked), true, &mut |_| {}).unwrap();
    assert_eq!(checked.changes, plain.about.until);
    place.restored(&[looked], "restored", None);
    // What opens nothing says so, and is no damage.
    let named = [sealed.clone()];
    assert!(closed(&named, &ArchiveKeys::default()).unwrap().contains("--identity FILE"));
    assert!(closed(&named, &keys(&other, None)).unwrap().contains("another recipient"));
    assert_eq!(closed(&named, &keys(&own, None)), None);
    let many = ArchiveKeys::read(&[other, own.clone()], None).unwrap();
    assert_eq!(closed(&named, &many), None);
    // In a folder it is enough that some are opened; without an identity nothing is.
    let folder = [place.path("archives")];
    let (_, others) = identity(&place, "others");
    let for_others = Sealing::open(&[others], &place.path("data")).unwrap().unwrap();
    sealed_as(&place, "hcert-9.tar.age", &for_others);
    fs::copy(&sealed, place.path("archives/hcert-8.tar.age")).unwrap();
    assert_eq!(closed(&folder, &keys(&own, None)), None);
    assert!(closed(&folder, &ArchiveKeys::default()).is_some());
    // With a key that archives must have, plain ones are nothing to go on from.
    let server = ArchiveKeys::of_signer(Some(sealing.signer()));
    assert!(Archive::look(&plain.path, &server).unwrap_err().contains("neither encrypted nor signed"));
    // Signed by somebody else, or not at all.
    let elsewhere = Place::new();
    let (_, recipient) = identity(&elsewhere, "own");
    let open = |data: &str| Sealing::open(std::slice::from_ref(&recipient), &elsewhere.path(data));
    let stranger = open("data").unwrap().unwrap().signer();
    // Where there is no store nothing is signed, and no key is left.
    fs::create_dir(elsewhere.path("empty")).unwrap();
    assert!(open("empty").map(drop).unwrap_err().contains("no store"));
    assert_eq!(fs::read_dir(elsewhere.path("empty")).unwrap().count(), 0);
    let wrong = Archive::look(&sealed, &keys(&own, Some(stranger))).unwrap_err();
    assert!(wrong.contains(&format!("signed by {}, and not by {stranger}", sealing.signer())), "{wrong}");
    let wrong = Archive::look(&plain.path, &keys(&own, Some(stranger))).unwrap_err();
    assert!(wrong.contains("neither encrypted nor signed"), "{wrong}");
    // Without its label it is opened, but nobody has signed it.
    fs::remove_file(place.path("archives/sealed.tar.age.json")).unwrap();
    assert!(Archive::look(&sealed, &keys(&own, None)).is_ok());
    assert!(Archive::look(&sealed, &keys(&own, Some(sealing.signer()))).unwrap_err().contains("not signed"));
    assert!(
        Archive::look(&sealed, &ArchiveKeys::of_signer(Some(sealing.signer()))).unwrap_err().contains("not signed")
    );
}

#[test]
fn every_changed_or_missing_byte_of_an_encrypted_archive_and_its_label_is_found() {
    let place = Place::with_history(40);
    let (own, recipient) = identity(&place, "own");
    let sealing = Sealing::open(&[recipient], &place.path("data")).unwrap().unwrap();
    let sealed = sealed(&place, "sealed.tar.age", &sealing, None);
    fs::remove_file(place.path("archives/sealed.tar.age.sha256")).unwrap();
    let whole = fs::read(&sealed).unwrap();
    let read =
        |keys: &ArchiveKeys| Archive::look(&sealed, keys).and_then(|archive| check(&[archive], true, &mut |_| {}));
    assert!(read(&keys(&own, None)).is_ok());
    let chunks = (0..whole.len()).step_by(64 * 1024).flat_map(|at| [at, at + 200, at + 220]);
    for at in chunks.chain((0..whole.len()).step_by(4_099)).filter(|at| *at < whole.len()) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&sealed, &changed).unwrap();
        assert!(read(&keys(&own, None)).is_err(), "byte {at} was changed");
        fs::write(&sealed, &whole[..at]).unwrap();
        assert!(read(&keys(&own, None)).is_err(), "it ends before byte {at}");
    }
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    fs::write(&sealed, &changed).unwrap();
    let problem = read(&keys(&own, None)).unwrap_err();
    assert!(problem.ends_with("sealed.tar.age: the archive is damaged: decryption error"), "{problem}");
    fs::write(&sealed, [whole.as_slice(), b"x"].concat()).unwrap();
    assert!(read(&keys(&own, None)).is_err());
    fs::write(&sealed, &whole).unwrap();
    let path = place.path("archives/sealed.tar.age.json");
    let label = fs::read(&path).unwrap();
    for at in (0..label.len()).filter(|at| !label[*at].is_ascii_whitespace()) {
        let mut changed = label.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        let known = Archive::look(&sealed, &ArchiveKeys::of_signer(Some(sealing.signer())));
        assert!(known.is_err(), "byte {at} of the label was changed: {known:?}");
    }
}

#[test]
fn archives_go_on_from_encrypted_ones_by_their_labels() {
    let place = Place::with_history(40);
    let (own, recipient) = identity(&place, "own");
    let sealing = Sealing::open(&[recipient], &place.path("data")).unwrap().unwrap();
    let server = ArchiveKeys::of_signer(Some(sealing.signer()));
    let full = Archive::look(&sealed(&place, "hcert-1.tar.age", &sealing, None), &server).unwrap();
    play(&place.engine, &place.now, &Script::new(8, 10), u64::MAX, u64::MAX);
    sealed(&place, "hcert-2.tar.age", &sealing, Some(&full));
    let folder = place.path("archives");
    let chain = newest_in(&folder, None, &server, &mut |problem| panic!("{problem}")).unwrap();
    assert_eq!(chain.len(), 2);
    let opened = keys(&own, Some(sealing.signer()));
    let survey = survey(&folder, &opened, &mut |_| {}).unwrap();
    assert!(survey.is_whole() && survey.whole.archives == 2, "{survey:?}");
    let chain = newest_in(&folder, None, &opened, &mut |problem| panic!("{problem}")).unwrap();
    place.restored(&chain, "restored", None);
}

/// What was seen: an archive for 170 recipients was made, and could not be restored.
#[test]
fn an_archive_for_as_many_recipients_as_are_allowed_is_opened_by_each() {
    let place = Place::with_history(40);
    let (first, recipient) = identity(&place, "first");
    let mut recipients = vec![recipient];
    recipients.extend((2..RECIPIENTS_MAX).map(|_| age::x25519::Identity::generate().to_public().to_string()));
    let (last, recipient) = identity(&place, "last");
    recipients.push(recipient);
    let sealing = Sealing::open(&recipients, &place.path("data")).unwrap().unwrap();
    let archive = [sealed(&place, "sealed.tar.age", &sealing, None)];
    assert_eq!(closed(&archive, &keys(&first, None)), None);
    assert_eq!(closed(&archive, &keys(&last, None)), None);
    recipients.push(recipients[0].clone());
    let told = Sealing::open(&recipients, &place.path("data")).map(drop).unwrap_err();
    assert!(told.contains("65 recipients"), "{told}");
}

#[test]
fn what_is_no_recipient_no_identity_and_no_key_is_refused_in_words() {
    let place = Place::with_history(40);
    let data = place.path("data");
    let refused = |text: &str| Sealing::open(&[text.to_owned()], &data).map(drop).unwrap_err();
    assert!(refused("age1x").contains("no recipient"));
    assert!(refused("AGE-SECRET-KEY-1XYZ").contains("kept elsewhere"));
    assert!(Sealing::open(&[], &data).unwrap().is_none());
    for (text, told) in [
        ("", "no identity"),
        ("# nothing\n", "no identity"),
        ("hello", "AGE-SECRET-KEY-1"),
        ("AGE-SECRET-KEY-1XYZ", "AGE-SECRET-KEY-1"),
    ] {
        fs::write(place.path("identity"), text).unwrap();
        let wrong = ArchiveKeys::read(&[place.path("identity")], None).unwrap_err();
        assert!(wrong.contains(told), "{wrong}");
    }
    assert!(ArchiveKeys::read(&[place.path("none")], None).unwrap_err().contains("none: "));
    let given = ArchiveKeys::read(&["AGE-SECRET-KEY-1XYZ".into()], None).unwrap_err();
    assert!(given.contains("in the place of a file") && !given.contains("XYZ"), "{given}");
    drop(base::regular_file::make_anew(&data.join("backup-signing-key")).unwrap());
    fs::write(data.join("backup-signing-key"), "no key").unwrap();
    let (_, recipient) = identity(&place, "own");
    assert!(refused(&recipient).contains("no signing key; put it back"));
    assert!("1234".parse::<Signer>().is_err() && "zz".repeat(32).parse::<Signer>().is_err());
}

/// What was seen: a file of a megabyte that only begins as an encrypted archive took minutes of a processor.
#[test]
fn a_header_without_an_end_is_refused_before_it_is_read() {
    let place = Place::with_history(3);
    let (path, _) = identity(&place, "one");
    let hostile = place.path("hcert-hostile.tar.age");
    fs::write(&hostile, [b"age-encryption.org/v1\n-> X25519 ".as_slice(), &[b'A'; 1 << 20]].concat()).unwrap();
    let told = Archive::look(&hostile, &keys(&path, None)).unwrap_err();
    assert!(told.contains("its header has no end"), "{told}");
}
