//! ```
//! assert_eq!(small::shown(), "42");
//! ```
include!(concat!(env!("OUT_DIR"), "/made.rs"));

pub fn shown() -> String {
    itoa::Buffer::new().format(MADE).to_owned()
}

#[cfg(test)]
mod tests {
    use std::{net, process, thread};

    #[test]
    fn a_dependency() {
        assert_eq!(super::shown(), "42");
    }

    #[test]
    fn threads_and_a_child() {
        let squares = (0..8).map(|i| thread::spawn(move || i * i));
        assert_eq!(squares.map(|t| t.join().unwrap()).sum::<i32>(), 140);
        assert!(process::Command::new("true").status().unwrap().success());
    }

    #[test]
    fn the_loopback() {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    }
}
