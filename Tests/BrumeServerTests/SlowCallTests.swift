import BrumeModel
import BrumeProtocol
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Calls that take long")
struct SlowCallTests {
    /// The lines about slow calls, where each turn of a loop takes so long.
    private func lines(turnMilliseconds: UInt64, bound: UInt64) throws -> [String] {
        let lines = Lines()
        let server = try SteppedServer(turnNanoseconds: turnMilliseconds * 1_000_000) {
            $0.log = lines.log(minimum: .warning)
            $0.slowCallMilliseconds = bound
        }
        let peer = try server.connect(account: "a")
        try peer.makeZone("notes")
        return lines.all.filter { $0.contains("slow call") }
    }

    @Test("are in the log with their method and time, others are not, and none where nobody asks for that")
    func logged() throws {
        let slow = try lines(turnMilliseconds: 1_500, bound: 1_000)
        #expect(slow.count == 1 && slow[0].contains("method=Zones.Modify"), "\(slow)")
        #expect(slow[0].contains(" request=") && slow[0].hasSuffix(" code=0"), "\(slow)")
        #expect(try lines(turnMilliseconds: 10, bound: 1_000) == [])
        #expect(try lines(turnMilliseconds: 1_500, bound: 0) == [])
    }

    @Test("are there with their trace, if they have one")
    func traced() throws {
        let lines = Lines()
        let server = try SteppedServer(turnNanoseconds: 1_500_000_000) {
            $0.log = lines.log(minimum: .warning)
            $0.slowCallMilliseconds = 1_000
        }
        let peer = try server.connect(account: "a")
        let header = CallHeader(
            method: .zonesModify, traceParent: TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        let request = ModifyZonesRequest(database: .private, saves: [ZoneID(name: "notes")], deletions: [])
        let coder = MessageCoder()
        peer.send(.call, stream: 9, payload: coder.encodeCall(header))
        peer.send(.message, stream: 9, isLast: true, payload: coder.encodeModifyZonesRequest(request))
        server.settle()
        let slow = lines.all.filter { $0.contains("slow call") }
        let trace = " trace=4bf92f3577b34da6a3ce929d0e0e4736 parent=00f067aa0ba902b7"
        #expect(slow.count == 1 && slow[0].hasSuffix(" code=0" + trace), "\(slow)")
    }

    @Test("and all others have a line when they begin and when they end, where the log tells everything")
    func everything() throws {
        let lines = Lines()
        let server = try SteppedServer {
            $0.log = lines.log(minimum: .debug)
        }
        let peer = try server.connect(account: "a")
        try peer.makeZone("notes")
        let calls = lines.all.filter { $0.contains("method=Zones.Modify") }
        #expect(calls.count == 2, "\(calls)")
        #expect(calls.first?.contains(" debug call method=Zones.Modify user=_") == true, "\(calls)")
        #expect(calls.last?.contains(" debug end of call method=Zones.Modify milliseconds=") == true, "\(calls)")
        #expect(calls.last?.hasSuffix(" code=0") == true, "\(calls)")
    }
}
