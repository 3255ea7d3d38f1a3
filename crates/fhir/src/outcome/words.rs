//! Words of our own that stand as values in texts, in Estonian. Texts themselves stand in the catalogue.

use std::borrow::Cow;

/// English and Estonian, each as it stands in the middle of a text.
#[rustfmt::skip]
const WORDS: &[(&str, &str)] = &[
    ("null", "null"),
    ("none", "puudub"),
    ("the certificate as it was sent", "tervisetõend sellisena, nagu see saadeti"),
    // Why a body is not JSON.
    ("it ends inside an array", "see lõpeb massiivi sees"),
    ("it ends inside an object", "see lõpeb objekti sees"),
    ("it ends inside a string", "see lõpeb teksti sees"),
    ("it ends where a value is expected", "see lõpeb kohas, kus oodatakse väärtust"),
    ("':' is expected here", "siin oodatakse märki ':'"),
    ("',' or ']' is expected here", "siin oodatakse märki ',' või ']'"),
    ("',' or '}' is expected here", "siin oodatakse märki ',' või '}'"),
    ("true, false or null is expected here", "siin oodatakse väärtust true, false või null"),
    ("a value is expected here", "siin oodatakse väärtust"),
    ("a string has an invalid escape sequence", "tekstis on vigane paojada"),
    ("a number is not written as JSON requires", "arv ei ole JSON-i nõutud kujul"),
    ("a string has a control character that is not escaped", "tekstis on paojadata juhtmärk"),
    ("the name of a member in double quotes is expected here", "siin oodatakse jutumärkides võtit"),
    ("a comma stands before the closing bracket", "sulgeva sulu ees on koma"),
    ("there is text after the end of the JSON", "JSON-i lõpu järel on teksti"),
    ("a string has only one half of a surrogate pair", "tekstis on ainult pool surrogaatpaarist"),
    ("the id of an element, which has no white space", "elemendi id, milles ei ole tühikuid"),
    ("it is not a valid registry code", "see ei ole õige registrikood"),
    ("Practitioner/ followed by a valid personal code", "Practitioner/ ja õige isikukood"),
    ("Organization/ followed by a valid registry code", "Organization/ ja õige registrikood"),
    ("a reference to a contained PractitionerRole", "viide sisalduvale ressursile PractitionerRole"),
    ("open or closed, as valueString", "open või closed kujul valueString"),
    ("a simple value", "lihtväärtus"),
    ("a simple value, or a resource as 'resource'", "lihtväärtus või ressurss kujul 'resource'"),
    ("a Coding with a code, in a Parameters resource by POST", "koodiga Coding ressursis Parameters (POST)"),
    ("a CodeableConcept with codings, in a Parameters resource by POST", "CodeableConcept koos elemendiga coding ressursis Parameters (POST)"),
    ("allowed are: tags of BCP 47 such as et or en-GB", "lubatud on BCP 47 keelemärgendid, näiteks et või en-GB"),
    ("a boolean", "tõeväärtus"),
    ("a number", "arv"),
    ("a string", "tekst"),
    ("an array", "massiiv"),
    ("an object", "objekt"),
    ("a single value", "üks väärtus"),
    ("of a FHIR R5 resource", "mõne FHIR R5 ressursi nimi"),
    ("of this number", "selle numbriga"),
    ("no modifier", "täpsustuseta"),
    ("true or false", "true või false"),
    ("true, false, text, data or count", "true, false, text, data või count"),
    ("true, text, data or false on a read", "lugemisel true, text, data või false"),
    ("names of elements, separated by commas", "komadega eraldatud elementide nimed"),
    ("only one of _elements and _summary", "ainult üks kahest: _elements või _summary"),
    ("a whole number from 0", "täisarv alates nullist"),
    ("a whole number from 1", "täisarv alates ühest"),
    ("an id", "id"),
    ("code, system|code, |code or system|", "code, system|code, |code või system|"),
    ("code$text or system|code$text", "code$text või system|code$text"),
    ("a date such as 2025, 2025-03, 2025-03-30 or 2025-03-30T10:00:00+02:00", "kuupäev, näiteks 2025, 2025-03, 2025-03-30 või 2025-03-30T10:00:00+02:00"),
    ("a date such as 2025-03-30 or 2025-03-30T10:00:00+02:00", "kuupäev, näiteks 2025-03-30 või 2025-03-30T10:00:00+02:00"),
    ("one of the prefixes eq, ne, gt, lt, ge, le, sa, eb, ap before a date", "üks eesliidetest eq, ne, gt, lt, ge, le, sa, eb, ap kuupäeva ees"),
    ("one of the prefixes eq, gt, lt, ge, le, sa, eb before a date", "üks eesliidetest eq, gt, lt, ge, le, sa, eb kuupäeva ees"),
    ("application/fhir+json or application/json, fhirVersion 5.0, in UTF-8, without Content-Encoding", "application/fhir+json või application/json, fhirVersion 5.0, UTF-8, ilma päiseta Content-Encoding"),
    ("application/x-www-form-urlencoded, in UTF-8, without Content-Encoding", "application/x-www-form-urlencoded, UTF-8, ilma päiseta Content-Encoding"),
    ("a parameter is not percent-encoded UTF-8", "parameeter ei ole protsentkodeeritud UTF-8"),
    ("exactly one header Host must name this server", "täpselt üks päis Host peab nimetama seda serverit"),
    ("the body ended too early", "päringu sisu katkes"),
    ("it is not HTTP", "see ei ole HTTP"),
    ("the connection has too many bytes of unread answers", "ühendusel on liiga palju lugemata vastuseid"),
    ("the memory for request bodies of one client is full", "ühe kliendi päringute sisu mälu on täis"),
    ("the address lacks the secret that hcert dev printed at its start", "aadressis puudub saladus, mille hcert dev käivitumisel väljastas"),
    ("the request came through a proxy", "päring tuli läbi proksi"),
    ("the request came over HTTP/1.0, as those of proxies do", "päring tuli HTTP/1.0 kaudu, nagu tulevad prokside päringud"),
    ("Host names another machine", "päis Host nimetab teist arvutit"),
    ("a page of another origin sent the request", "päringu saatis teise päritoluga veebileht"),
    ("no other way to name the value set", "väärtushulk ainult ühel viisil antuna"),
    ("it is not well-formed", "see ei ole korrektse kujuga"),
    ("it is too long", "see on liiga pikk"),
    ("exactly one header Authorization may be there", "lubatud on täpselt üks päis Authorization"),
    ("Authorization must be Bearer and one token", "Authorization peab olema Bearer ja üks juurdepääsutõend"),
    ("its algorithm is not accepted", "selle algoritm ei ole lubatud"),
    ("its key is not known", "selle võti ei ole teada"),
    ("its signature does not fit", "selle allkiri ei sobi"),
    ("it has expired", "see on aegunud"),
    ("it is not valid yet", "see ei kehti veel"),
    ("it lives longer than is accepted", "see kehtib lubatust kauem"),
    ("it is no access token", "see ei ole juurdepääsutõend"),
    ("it was called back", "see on kehtetuks tunnistatud"),
    ("its issuer is not accepted", "selle väljaandja ei ole lubatud"),
    ("it is for another audience", "see on mõeldud kellelegi teisele"),
    // Slices of the profiles that ship.
    ("Role of the author", "autori roll"),
    ("Decision", "otsus"),
    ("Medical restriction", "meditsiiniline piirang"),
    ("Detail told by a number", "numbriline täpsustus"),
    ("Detail told by a code", "koodiga täpsustus"),
    ("Occupation", "amet"),
    ("Workload as a share of full time", "töökoormus osana täistööajast"),
    ("Work-related risk factor", "töölaadi või töökeskkonnaga seotud ohutegur"),
    ("Employment", "töötamine"),
    ("Additional condition for working", "töötamiseks vajalik lisatingimus"),
    ("Section with the decision", "otsuse sektsioon"),
    ("Section with the health declaration", "tervisedeklaratsiooni sektsioon"),
    ("Section with the medical restrictions", "meditsiiniliste piirangute sektsioon"),
    ("Section with the reason for a shorter validity", "lühema kehtivusaja põhjuse sektsioon"),
    ("Section with the reason for a negative decision", "eitava otsuse põhjenduse sektsioon"),
    ("Section with the reason for a change", "muutmise põhjuse sektsioon"),
    ("Section with the reason for cancelling, written by the service", "tühistamise põhjuse sektsioon, mille kirjutab teenus"),
    ("Section with the reason for suspending, written by the service", "peatamise põhjuse sektsioon, mille kirjutab teenus"),
    ("Section with the employer", "tööandja sektsioon"),
    ("Section with the work-related risk factors", "ohutegurite sektsioon"),
    ("Section with the additional conditions for working", "lisatingimuste sektsioon"),
    ("Section with suggestions to the employer", "tööandjale tehtud ettepanekute sektsioon"),
    ("Section with suggestions to the employee", "töötajale tehtud ettepanekute sektsioon"),
    ("a draft (Mustand)", "Mustand"),
    ("completed (Lõpetatud)", "Lõpetatud"),
    ("suspended (Peatatud)", "Peatatud"),
    ("revoked (Tühistatud)", "Tühistatud"),
    ("deleted (Kustutatud)", "Kustutatud"),
    ("create (POST)", "loomine (POST)"),
    ("update (PUT) to preliminary", "muutmine (PUT) mustandiks"),
    ("update (PUT)", "muutmine (PUT)"),
    ("delete (DELETE)", "kustutamine (DELETE)"),
];

/// Beginnings before a list of names.
#[rustfmt::skip]
const BEGINNINGS: &[(&str, &str)] = &[
    ("one of ", "üks järgmistest: "),
    ("this value of ", "see väärtus parameetris "),
    ("allowed are: ", "lubatud on: "),
    ("the employment names ", "töösuhtes on "),
    ("known here are: ", "siin on teada: "),
    ("one type of ", "üks tüüp elemendile "),
    ("it lacks the claim ", "selles puudub väide "),
    ("it has a wrong claim ", "selles on vale väide "),
    ("it imports ", "see kasutab väärtushulka "),
    // What a narrative may not hold.
    ("an address that begins with ", "aadress, mille algus on "),
    ("the attribute ", "atribuut "),
    ("the same attribute twice: ", "sama atribuut kaks korda: "),
    ("a character that XML forbids: ", "märk, mida XML ei luba: "),
    ("a comment that begins with > or ->", "kommentaar, mille algus on > või ->"),
    ("a CDATA section with the character >", "CDATA-lõik, milles on märk >"),
    ("a document type declaration", "dokumenditüübi deklaratsioon"),
    ("the element ", "element "),
    ("neither text nor an image", "ei teksti ega pilti"),
    ("an image that is not part of the resource as PNG, JPEG or GIF: ", "pilt, mis ei ole PNG-, JPEG- või GIF-kujul ressursi osa: "),
    ("a processing instruction: ", "töötlusjuhis: "),
    ("a named character in place of its number: ", "märgi nimi numbri asemel: "),
    ("an element of another namespace than XHTML: ", "element väljastpoolt XHTML-i nimeruumi: "),
    ("an element inside one that must not hold it: ", "element sellises elemendis, mis seda sisaldada ei tohi: "),
    ("text directly inside an element that must not hold it: ", "tekst otse elemendis, mis seda sisaldada ei tohi: "),
    ("XML that is not well-formed", "vigane XML"),
    ("elements that end in the wrong order: ", "elemendid, mis lõpevad vales järjekorras: "),
    ("a prefix without a namespace: ", "nimeruumita eesliide: "),
    ("a root element that is not div in the namespace of XHTML: ", "juurelement, mis ei ole XHTML-i nimeruumi div: "),
    ("a style that loads or runs something: ", "stiil, mis laadib või käivitab midagi: "),
    ("more attributes of an element or more namespaces than allowed: ", "lubatust rohkem elemendi atribuute või nimeruume: "),
];

/// Ends after the name of something that the caller sent.
#[rustfmt::skip]
const ENDINGS: &[(&str, &str)] = &[
    // Why a value set of the request cannot be expanded.
    (" has a filter, which cannot be computed here; list the codes instead", " sisaldab filtrit, mida siin arvutada ei saa; loetlege koodid"),
    (" names neither a system nor a value set", " ei nimeta koodisüsteemi ega väärtushulka"),
    (" lists codes without their system", " loetleb koode ilma nende koodisüsteemita"),
    (": it has no compose.include, which says what belongs to it", ": selles puudub compose.include, mis ütleb, mis sinna kuulub"),
    (", which this server does not have", ", mida selles serveris ei ole"),
];

/// Words around one number, which is a `#` here.
const WITH_NUMBERS: &[(&str, &str)] = &[
    ("the limit of concurrent requests is #", "samaaegsete päringute piirarv on #"),
    ("the limit of concurrent requests of one person is #", "ühe isiku samaaegsete päringute piirarv on #"),
    ("the limit of requests per second is #", "päringute piirarv sekundis on #"),
    ("the limit of concurrent connections is #", "samaaegsete ühenduste piirarv on #"),
    ("the limit of unread answers is # bytes", "lugemata vastuste piirmaht on # baiti"),
    ("the limit of request headers is # bytes", "päringupäiste piirmaht on # baiti"),
    ("# includes, excludes and imports", "# osa (include, exclude ja valueSet)"),
    ("# codes to check", "# kontrollitavat koodi"),
];

/// Places whose values are words of ours, never texts of a caller alone.
const PLACES: &[&str] =
    &["expected", "found", "known", "version", "state", "request", "problem", "type", "short", "what"];

/// The Estonian for the value of a place; a value that is no word of ours stays.
pub(super) fn estonian<'v>(place: &str, value: &'v str) -> Cow<'v, str> {
    if !PLACES.contains(&place) {
        return Cow::Borrowed(value);
    }
    if let Some((_, estonian)) = WORDS.iter().find(|(english, _)| *english == value) {
        return Cow::Borrowed(estonian);
    }
    if let Some(estonian) = with_number(value) {
        return Cow::Owned(estonian);
    }
    let beginning = |(english, estonian): &(&str, &str)| Some(format!("{estonian}{}", value.strip_prefix(english)?));
    let begun = BEGINNINGS.iter().find_map(beginning).map_or(Cow::Borrowed(value), Cow::Owned);
    let ending = |(english, estonian): &(&str, &str)| Some(format!("{}{estonian}", begun.strip_suffix(english)?));
    ENDINGS.iter().find_map(ending).map_or(begun, Cow::Owned)
}

/// The Estonian for words of ours around one number.
fn with_number(value: &str) -> Option<String> {
    let start = value.find(|character: char| character.is_ascii_digit())?;
    let (before, rest) = value.split_at(start);
    let after = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    let number = &rest[..rest.len() - after.len()];
    let pattern = format!("{before}#{after}");
    let (_, estonian) = WITH_NUMBERS.iter().find(|(english, _)| *english == pattern)?;
    Some(estonian.replace('#', number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Hcert, Issue, Language};

    #[test]
    fn values_of_ours_are_said_in_estonian_and_those_of_callers_stay() {
        let issue = Issue::new(Hcert::SearchValueWrong).with("name", "none").with("value", "an id");
        let text = issue.with("expected", "one of preliminary, final").text(Language::Estonian);
        let expected =
            "'an id' ei sobi otsinguparameetri 'none' väärtuseks: oodati üks järgmistest: preliminary, final";
        assert_eq!(text, expected);
        assert_eq!(estonian("expected", "Patient"), "Patient");
        assert_eq!(estonian("short", "Role of the author"), "autori roll");
        assert_eq!(estonian("what", "this value of status"), "see väärtus parameetris status");
        assert_eq!(
            estonian("problem", "it imports http://a.ee, which this server does not have"),
            "see kasutab väärtushulka http://a.ee, mida selles serveris ei ole"
        );
        assert_eq!(estonian("what", "101 codes to check"), "101 kontrollitavat koodi");
        assert_eq!(estonian("problem", "the limit of requests per second is 5"), "päringute piirarv sekundis on 5");
    }
}
