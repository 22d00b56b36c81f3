import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Who teaches a development schema, and how much; and servers without development.
@Suite("Teachers of a schema")
struct TeachersTests {
    private func save(_ type: String, _ peer: FramePeer) throws -> ErrorCode? {
        do {
            try peer.save(["r-\(type)"], type: type) { _ in ["f": .string("x")] }
            return nil
        } catch let error as ServiceError {
            return error.code
        }
    }

    @Test("an account's saves teach their share, others theirs, and a restart forgets nothing of it")
    func share() throws {
        let disk = SimulatedDisk()
        func start() throws -> SteppedServer {
            try SteppedServer(disk: disk) { $0.teacherShare = SchemaShare(types: 3, fields: 4) }
        }
        var server = try start()
        var (a, b) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        for type in ["A", "B"] { #expect(try save(type, a) == nil) }
        disk.crash(seed: 1, .nothing)
        server = try start()
        (a, b) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        #expect(try save("C", a) == nil)
        #expect(try save("D", a) == .limitExceeded)
        #expect(try save("D", b) == nil)
        #expect(try save("D", a) == nil, "what others have taught is there for all")
        try a.save(["r"], type: "A") { _ in ["g": .string("x")] }
        let error = #expect(throws: ServiceError.self) {
            try a.save(["s"], type: "A") { _ in ["h": .string("x")] }
        }
        #expect(error?.code == .limitExceeded && error?.message.contains("brume schema import") == true)
    }

    @Test("accounts that may not teach find development as strict as production")
    func teachers() throws {
        let server = try SteppedServer { $0.teachers = .accounts(["a"]) }
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        let error = #expect(throws: ServiceError.self) { try b.save(["r"], type: "Note") }
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.contains("development schema") == true && error?.message.contains("production") == false)
        #expect(try save("Note", a) == nil)
        #expect(try save("Note", b) == nil)
        let closed = try SteppedServer { $0.teachers = .nobody }
        #expect(try save("Note", closed.connect(account: "a")) == .invalidArguments)
    }

    @Test("a server without development takes nobody there, and says where to go")
    func noDevelopment() throws {
        let server = try SteppedServer { $0.servesDevelopment = false }
        for account in ["a", nil] {
            let refusal = try server.refusal(account: account)
            #expect(refusal.code == ErrorCode.badContainer.rawValue)
            #expect(refusal.message.contains("BRUME_ENVIRONMENT=production"))
            try server.connect(account: account, environment: .production).disconnect()
        }
    }
}
