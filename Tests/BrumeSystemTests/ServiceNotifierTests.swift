import BrumeTestKit
import Glibc
import Testing

@testable import BrumeSystem

@Suite("What a service manager is told")
struct ServiceNotifierTests {
    @Test("is a line for each state, and a status stays one line of bounded length")
    func text() {
        let states: [ServiceNotifier.State] = [
            .ready, .reloading(nowMicroseconds: 17), .stopping, .watchdog, .extendedTimeout(microseconds: 30_000_000),
        ]
        #expect(
            ServiceNotifier.text(states)
                == "READY=1\nRELOADING=1\nMONOTONIC_USEC=17\nSTOPPING=1\nWATCHDOG=1\nEXTEND_TIMEOUT_USEC=30000000\n")
        #expect(ServiceNotifier.text([.status("all\nis\u{0}well\r")]) == "STATUS=all is well \n")
        let long = ServiceNotifier.text([.status(String(repeating: "é", count: 600))])
        #expect(long.utf8.count == "STATUS=\n".utf8.count + 512 && long.hasSuffix("é\n"))
    }

    @Test("goes to a socket of the file system, and to one of an abstract name")
    func sockets() throws {
        let folder = try TestFolder()
        for name in [folder.file("notify"), "@brume-test-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"] {
            let manager = try ManagerSocket(name)
            let notifier = try #require(ServiceNotifier(socket: name))
            notifier.send(.ready, .status("serving"))
            #expect(manager.next() == "READY=1\nSTATUS=serving\n")
        }
    }

    @Test("goes nowhere where nobody listens, or the name is none")
    func nowhere() throws {
        let folder = try TestFolder()
        ServiceNotifier(socket: folder.file("nobody"))?.send(.ready)
        for name in [nil, "", "@", "/", "relative", "vsock:2:1", "/" + String(repeating: "x", count: 108), "/a\0b"] {
            #expect(ServiceNotifier(socket: name) == nil, "\(name ?? "nil")")
        }
    }

    @Test("is asked for by a watchdog of this process alone")
    func watchdog() {
        #expect(ServiceWatchdog(microseconds: "30000000", process: nil)?.intervalMilliseconds == 15_000)
        #expect(ServiceWatchdog(microseconds: "30000000", process: String(getpid()))?.timeoutMicroseconds == 30_000_000)
        #expect(ServiceWatchdog(microseconds: "1", process: nil)?.intervalMilliseconds == 1)
        // Three hours, and what means that it is off.
        for long in ["10800000000", "18446744073709551615"] {
            #expect(ServiceWatchdog(microseconds: long, process: nil)?.intervalMilliseconds == 30_000)
        }
        for (microseconds, process) in [
            (nil, nil), ("0", nil), ("soon", nil), ("-5", nil), ("30000000", "1"), ("30000000", "me"),
        ] as [(String?, String?)] {
            #expect(ServiceWatchdog(microseconds: microseconds, process: process) == nil)
        }
    }
}
