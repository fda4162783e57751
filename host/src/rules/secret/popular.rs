//! Words and numbers that many take for a secret: whoever guesses tries them first, and redacted, they would be missing in
//! ordinary text (row 67).
//!
//! What people make of a word so that it is taken is that word still: `zxcvbn` knows the digits that stand behind one, signs
//! that look like letters, rows of a keyboard, sequences, dates and repetitions, and counts the tries that all of it takes.

/// Tries after which a value is found that it does not take long to guess: where `zxcvbn` begins to call one strong (its score 3).
const TRIES: u64 = 100_000_000;

/// What a value is that many have; in lower case.
pub(super) fn popular(value: &str) -> Option<&'static str> {
    if is_in(NUMBERS, value) {
        return Some("a common number");
    }
    is_in(WORDS, value).then_some("a common word")
}

/// Whether whoever knows how people make them up has soon guessed a value. The name of somebody on this machine is that name.
pub(super) fn is_soon_guessed(value: &str) -> bool {
    let value = value.strip_suffix("@localhost").unwrap_or(value);
    zxcvbn::zxcvbn(value, &[]).guesses() < TRIES
}

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

const NUMBERS: &str = "\
    01234567 012345678 0123456789 0987654321 112233445566 11223344 12345678 123456789 1234567890 31415926 87654321 987654321";

/// Seasons, months, days, names, rows of a keyboard, and what else lists of passwords begin with.
const WORDS: &str = "\
    123abc 123qwe 1q2w3e 1q2w3e4r 1q2w3e4r5t 1qaz2wsx 1qaz2wsx3edc 1qazxsw2 a1b2c3 a1b2c3d4 abc abcd \
    abcdef abcdefg access account admin administrator alexander amanda amazon america andrea andrew \
    angel angela anna anonymous anthony apple april arsenal asdf asdfasdf asdfg asdfgh asdfghj \
    asdfghjk asdfghjkl ashley august austin autumn awesome azerty baby backup bailey banana \
    barcelona baseball basketball batman beautiful benjamin berlin blink blue boston brandon buster \
    butterfly camaro carlos carolina change changeit changeme charlie cheese chelsea chicago \
    chocolate chris christian christine christopher cisco claudia computer cookie cowboys cristina \
    dallas daniel danielle database david december default demo demouser denis dennis diamond diego \
    dolphin dragon eagle eagles easter edward elizabeth emma employee england enter eric example \
    facebook faith family february ferrari flower flowers football forever france frank freedom \
    friday friend friends fuckyou gabriel garden george germany ginger gmail godfather golden google \
    grandma guest guitar hammer hannah happy harley harry heaven hello hockey holiday hotmail hunter \
    iceman iloveu iloveyou india instagram internet isabella italy jackson jacob james january \
    jasmine jason jennifer jessica jesus jonathan jordan joseph joshua july june junior justin \
    killer kimberly lakers lauren letmein liverpool localhost login london lorenzo love lovely \
    loveme lover lucky lucy madison maggie manager manchester march marcus maria marie marina mario \
    martin master matrix matthew maverick melissa mercedes merlin michael michelle mickey mike \
    minecraft monday money monkey monster morgan mother mustang mysql naruto natalie natasha nathan \
    newyork nicholas nicole ninja nirvana nothing november october office oliver online operator \
    oracle orange panther paris parola pass passw passwd password passwort pastor patrick peanut \
    pepper peter phoenix pikachu pineapple pokemon police poohbear postgres precious pretty princess \
    private public purple q1w2e3 q1w2e3r4 q1w2e3r4t5 qazwsx qazwsxedc qwer qwert qwerty qwertyu \
    qwertyui qwertyuiop qwertz qwertzuiop rachel rainbow ranger rangers raspberry rebecca redsox \
    richard robert rock ronaldo root rosebud running russia sabrina sakura sales samantha samsung \
    sandra santiago sarah saturday scooter secret secure security september server service shadow \
    shannon shopping silver simple sister skywalker slipknot snoopy soccer sophia sophie spain \
    spiderman spring starwars steven student summer sunday sunshine superman superstar supervisor \
    support system target taylor teacher temp temporary tennis teresa test tester testing testtest \
    theman thomas thunder thursday tiger tigger tinkerbell token toor trustno trustno1 tuesday \
    twitter ubuntu undefined unknown user username valentina vanessa vincent virginia volcano \
    wednesday welcome whatever william willow windows winner winter wizard wordpress xavier yankees \
    yellow youtube zaq12wsx zaq1xsw2 zaq1zaq1 zaqwsx zaqxsw zxcvb zxcvbn zxcvbnm";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_behind_what_people_make_of_it() {
        for (value, expected) in [
            ("letmein123", true),
            ("qwerty1234", true),
            ("monkey12345", true),
            ("welcome2024", true),
            ("iloveyou12", true),
            ("summer2024!", true),
            ("p@$$w0rd", true),
            ("adm1n1str4tor", true),
            ("l3tm31n!", true),
            ("1q2w3e4r5t", true),
            ("admin@localhost", true),
            ("guest123@localhost", true),
            ("summer202411", true),
            ("summer2024x", true),
            ("1234567890123456", true),
            ("0123456789abcdef", true),
            ("1111222233334444", true),
            ("9876543210987654", true),
            ("q1w2e3r4t5y6", true),
            ("zaq12wsxcde3", true),
            ("qwertyuiopasdfgh", true),
            ("abcdefghijklmnopqrstuvwxyz", true),
            ("abcd1234efgh", true),
            ("hunter20241", true),
            ("summer-2024-11", false),
            ("canary7x9y", false),
            ("4f9a8b7c6d5e", false),
            ("83749201758392", false),
            ("correct-horse-battery-staple", false),
        ] {
            assert_eq!(is_soon_guessed(value), expected, "{value}");
        }
        assert_eq!(popular("password"), Some("a common word"));
        assert_eq!(popular("12345678"), Some("a common number"));
    }
}
