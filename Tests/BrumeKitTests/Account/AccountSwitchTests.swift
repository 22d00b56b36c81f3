@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Foundation
import Testing

private func code(_ error: (any Error)?) -> CKError.Code? { (error as? CKError)?.code }

private func code<Value: Sendable>(_ task: Task<Value, any Error>) async -> CKError.Code? {
    do {
        _ = try await task.value
        return nil
    } catch { return code(error) }
}

extension FakeTransport {
    /// The next connection, which has to say hello with the given token, up and welcomed.
    fileprivate func welcomed(token: String?, user: String) async throws -> FakeConnection {
        let connection = try await connecting()
        connection.accept()
        let hello = try await message(.hello).payload.withUnsafeBytes { try MessageCoder().decodeHello($0) }
        #expect(hello.credentials == (token.map { .account($0) } ?? .none))
        connection.welcome(user: user)
        return connection
    }
}

@Suite("A container's account", .timeLimit(.minutes(1)))
struct AccountSwitchTests {
    let transport = FakeTransport()
    let folder: TestFolder
    let registry = SessionRegistry()

    init() throws {
        folder = try TestFolder()
    }

    private func container(token: String? = "ada") -> CKContainer {
        CKContainer(
            configuration: BrumeConfiguration(
                server: "example.com:7440", token: token, container: "iCloud.test", stateFolder: folder.path),
            transport: .success(transport), registry: registry)
    }

    private func list(_ container: CKContainer) -> Task<[CKRecordZone], any Error> {
        Task { try await container.privateCloudDatabase.allRecordZones() }
    }

    private func answerZones(_ connection: FakeConnection, _ stream: UInt32, owner: String) {
        let zone = Zone(id: ZoneID(name: "Notes", owner: owner), capabilities: [])
        connection.answer(stream, MessageCoder().encodeListZonesResponse([zone]))
    }

    @Test("can be switched: calls under way end, the connection closes, and later calls are the new account's")
    func switching() async throws {
        let container = container()
        let changes = AccountChanges(of: container)
        let database = container.privateCloudDatabase
        let inFlight = list(container)
        _ = try await transport.welcomed(token: "ada", user: "_ada")
        _ = try await transport.call()
        container.signIn(token: "bob")
        #expect(await code(inFlight) == .notAuthenticated)
        try await changes.next()
        // The call is withdrawn before the connection closes with the last who used it.
        guard case .frame(_, let message) = try await transport.next(), message.header.type == .cancel else {
            Issue.record("the call was not withdrawn")
            return
        }
        try await transport.closed()
        let later = Task { try await database.allRecordZones() }
        let connection = try await transport.welcomed(token: "bob", user: "_bob")
        answerZones(connection, try await transport.call().stream, owner: "_bob")
        #expect(try await later.value.map(\.zoneID.ownerName) == [CKCurrentUserDefaultName])
        #expect(try await changes.count() == 1)
    }

    @Test("does not change when it is signed in again")
    func sameToken() async throws {
        let container = container()
        let changes = AccountChanges(of: container)
        let inFlight = list(container)
        let connection = try await transport.welcomed(token: "ada", user: "_ada")
        let call = try await transport.call()
        container.signIn(token: "ada")
        answerZones(connection, call.stream, owner: "_ada")
        #expect(try await inFlight.value.count == 1)
        #expect(try await changes.count() == 0)
    }

    @Test("can be signed out, with which calls end also where there is no connection, and notifications too")
    func signOut() async throws {
        let container = container()
        let waiting = list(container)
        let notifications = Task { try await container.notifications.first { _ in true } }
        _ = try await transport.connecting()
        // Both wait for that connection.
        while await (try container.core.openSession().consumerCount) == 0 { await Task.yield() }
        let session = try container.core.openSession()
        while await session.openCallCount == 0 { await Task.yield() }
        container.signOut()
        #expect(await code(waiting) == .notAuthenticated)
        #expect(await code(notifications) == .notAuthenticated)
        #expect(try await container.accountStatus() == .noAccount)
        #expect(await code(list(container)) == .notAuthenticated)
        #expect(await session.openCallCount == 0)
        #expect(await session.consumerCount == 0)
    }

    @Test("is one container's: another one on the same connection keeps its calls and its account")
    func others() async throws {
        let (one, other) = (container(), container())
        let changes = AccountChanges(of: other)
        let calls = [list(one), list(other)]
        let connection = try await transport.welcomed(token: "ada", user: "_ada")
        let streams = [try await transport.call().stream, try await transport.call().stream]
        one.signOut()
        #expect(await code(calls[0]) == .notAuthenticated)
        for stream in streams { answerZones(connection, stream, owner: "_ada") }
        #expect(try await calls[1].value.count == 1)
        #expect(try await changes.count() == 0)
        #expect(other.core.configuration.token == "ada")
    }

    @Test("is one account's throughout a piece of work")
    func bound() async throws {
        let container = container()
        let bound = container.privateCloudDatabase.boundToAccount
        let first = Task { try await bound.allRecordZones() }
        let connection = try await transport.welcomed(token: "ada", user: "_ada")
        answerZones(connection, try await transport.call().stream, owner: "_ada")
        _ = try await first.value
        container.signIn(token: "bob")
        #expect(await code(Task { try await bound.allRecordZones() }) == .notAuthenticated)
    }

    @Test("is gone for the app when the server revokes its token, and back when it takes it again")
    func revocation() async throws {
        let container = container()
        let changes = AccountChanges(of: container)
        let status = Task { try await container.accountStatus() }
        let connection = try await transport.welcomed(token: "ada", user: "_ada")
        #expect(try await status.value == .available)
        connection.status(0, .notAuthenticated, "revoked")
        try await changes.next()
        try await transport.closed()
        // Nobody asks: the session looks by itself.
        transport.advance(seconds: 60)
        _ = try await transport.welcomed(token: "ada", user: "_ada")
        try await changes.next()
        #expect(try await container.accountStatus() == .available)
    }

    @Test(
        "has the status that the server says",
        arguments: [
            (ErrorCode.notAuthenticated, CKAccountStatus.noAccount), (.managedAccountRestricted, .restricted),
            (.accountTemporarilyUnavailable, .temporarilyUnavailable),
        ])
    func status(code: ErrorCode, status: CKAccountStatus) async throws {
        let container = container()
        for attempt in 0..<2 {
            let asked = Task {
                await withCheckedContinuation { continuation in
                    container.accountStatus { continuation.resume(returning: ($0, $1 == nil)) }
                }
            }
            // The second one is answered from memory: the server is not asked again so soon.
            if attempt == 0 {
                let connection = try await transport.connecting()
                connection.accept()
                _ = try await transport.message(.hello)
                connection.status(0, code)
                try await transport.closed()
            }
            let answer = await asked.value
            #expect(answer.0 == status)
            #expect(answer.1)
        }
    }

    @Test("can't be determined without a server, which shows at once, and is told when it can")
    func undetermined() async throws {
        let container = container()
        let changes = AccountChanges(of: container)
        let asked = Task {
            await withCheckedContinuation { continuation in
                container.accountStatus { continuation.resume(returning: ($0, ($1 as? CKError)?.code)) }
            }
        }
        try await transport.connecting().fail(.unreachable("refused"))
        let answer = await asked.value
        #expect(answer.0 == .couldNotDetermine)
        #expect(answer.1 == .networkUnavailable)
        let call = list(container)
        transport.advance(seconds: 1)
        let connection = try await transport.welcomed(token: "ada", user: "_ada")
        try await changes.next()
        answerZones(connection, try await transport.call().stream, owner: "_ada")
        _ = try await call.value
    }

    @Test("is not waited for longer than 5 s when nobody answers")
    func silence() async throws {
        let container = container()
        let asked = Task { try await container.accountStatus() }
        _ = try await transport.connecting()
        transport.advance(seconds: 5)
        #expect(await code(asked) == .networkFailure)
    }
}

@Suite("The default container's account")
struct DefaultAccountTests {
    @Test("is the account of containers that are made by name, and stays when the default is asked for again")
    func defaults() {
        let container = CKContainer.default()
        defer { container.signOut() }
        container.signIn(token: "brume_of-ada")
        #expect(CKContainer.default() === container)
        #expect(CKContainer(identifier: "iCloud.other").core.configuration.token == "brume_of-ada")
        container.signOut()
        #expect(CKContainer.default() === container)
        #expect(CKContainer(identifier: "iCloud.other").core.configuration.token == nil)
    }
}
