//! The server, by raw sockets: which requests are refused and how, and that slow and broken ones do no harm.

use phalanx::{Component, World};
use phalanx_inspect::{Flow, Inspector, Key};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Health {
    hp: u32,
}

/// Runs a program with an inspector, and a test beside it.
fn with_program(test: impl FnOnce(SocketAddr, &str) + Send) {
    with_inspector(Inspector::builder().name("test"), test);
}

fn with_inspector(builder: phalanx_inspect::Builder, test: impl FnOnce(SocketAddr, &str) + Send) {
    let mut inspector = builder.address("127.0.0.1:0").quiet().serve().unwrap();
    let url = inspector.url().unwrap();
    let (address, key) = url.strip_prefix("http://").unwrap().split_once("/#key=").unwrap();
    let (address, key): (SocketAddr, &str) = (address.parse().unwrap(), key);
    let is_done = AtomicBool::new(false);
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let tester = scope.spawn(|| {
            let _done = Done(&is_done);
            test(address, key);
        });
        let mut world = World::new();
        world.spawn_batch((0..100).map(|hp| Health { hp }));
        while !is_done.load(Ordering::Relaxed) {
            let _: Flow = inspector.update(&mut world);
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Err(panic) = tester.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

/// Sends bytes, and returns the status and the whole answer.
fn exchange(address: SocketAddr, bytes: &[u8]) -> (u16, String) {
    let mut socket = connect(address);
    // The server may close before all is sent.
    let _ = socket.write_all(bytes);
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match socket.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}"),
        }
        let text = String::from_utf8_lossy(&text);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.is_some_and(|length| body.len() >= length.parse().unwrap()) {
                break;
            }
        }
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, text)
}

fn request(line: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{line}\r\n{headers}\r\n{body}").into_bytes()
}

#[test]
fn each_request_that_is_wrong_in_one_point_is_refused() {
    with_program(|address, key| {
        let (host, bearer) = (address.to_string(), format!("Bearer {key}"));
        let good = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
        let get = "GET /api/1/world HTTP/1.1";
        assert_eq!(exchange(address, &request(get, &good, "")).0, 200);
        let with = |name: &str, value: &str| -> Vec<(String, String)> {
            let mut list: Vec<_> = good.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            match list.iter_mut().find(|(other, _)| other == name) {
                Some((_, place)) => *place = value.to_owned(),
                None => list.push((name.to_owned(), value.to_owned())),
            }
            list
        };
        let send = |line: &str, headers: &[(String, String)], body: &str| {
            let headers: Vec<_> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            exchange(address, &request(line, &headers, body)).0
        };
        let port = address.port();
        let (long, other_key) = ("x".repeat(13_000), key.chars().rev().collect::<String>());
        let other_port = format!("127.0.0.1:{}", if port == 1 { 2 } else { port - 1 });
        // A GET that is right but for one header.
        let wrong: Vec<(&str, String, u16)> = vec![
            ("Host", "evil.example".into(), 403),
            ("Host", format!("evil.example:{port}"), 403),
            ("Host", "127.0.0.1".into(), 403),
            ("Host", other_port, 403),
            ("Host", format!("127.0.0.1.evil.example:{port}"), 403),
            ("Host", format!("localhost.:{port}"), 403),
            ("Host", format!("127.1:{port}"), 403),
            ("Host", format!("192.168.0.1:{port}"), 403),
            ("Host", format!("user@127.0.0.1:{port}"), 403),
            ("Host", String::new(), 403),
            ("Authorization", String::new(), 401),
            ("Authorization", key.into(), 401),
            ("Authorization", format!("bearer {key}"), 401),
            ("Authorization", format!("Basic {key}"), 401),
            ("Authorization", format!("Bearer {}", &key[1..]), 401),
            ("Authorization", format!("Bearer {key}0"), 401),
            ("Authorization", format!("Bearer {other_key}"), if other_key == key { 200 } else { 401 }),
            ("Authorization", format!("Bearer {}", "0".repeat(32)), 401),
            ("Origin", "http://evil.example".into(), 403),
            ("Origin", "null".into(), 403),
            ("Origin", format!("https://{host}"), 403),
            ("Origin", format!("http://{host}.evil.example"), 403),
            ("Origin", "http://127.0.0.1:1".into(), 403),
            ("Host", format!("0.0.0.0:{port}"), 403),
            ("Host", format!("127.0.0.1:0{port}"), 403),
            ("Origin", format!("http://localhost:{port}"), 403),
            ("Origin", "file://".into(), 403),
            ("Sec-Fetch-Site", "cross-site".into(), 403),
            ("Sec-Fetch-Site", "same-site".into(), 403),
            ("Sec-Fetch-Site", "else".into(), 403),
            ("Sec-Fetch-Mode", "no-cors".into(), 403),
            ("Sec-Fetch-Mode", "navigate".into(), 403),
            ("Sec-Fetch-Dest", "script".into(), 403),
            ("Sec-Fetch-Dest", "image".into(), 403),
            ("Sec-Fetch-Dest", "iframe".into(), 403),
            ("Sec-Fetch-Mode", "websocket".into(), 403),
            ("Service-Worker", "script".into(), 403),
            ("Accept", "text/html".into(), 406),
            ("Upgrade", "websocket".into(), 400),
            ("Expect", "100-continue".into(), 417),
            ("Content-Length", "7".into(), 400),
            ("Transfer-Encoding", "chunked".into(), 400),
        ];
        assert!(wrong.len() >= 40, "{} requests with one wrong header", wrong.len());
        for (name, value, status) in &wrong {
            assert_eq!(send(get, &with(name, value), ""), *status, "{name}: {value}");
        }
        // What is right, too.
        for (name, value) in [
            ("Origin", format!("http://{host}")),
            ("Sec-Fetch-Site", "same-origin".into()),
            ("Host", format!("localhost:{port}")),
            ("Accept", "*/*".into()),
            ("Cookie", "a=b".into()),
        ] {
            assert_eq!(send(get, &with(name, &value), ""), 200, "{name}: {value}");
        }
        // A POST that is right but for one header.
        let post = "POST /api/1/pause HTTP/1.1";
        let json = |name: &str, value: &str| {
            let mut list = with("Content-Type", "application/json");
            list.push(("Content-Length".into(), "2".into()));
            list.retain(|(other, _)| other != name);
            if !value.is_empty() {
                list.push((name.into(), value.into()));
            }
            list
        };
        assert_eq!(send(post, &json("Accept", "application/json"), "{}"), 200);
        assert_eq!(send("POST /api/1/resume HTTP/1.1", &json("Accept", "application/json"), "{}"), 200);
        for (name, value, status) in [
            ("Content-Type", "", 415),
            ("Content-Type", "text/plain", 415),
            ("Content-Type", "application/x-www-form-urlencoded", 415),
            ("Content-Type", "multipart/form-data; boundary=x", 415),
            ("Content-Type", "application/jsonp", 415),
            ("Content-Encoding", "gzip", 415),
            ("Content-Length", "", 411),
            ("Content-Length", "1048577", 413),
            ("Content-Length", "99999999999999999999", 400),
            ("Content-Length", "-2", 400),
        ] {
            assert_eq!(send(post, &json(name, value), "{}"), status, "{name}: {value}");
        }
        // A snapshot has another type and another length.
        let load = "POST /api/1/load?name=x HTTP/1.1";
        let bytes = |name: &str, value: &str| {
            let mut list = json(name, value);
            list.iter_mut()
                .filter(|(other, value)| other == "Content-Type" && value == "application/json")
                .for_each(|(_, value)| *value = "application/octet-stream".into());
            list
        };
        // It is taken in, but there is no registry.
        assert_eq!(send(load, &bytes("Accept", "application/json"), "{}"), 409);
        for (name, value, status) in [
            ("Content-Type", "", 415),
            ("Content-Type", "text/plain", 415),
            ("Content-Type", "multipart/form-data; boundary=x", 415),
            ("Content-Length", "", 411),
            ("Content-Length", "67108865", 413),
        ] {
            assert_eq!(send(load, &bytes(name, value), "{}"), status, "{name}: {value}");
        }
        assert_eq!(send(load, &json("Accept", "*/*"), "{}"), 415, "JSON is not a snapshot");
        assert_eq!(send(post, &bytes("Accept", "*/*"), "{}"), 415, "a snapshot is not JSON");
        assert_eq!(send("POST /api/1/load?path=x HTTP/1.1", &bytes("Accept", "*/*"), "{}"), 400);
        // A line that is wrong.
        let all = with("Accept", "*/*");
        for (line, status) in [
            ("GET /api/2/world HTTP/1.1".to_owned(), 404),
            ("GET /api/1/worlds HTTP/1.1".to_owned(), 404),
            ("GET /api/1/../world HTTP/1.1".to_owned(), 404),
            ("GET /etc/passwd HTTP/1.1".to_owned(), 404),
            ("GET /../Cargo.toml HTTP/1.1".to_owned(), 404),
            ("GET /api/1/world HTTP/1.0".to_owned(), 505),
            (format!("GET http://{host}/api/1/world HTTP/1.1"), 400),
            ("OPTIONS /api/1/world HTTP/1.1".to_owned(), 405),
            ("DELETE /api/1/world HTTP/1.1".to_owned(), 405),
            ("PUT / HTTP/1.1".to_owned(), 405),
            ("TRACE / HTTP/1.1".to_owned(), 405),
            (format!("GET /api/1/world?x={long} HTTP/1.1"), 414),
            ("GET /api/1/pause HTTP/1.1".to_owned(), 404),
        ] {
            assert_eq!(send(&line, &all, ""), status, "{}", &line[..line.len().min(60)]);
        }
        let mut twice = with("Accept", "*/*");
        twice.push(("Host".into(), host.clone()));
        assert_eq!(send(get, &twice, ""), 400, "two hosts");
        let mut twice = with("Accept", "*/*");
        twice.push(("Authorization".into(), bearer.clone()));
        assert_eq!(send(get, &twice, ""), 401, "two keys");
        assert_eq!(send(get, &with("Accept", "*/*")[1..], ""), 400, "no host");
        let many: Vec<_> = (0..60).map(|at| (format!("X-{at}"), "1".to_owned())).chain(with("Accept", "*/*")).collect();
        assert_eq!(send(get, &many, ""), 431, "too many headers");
    });
}

#[test]
fn no_answer_lets_another_page_read_it() {
    with_program(|address, key| {
        let (host, bearer) = (address.to_string(), format!("Bearer {key}"));
        let headers = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
        for line in [
            "GET / HTTP/1.1",
            "GET /main.js HTTP/1.1",
            "GET /api/1/world HTTP/1.1",
            "GET /none HTTP/1.1",
            "OPTIONS /api/1/world HTTP/1.1",
        ] {
            let (_, text) = exchange(address, &request(line, &headers, ""));
            let head = text.split("\r\n\r\n").next().unwrap().to_lowercase();
            assert!(!head.contains("access-control"), "{head}");
            for part in [
                "content-security-policy: default-src 'none'; script-src 'self'",
                "frame-ancestors 'none'",
                "x-content-type-options: nosniff",
                "referrer-policy: no-referrer",
                "cross-origin-resource-policy: same-origin",
                "cache-control: no-store",
            ] {
                assert!(head.contains(part), "{line}: {part}\n{head}");
            }
            assert!(!text.contains(key), "{line} shows the key");
        }
    });
}

#[test]
fn slow_and_broken_requests_do_no_harm() {
    with_program(|address, key| {
        let good = format!("GET /api/1/world HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\r\n");
        // Connections that say nothing, or never come to an end. There are fewer than the server accepts.
        let idle: Vec<_> = (0..4).map(|_| connect(address)).collect();
        let half: Vec<_> = (0..4)
            .map(|_| {
                let mut socket = connect(address);
                socket.write_all(&good.as_bytes()[..30]).unwrap();
                socket
            })
            .collect();
        let start = Instant::now();
        assert_eq!(exchange(address, good.as_bytes()).0, 200);
        assert!(start.elapsed() < Duration::from_secs(3));
        // A body that does not come.
        let head = format!(
            "POST /api/1/pause HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        );
        let (status, _) = exchange(address, head.as_bytes());
        assert_eq!(status, 408);
        // Bytes that are not HTTP.
        for junk in [
            &b"\x16\x03\x01\x02\x00"[..],
            b"\r\n\r\n\r\n",
            b"GET\r\n\r\n",
            &[0xff; 20_000],
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ] {
            let mut socket = connect(address);
            let _ = socket.write_all(junk);
            drop(socket);
        }
        // A client that leaves before its answer, in the middle of a scan.
        for _ in 0..20 {
            let mut socket = connect(address);
            socket.write_all(good.as_bytes()).unwrap();
            drop(socket);
        }
        assert_eq!(exchange(address, good.as_bytes()).0, 200);
        // Half a head is given up after some seconds.
        for mut socket in half {
            let mut text = Vec::new();
            let _ = socket.read_to_end(&mut text);
            assert!(!String::from_utf8_lossy(&text).contains("200 OK"));
        }
        drop(idle);
        // More connections than there may be: all are served in the end.
        let waiting: Vec<_> = (0..40)
            .map(|_| {
                let mut socket = connect(address);
                socket.write_all(good.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
                socket
            })
            .collect();
        for mut socket in waiting {
            let mut text = String::new();
            socket.read_to_string(&mut text).unwrap();
            assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        }
    });
}

#[test]
fn a_loop_that_does_not_answer_is_reported() {
    let mut inspector = Inspector::builder().address("127.0.0.1:0").quiet().serve().unwrap();
    let url = inspector.url().unwrap();
    let (address, key) = url.strip_prefix("http://").unwrap().split_once("/#key=").unwrap();
    let address: SocketAddr = address.parse().unwrap();
    let good = format!(
        "POST /api/1/pause HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    let start = Instant::now();
    let (status, text) = exchange(address, good.as_bytes());
    assert!(status == 503 && text.contains("made no update for 0."), "{text}");
    assert!((Duration::from_millis(240)..Duration::from_secs(5)).contains(&start.elapsed()));
    // What was given up is not carried out later.
    let mut world = World::new();
    assert_eq!(inspector.update(&mut world), Flow::Run);
    assert_eq!(inspector.update(&mut world), Flow::Run);
    drop(inspector);
    assert!(TcpStream::connect(address).is_err(), "the server ends with the inspector");
}

#[test]
fn an_address_that_others_reach_needs_a_key() {
    let error = Inspector::builder().address("0.0.0.0:0").quiet().serve().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let key: Key = "0123456789abcdef0123456789abcdef".parse().unwrap();
    let inspector = Inspector::builder().address("0.0.0.0:0").expose(key).quiet().serve().unwrap();
    assert!(inspector.url().unwrap().ends_with("#key=0123456789abcdef0123456789abcdef"));
}

#[test]
fn the_page_is_small_and_names_no_other_host() {
    with_program(|address, _| {
        let (mut bytes, mut paths, mut at) = (0, vec!["/".to_owned()], 0);
        while at < paths.len() {
            let line = format!("GET {} HTTP/1.1", paths[at]);
            let (status, text) = exchange(address, &request(&line, &[("Host", &address.to_string())], ""));
            assert_eq!(status, 200, "{line}");
            let body = text.split_once("\r\n\r\n").unwrap().1;
            bytes += body.len();
            for found in
                body.split('"').filter(|part| part.ends_with(".js") || part.ends_with(".css") || part.ends_with(".svg"))
            {
                let path = format!("/{}", found.trim_start_matches("./").trim_start_matches('/'));
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
            let others = body.replace("http://www.w3.org/2000/svg", "");
            assert!(!others.contains("http://") && !others.contains("https://"), "{line}");
            assert!(!body.contains("innerHTML") && !body.contains("eval("), "{line}");
            at += 1;
        }
        assert!(paths.len() >= 15, "{paths:?}");
        assert!(bytes <= 120 << 10, "{bytes} bytes");
    });
}

#[test]
fn a_read_only_inspector_refuses_changes() {
    with_inspector(Inspector::builder().read_only().action("boom", |_| panic!("it ran")), |address, key| {
        let post = |route: &str, body: &str| {
            let length = body.len();
            let text = format!(
                "POST /api/1/{route} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            exchange(address, text.as_bytes()).0
        };
        for (route, body) in [
            ("edit", r#"{"entity":"0v0","component":"Health","field":"hp","value":"1"}"#),
            ("insert", r#"{"entity":"0v0","component":"Health"}"#),
            ("remove", r#"{"entity":"0v0","component":"Health"}"#),
            ("despawn", r#"{"entities":["0v0"]}"#),
            ("rename", r#"{"entity":"0v0","name":"x"}"#),
            ("rewind", r#"{"frame":1}"#),
            ("act", r#"{"name":"boom"}"#),
            ("undo", "{}"),
        ] {
            assert_eq!(post(route, body), 403, "{route}");
        }
        assert_eq!(post("pause", "{}"), 200);
        assert_eq!(post("resume", "{}"), 200);
    });
}

#[cfg(unix)]
#[test]
fn other_programs_of_the_user_find_the_inspector() {
    use std::os::unix::fs::PermissionsExt;
    const NAME: &str = "other_programs_of_the_user_find_the_inspector";
    let Some(folder) = std::env::var_os("PHALANX_TEST_FOLDER").map(std::path::PathBuf::from) else {
        // The environment is that of a process of its own.
        let folder = std::env::temp_dir().join(format!("phalanx-inspect-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact"])
            .env("PHALANX_TEST_FOLDER", &folder)
            .env("XDG_RUNTIME_DIR", &folder)
            .output()
            .unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    };
    let files =
        || std::fs::read_dir(folder.join("phalanx")).unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>();
    let inspector = Inspector::builder().name("found").address("127.0.0.1:0").serve().unwrap();
    let url = inspector.url().unwrap();
    let [file] = &files()[..] else { panic!("{:?}", files()) };
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let about: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let (address, key) = (about["address"].as_str().unwrap(), about["key"].as_str().unwrap());
    assert_eq!((about["name"].as_str(), url), (Some("found"), format!("http://{address}/#key={key}")));
    // A quiet one is not found, and no file outlives its inspector.
    let quiet = Inspector::builder().address("127.0.0.1:0").quiet().serve().unwrap();
    assert_eq!(files().len(), 1);
    drop((inspector, quiet));
    assert!(files().is_empty());
}
