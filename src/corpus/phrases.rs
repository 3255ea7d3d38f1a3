//! Free texts of certificates: sentences put together from three columns, so that few of them are alike.
//!
//! Nothing in the columns needs escaping in JSON or XHTML; a test holds that.

use super::calendar::Day;
use super::digits::number;
use super::random::RandomStream;

/// What a free text is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Topic {
    Restriction,
    RestrictionNote,
    Shortened,
    Reject,
    Change,
    Suspend,
    Cancel,
    Risk,
    RiskFactor,
    Condition,
    AdditionalCondition,
    Employer,
    Employee,
    Job,
}

/// Beginning, middle and end of a sentence; `#` stands for a number below 30, `@` for a day of the last months.
struct PhraseParts(&'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// Appends one sentence about the topic. `today` is the day it is written on.
pub(super) fn write(out: &mut String, topic: Topic, today: Day, random: &mut RandomStream) {
    let PhraseParts(first, second, third) = columns(topic);
    for column in [first, second, third] {
        let mut piece = random.pick(column);
        while let Some(at) = piece.find(['#', '@']) {
            out.push_str(&piece[..at]);
            match piece.as_bytes()[at] {
                b'#' => number(out, 2 + random.below(28)),
                _ => Day(today.0 - random.below(200) as i32).write_estonian(out),
            }
            piece = &piece[at + 1..];
        }
        out.push_str(piece);
    }
}

#[rustfmt::skip]
fn columns(topic: Topic) -> PhraseParts {
    match topic {
        Topic::Restriction => PhraseParts(
            &["Nägemisteravus ", "Kuulmine ", "Vasaku käe liikuvus ", "Parema jala jõudlus ", "Vererõhk ", "Alaselja seisund ", "Veresuhkur ",
              "Tasakaal ", "Õlavöötme koormustaluvus ", "Südame rütm ", "Hingamisfunktsioon "],
            &["vajab abivahendit", "on alla nõutud piiri", "on ravi foonil rahuldav", "halvenes võrreldes uuringuga @", "on stabiilne", "kõigub",
              "taastub pärast operatsiooni @", "vajab jälgimist iga # kuu järel", "lubab tööd üksnes piirangutega", "on püsivalt vähenenud"],
            &[".", ", kontroll # kuu pärast.", "; raviskeem muudeti @.", ", eriarsti otsus @.", "; patsient on piirangutest teadlik.", ", uuring nr #/#."],
        ),
        Topic::RestrictionNote => PhraseParts(
            &["Kehtib ", "Piirang kehtib ", "Täita ", "Järgida ", "Vajalik "],
            &["kogu sõidu või tööaja jooksul", "ka lühikestel otsadel", "kuni järgmise läbivaatuseni", "vähemalt # kuud", "pimedal ajal", "talvel ja libedaga",
              "vahetuse ajal", "kuni eriarsti otsuseni"],
            &[".", "; üle # minuti korraga mitte.", ", erandeid ei ole.", ", vastavalt epikriisile @.", "; abivahend olgu kaasas.", ", lõppvisiit @."],
        ),
        Topic::Shortened => PhraseParts(
            &["Krooniline haigus ", "Silmarõhk ", "Diabeet ", "Kuulmislangus ", "Kõrgvererõhktõbi ", "Uneapnoe ", "Selja seisund ", "Ravi alustamine @ "],
            &["nõuab sagedasemat kontrolli", "tuleb üle vaadata # kuu pärast", "ei luba täistähtaega", "vajab eriarsti hinnangut", "on alles jälgimisel"],
            &[".", ", silmaarst soovitas # kuud.", "; eelmine läbivaatus oli @.", ", analüüs @ oli piiripealne."],
        ),
        Topic::Reject => PhraseParts(
            &["Hingamisteede haiguse tõttu ", "Krambihoo järel @ ", "Allergia tõttu ", "Kuulmislanguse tõttu ", "Seljaoperatsiooni järel ", "Nägemise tõttu ",
              "Raskekujulise ekseemi tõttu ", "Südamehaiguse tõttu "],
            &["on töö tolmus vastunäidustatud", "ei ole öötöö lubatud", "ei tohi tõsta üle # kg", "ei sobi töö kõrgustes", "on kokkupuude kemikaalidega välistatud",
              "on töö müras üle # tunni nädalas lubamatu", "ei sobi töötamine masinate läheduses"],
            &[".", " ka kaitsevahenditega.", "; uus hindamine # kuu pärast.", ", eriarsti otsus @.", "; soovitan muud tööd."],
        ),
        Topic::Change => PhraseParts(
            &["Eriarsti otsuse järel @ ", "Patsiendi soovil ", "Tööandja teatel @ ", "Lisauuringu tulemusel ", "Trükivea tõttu ", "Töötingimuste muutumise tõttu ",
              "Kordusläbivaatuse järel "],
            &["pikendati kehtivust", "täpsustati piirangut", "lisandus piirang", "muudeti märkust", "parandati koormust", "täpsustati ettepanekuid",
              "muudeti põhjendust"],
            &[".", ", muu jäi samaks.", "; eelmine sõnastus oli eksitav.", " # kuu võrra.", ", alus: saatekiri @.", "; teade patsiendile @."],
        ),
        Topic::Suspend => PhraseParts(
            &["Teadvusekaotuse tõttu @ ", "Ootamatu haigestumise tõttu ", "Haiglaravi ajaks alates @ ", "Politsei teatel ", "Silmaoperatsiooni tõttu ",
              "Uue ravimi kasutamise ajaks ", "Täiendava uuringu ajaks "],
            &["peatatakse tõend", "on juhtimine või töö keelatud", "ei ole seisund hinnatav", "tuleb teha korduv läbivaatus", "oodatakse eriarsti otsust"],
            &[".", " kuni # nädalaks.", "; visiit on kokku lepitud.", ", neuroloogi vastuvõtt # päeva pärast.", ", teavitatud @."],
        ),
        Topic::Cancel => PhraseParts(
            &["Tõend väljastati ", "Andmed sisestati ", "Otsus tehti ", "Dokument vormistati "],
            &["valele isikule", "vale kasutusala all", "puuduliku deklaratsiooni põhjal", "kaks korda", "vale tööandja nimele", "enne uuringu vastust @",
              "vale kehtivusega", "aegunud analüüside põhjal"],
            &[".", "; uus tõend tehakse # päeva jooksul.", ", viga avastati @.", "; patsient teavitatud @.", ", õige tõend on olemas."],
        ),
        Topic::Risk => PhraseParts(
            &["Tööandja riskianalüüsi järgi ", "Töökeskkonna mõõtmine @: ", "Töötaja sõnul ", "Ohutuskaardi järgi "],
            &["kokkupuude # tundi nädalas", "tegur esineb iga päev", "tegur esineb hooajati", "piirnorm ei ole ületatud", "piirnorm ületati # korral",
              "kasutatakse kaitsevahendeid"],
            &[".", ", mõõtmine kord aastas.", "; eelmine analüüs @.", ", osakond #.", ", töökoht nr #."],
        ),
        Topic::RiskFactor => PhraseParts(
            &["Tolm ", "Raskused ", "Puidutolm ", "Keevitussuits ", "Kastide tõstmine ", "Patsientide siirdamine ", "Lahustid ", "Heitgaasid ", "Kottide laadimine "],
            &["kuni # kg", "kuni # tundi päevas", "osakonnas #", "laos", "töökojas", "hooajati", "vahetustega töös"],
            &["", ", mõõdetud @", ", riskitase #", ", kaitsevahenditega"],
        ),
        Topic::Condition => PhraseParts(
            &["Tingimused on vajalikud ", "Tööandja tagab need ", "Tingimused vaadatakse üle "],
            &["kogu tööaja jooksul", "hiljemalt # päeva jooksul", "# kuu pärast", "enne tööle asumist", "koos töökeskkonnaspetsialistiga"],
            &[".", ", kokkulepe @.", "; kulud kannab tööandja.", ", punkt #."],
        ),
        Topic::AdditionalCondition => PhraseParts(
            &["Tugivöö", "Kuulmiskaitsmed", "Respiraator", "Reguleeritav töölaud", "Prillid kuvariga tööks", "Turvajalatsid", "Valgustus vähemalt #00 lx",
              "Põrutust summutavad kindad", "Ventilatsioon"],
            &["", " ja kindad", " ja pausid iga # minuti järel", ", vahetus iga # kuu järel", " ja tõstevahend"],
            &["", ", alates @", ", töökoht #"],
        ),
        Topic::Employer => PhraseParts(
            &["Võimaldada ", "Tagada ", "Korraldada ", "Soovitan ", "Hankida "],
            &["sirutuspaus iga # minuti järel", "tõstevahend", "kuvari kõrguse reguleerimine", "kuulmise kontroll # kuu järel", "väljaõpe raskuste tõstmiseks",
              "päevane vahetus", "vaktsineerimine puukentsefaliidi vastu", "töökoha ümberkorraldus", "mürataseme mõõtmine"],
            &[".", ", esimest korda hiljemalt # päeva pärast.", " vastavalt riskianalüüsile @.", "; arutatud töötajaga.", ", maht # tundi."],
        ),
        Topic::Employee => PhraseParts(
            &["Jätkata ", "Alustada ", "Soovitan ", "Pidada oluliseks "],
            &["harjutusi # minutit päevas", "raviskeemi", "füsioteraapiat # korda", "vererõhu mõõtmist kodus", "kaitsevahendite kandmist", "kehakaalu jälgimist",
              "silmade puhkust iga # minuti järel", "suitsetamisest loobumist"],
            &[".", ", kontroll @ alusel.", "; pöörduda perearsti poole, kui vaev süveneb.", ", uus visiit # kuu pärast.", "; retsept kehtib # kuud."],
        ),
        Topic::Job => PhraseParts(
            &["Ametikoht: "],
            &["laotöötaja", "keevitaja", "õmbleja", "autojuht", "kontoritöötaja", "hooldaja", "müüja", "puhastusteenindaja", "elektrik", "põetaja", "kokk",
              "puidupingi operaator", "raamatupidaja", "kaevur", "lasteaiaõpetaja", "tõstukijuht", "maaler", "mesinik", "ämmaemand", "päästja"],
            &["", ", staaž # aastat", ", vahetustega", ", alates @", ", osakond #", ", öötööd ei ole"],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPICS: [Topic; 14] = [
        Topic::Restriction,
        Topic::RestrictionNote,
        Topic::Shortened,
        Topic::Reject,
        Topic::Change,
        Topic::Suspend,
        Topic::Cancel,
        Topic::Risk,
        Topic::RiskFactor,
        Topic::Condition,
        Topic::AdditionalCondition,
        Topic::Employer,
        Topic::Employee,
        Topic::Job,
    ];

    #[test]
    fn no_phrase_needs_escaping() {
        for topic in TOPICS {
            let PhraseParts(first, second, third) = columns(topic);
            for piece in [first, second, third].concat() {
                assert!(!piece.contains(['"', '\\', '<', '>', '&']) && !piece.contains(char::is_control), "{piece:?}");
            }
        }
    }

    #[test]
    fn numbers_and_days_stand_where_the_columns_leave_room() {
        let mut random = RandomStream::new(1, 1);
        for topic in TOPICS {
            for _ in 0..200 {
                let mut text = String::new();
                write(&mut text, topic, Day::of(2024, 5, 6), &mut random);
                assert!(!text.contains(['#', '@']) && text.trim() == text && text.len() > 4, "{text:?}");
            }
        }
    }
}
