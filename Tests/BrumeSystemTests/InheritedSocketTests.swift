import Glibc
import Testing

@testable import BrumeSystem

@Suite("A socket that a service manager hands over")
struct InheritedSocketTests {
    @Test("is none where the manager has none for this process")
    func none() throws {
        let own = String(getpid())
        for (count, process) in [
            (nil, nil), ("1", nil), (nil, own), ("1", "1"), ("0", own), ("-1", own), ("one", own), ("1", "me"),
        ] as [(String?, String?)] {
            let socket = try InheritedSocket(count: count, process: process)
            #expect(socket == nil, "\(count ?? "nil") \(process ?? "nil")")
        }
    }

    @Test("is one alone")
    func several() {
        let error = #expect(throws: InheritedSocket.Problem.self) {
            try InheritedSocket(count: "2", process: String(getpid()))
        }
        #expect(error?.message.contains("2 sockets") == true)
    }
}
