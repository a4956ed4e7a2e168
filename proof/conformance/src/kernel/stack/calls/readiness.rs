//! Calls `poll` and `epoll`.

use crate::ast::Value;
use crate::stack::{Returned, Unsupported};

use super::super::arguments::with_values;
use super::{Answer, Arguments, Blocks, Prepared};
use crate::kernel::sys::socket;

pub(super) fn prepare(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    match call.name {
        "poll" => prepare_poll(call),
        "epoll_create" | "epoll_create1" => Ok(Prepared::new(Blocks::Never, || {
            Ok(Answer::Opened(socket::epoll_create()?))
        })),
        "epoll_ctl" => {
            let (epoll, operation, fd) = (call.fd(0)?, call.int(1)?, call.fd(2)?);
            let event = call.value(3)?;
            let names = call.around.names;
            let events = match event.member("events") {
                Some(events) => names.int(events)?.cast_unsigned(),
                None => 0,
            };
            // The data of an event are the script's value.
            let data = DATA.iter().find_map(|name| event.member(name));
            let data = match data {
                Some(data) => names.number(data)?.cast_unsigned(),
                None => 0,
            };
            Ok(Prepared::number(move || {
                socket::epoll_change(epoll, operation, fd, events, data)
            }))
        }
        _ => {
            let (epoll, room, timeout) = (call.fd(0)?, call.length(2)?, call.int(3)?);
            Ok(Prepared::new(Blocks::within(timeout), move || {
                Ok(Answer::Events(socket::epoll_wait(epoll, room, timeout)?))
            }))
        }
    }
}

/// The members of `union epoll_data`.
const DATA: [&str; 4] = ["fd", "ptr", "u32", "u64"];

fn prepare_poll(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    let Value::List(polled) = call.value(0)? else {
        let what = format!("poll of {:?}", call.value(0)?);
        return Err(Unsupported::new("argument", what));
    };
    let names = call.around.names;
    let asked = |one: &Value| {
        let member = |name: &str| {
            let found = one.member(name);
            found.ok_or_else(|| Unsupported::new("argument", format!("poll without {name}")))
        };
        let fd = call.around.table.live(names.number(member("fd")?)?);
        Ok((fd, names.int(member("events")?)? as i16))
    };
    let asked: Vec<_> = polled
        .iter()
        .map(asked)
        .collect::<Result<_, Unsupported>>()?;
    let timeout = call.int(2)?;
    Ok(Prepared::new(Blocks::within(timeout), move || {
        let (ready, each) = socket::poll(&asked, timeout)?;
        Ok(Answer::Polled(ready, each))
    }))
}

pub(super) fn finish_poll(call: &Arguments<'_>, ready: i32, each: &[i16]) -> Returned {
    let returned = Returned::success(ready.into());
    let Some(Value::List(polled)) = call.values.first() else {
        return returned;
    };
    let shown = |(one, events): (&Value, &i16)| {
        let Value::Struct(members) = one else {
            return one.clone();
        };
        with_values(members, |name, value| match name {
            "revents" => call.around.names.echo(value, i64::from(*events)),
            _ => value.clone(),
        })
    };
    let shown = polled.iter().zip(each).map(shown).collect();
    returned.output(0, Value::List(shown))
}

/// Events. A script expects the zeros of an unwritten buffer, so those are returned if there are no
/// events.
pub(super) fn finish_epoll(call: &Arguments<'_>, events: &[(u32, u64)]) -> Returned {
    let returned = Returned::success(events.len() as i64);
    let names = call.around.names;
    let shown = |like: &Value, (events, data): (u32, u64)| {
        let Value::Struct(members) = like else {
            return like.clone();
        };
        with_values(members, |name, value| match name {
            "events" => names.echo(value, i64::from(events)),
            _ if DATA.contains(&name) => names.echo(value, data.cast_signed()),
            _ => value.clone(),
        })
    };
    let at = |index: usize| events.get(index).copied().unwrap_or((0, 0));
    match call.values.get(1) {
        Some(Value::List(all)) => {
            let all = all
                .iter()
                .enumerate()
                .map(|(index, like)| shown(like, at(index)))
                .collect();
            returned.output(1, Value::List(all))
        }
        Some(like @ Value::Struct(_)) => returned.output(1, shown(like, at(0))),
        _ => returned,
    }
}
