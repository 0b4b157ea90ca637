//! Whatever somebody shows is read as a login or refused, and the files of `[auth]` are read or refused with the number of a line. What
//! the command writes into them can be read and removed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::auth::entries::{list, with_token, with_user, without};
use plumbago::auth::{Offer, is_user_name, shown};
use plumbago_model::Role;

fuzz_target!(|text: &str| {
    match shown::authorization(text) {
        Some(Offer::Token(token)) => assert!(!token.is_empty() && text.trim_end().ends_with(&token)),
        Some(Offer::Password(name, _)) => assert!(!name.contains(':')),
        Some(_) => panic!("a header is a token or a password"),
        None => {}
    }
    if let Some(id) = shown::session(text) {
        assert!(!id.contains(';') && text.contains(id));
    }
    let name = text.split_whitespace().next().unwrap_or_default();
    let files = [(text, "", ""), ("", text, ""), ("", "", text)];
    for (users, tokens, passwords) in files {
        match list(users, tokens, passwords) {
            Ok(everybody) => {
                for one in everybody {
                    assert!(is_user_name(&one.name), "{}", one.name);
                    let (left, removed) = without(text, &one.name);
                    assert!(removed > 0 && without(&left, &one.name).1 == 0);
                }
            }
            Err(error) => assert!(!error.is_empty()),
        }
    }
    if is_user_name(name) {
        let added = with_user(text, name, Role::Read, None, &[]).expect("a name and a role");
        assert!(added.lines().any(|line| line == format!("{name} read")));
        let tokens = with_token("", name, text, None);
        assert_eq!(list("", &tokens, "").expect("a line of ours").len(), 1);
        assert_eq!(without(&tokens, name), (String::new(), 1));
    }
});
