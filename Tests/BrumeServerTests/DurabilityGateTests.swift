import BrumeModel
import BrumeRecord
import BrumeStore
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What shows a commit waits until the commit is durable.
@Suite("The gate before the disk")
struct DurabilityGateTests {
    private static func outcome(_ byteCount: Int) -> Outcome {
        let record = SharedBytes([UInt8](repeating: 1, count: byteCount))
        return .success(.recordsModified([ZoneModificationResult(saves: [SaveResult(outcome: .record(record))])]))
    }

    private let database: LoadedDatabase = {
        let database = Database(
            id: DatabaseID(container: "iCloud.x", environment: .development, scope: .private, owner: "_u"), epoch: 1)
        return LoadedDatabase(
            database: database, hub: NotificationHub(database: database, head: .start, coder: EventCoder()),
            storage: nil, savedSequence: 0)
    }()

    @Test("what is durable passes at once, the rest in the order of positions when they are durable")
    func order() {
        let gate = DurabilityGate()
        var passed: [String] = []
        gate.whenDurable(0) { passed.append("0") }
        gate.whenDurable(5) { passed.append("5") }
        gate.whenDurable(2, of: database, Self.outcome(1)) { _ in passed.append("2") }
        gate.whenDurable(5) { passed.append("5 again") }
        #expect(passed == ["0"] && gate.count == 3 && gate.heldByteCount > 0)
        gate.open(upTo: 4)
        #expect(passed == ["0", "2"] && gate.count == 2 && gate.heldByteCount == 0)
        // A report that comes late takes nothing back.
        gate.open(upTo: 1)
        gate.whenDurable(3) { passed.append("3") }
        gate.open(upTo: 5)
        #expect(passed == ["0", "2", "3", "5", "5 again"] && gate.count == 0)
    }

    @Test("an action may wait for something else in its turn")
    func nesting() {
        let gate = DurabilityGate()
        var passed: [String] = []
        gate.whenDurable(1) {
            passed.append("1")
            gate.whenDurable(1) { passed.append("at once") }
            gate.whenDurable(2) { passed.append("later") }
        }
        gate.open(upTo: 1)
        #expect(passed == ["1", "at once"])
        gate.open(upTo: 2)
        #expect(passed == ["1", "at once", "later"])
    }

    @Test("what shows a database that was lost is refused, whenever it comes; the rest waits on")
    func lost() {
        let gate = DurabilityGate()
        var passed: [String] = []
        func give(_ name: String) -> (Outcome) -> Void {
            { outcome in
                if case .failure(let error) = outcome {
                    passed.append("\(name) \(error == .databaseLost)")
                } else {
                    passed.append(name)
                }
            }
        }
        gate.whenDurable(1, of: database, Self.outcome(1), give("a"))
        gate.whenDurable(1) { passed.append("b") }
        gate.whenDurable(2, of: database, Self.outcome(1), give("c"))
        gate.whenDurable(3, of: database) { passed.append("d \($0 == .databaseLost)") }
        database.markLost()
        // It becomes durable before those who wait are told.
        gate.open(upTo: 1)
        #expect(passed == ["a true", "b"])
        gate.refuse(showing: database)
        #expect(passed.dropFirst(2) == ["c true", "d true"] && gate.count == 0 && gate.heldByteCount == 0)
        gate.whenDurable(0, of: database, Self.outcome(1), give("e"))
        gate.whenDurable(0, of: database) { passed.append("f \($0 == .databaseLost)") }
        #expect(passed.dropFirst(4) == ["e true", "f true"])
    }

    @Test("a client's outcome waits without the array that its records came in, and counts until it leaves")
    func compaction() throws {
        let account = ClientShare.Key.account("a")
        let budget = ByteBudget(limit: 1_000_000)
        let (output, input) = (ByteShare(of: budget, limit: 1_000_000), ByteShare(of: budget, limit: 1_000_000))
        let door = RecordingDoor()
        let client = Client(
            Identity(
                role: .account(name: "a"), container: "iCloud.x", environment: .development, userRecordName: "_u",
                deviceID: [], clientVersion: ""),
            share: ClientShare(account, callLimit: 1, streamLimit: 1, output: output, input: input),
            timeShare: TimeShare(account: account, limits: .init()), door: door)
        let record = SharedBytes(of: [UInt8](repeating: 7, count: 1_000_000), at: 10..<40)
        let answer = Answer.recordsModified([ZoneModificationResult(saves: [SaveResult(outcome: .record(record))])])
        let gate = DurabilityGate()
        gate.whenDurable(1, of: database, .success(answer), to: Responder(client: client, call: 3))
        #expect(door.outcomes.isEmpty && client.heldByteCount == gate.heldByteCount && client.heldByteCount > 30)
        gate.open(upTo: 1)
        guard case .success(.recordsModified(let zones))? = door.outcomes[3],
            case .record(let held)? = zones[0].saves.first?.outcome
        else {
            Issue.record("the answer is another one: \(door.outcomes)")
            return
        }
        #expect(held == record && held.storage.count == 30)
        #expect(client.heldByteCount == 0 && gate.heldByteCount == 0)
    }

    @Test("outcomes that wait have a bound in bytes; one beyond it fails at once, with what the disk says")
    func bound() throws {
        let gate = DurabilityGate(heldBytesLimit: 10_000)
        var codes: [ErrorCode?] = []
        func give(_ outcome: Outcome) {
            if case .failure(let error) = outcome { codes.append(error.code) } else { codes.append(nil) }
        }
        gate.whenDurable(1, of: database, Self.outcome(6_000), give)
        gate.whenDurable(1, of: database, Self.outcome(6_000), give)
        #expect(codes == [.serviceUnavailable])
        gate.writeRefusal = { .diskFull }
        gate.whenDurable(1, of: database, Self.outcome(6_000), give)
        #expect(codes == [.serviceUnavailable, ServiceError.diskFull.code])
        gate.open(upTo: 1)
        #expect(codes.last == .some(nil) && gate.heldByteCount == 0)
        gate.whenDurable(2, of: database, Self.outcome(6_000), give)
        #expect(gate.count == 1, "there is room again")
        // Nothing runs when a server is given up.
        gate.abandon()
        gate.open(upTo: 2)
        #expect(codes.count == 3 && gate.count == 0)
    }
}
