import BrumeEncryption
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeKit

@Suite("The file of what a device knows of another account")
struct PersonFileTests {
    private let folder: TestFolder
    private let keys: KeyFolder
    private let scope = IdentityScope(account: "_ada", container: "iCloud.test", environment: "development")
    private let bob: Person

    init() throws {
        folder = try TestFolder()
        keys = KeyFolder(
            stateFolder: folder.file("phone"), place: KeyPlace(server: "example.com:7440", scope: scope))
        var bob = try Person("_bob", scope)
        try bob.replaceKeys()
        self.bob = bob
    }

    private func load(_ account: String) throws -> KeyFolder.LoadedPerson {
        guard case .done(let loaded) = try keys.loadPerson(account) else { throw Steps.Broken() }
        return loaded
    }

    @discardableResult
    private func write(_ known: KnownStatements, over head: [UInt8]? = nil) throws -> [UInt8]? {
        guard case .done(let head) = try keys.writePerson(known, over: head) else { throw Steps.Broken() }
        return head
    }

    private func path(_ account: String) -> String { keys.path + "/" + PersonFile.path(account: account, place: place) }

    private var place: KeyPlace { keys.place }

    private func refusal(_ bytes: [UInt8], of account: String = "_bob") -> KeyFile.Refusal? {
        do throws(KeyFile.Refusal) {
            _ = try PersonFile.decode(bytes, account: account, place: place)
            return nil
        } catch {
            return error
        }
    }

    @Test("gives back what was put into it, and is not there before")
    func roundTrip() throws {
        #expect(try load("_bob").known == nil && load("_bob").head == nil && !keys.isMade)
        var head: [UInt8]?
        for trust in [KnownStatements.Trust.seen, .link, .compared] {
            let known = try bob.known(trust)
            head = try write(known, over: head)
            #expect(head != nil)
            let loaded = try load("_bob")
            #expect(loaded.known == known && loaded.known?.trust == trust && loaded.head == head)
            #expect(loaded.known?.chain.last == bob.signed.last?.statement)
        }
        #expect(try FileSystem.permissions(path("_bob")) == 0o600)
        #expect(try FileSystem.permissions(FileSystem.directory(of: path("_bob"))) == 0o700)
    }

    @Test("is one for each account, whatever its name")
    func accounts() throws {
        let people = try ["_bob", "_Bob", "_bo", "_\u{e9}", "_e\u{301}"].map { try Person($0, scope) }
        #expect(Set(people.map { path($0.scope.account) }).count == people.count)
        for person in people { try write(person.known()) }
        for person in people { #expect(try load(person.scope.account).known == person.known()) }
        #expect(try load("_ada").known == nil)
    }

    @Test("is damaged with any byte flipped, cut or added, and says what to do")
    func damage() throws {
        let whole = PersonFile.encode(try Person("_bob", scope).known(), place: place).bytes
        for index in whole.indices {
            var bytes = whole
            bytes[index] ^= 1 << (index % 8)
            #expect(refusal(bytes) == (index == 0 ? .newer : .damaged), "byte \(index)")
            #expect(refusal(Array(whole.prefix(index))) == .damaged, "\(index) bytes")
        }
        #expect(refusal(whole) == nil && refusal(whole + [0]) == .damaged)
        try write(bob.known())
        for (bytes, advice) in [([], "remove it"), (whole + [0], "remove it"), ([2] + whole.dropFirst(), "update")] {
            try FileSystem.atomicReplace(path("_bob"), bytes)
            #expect(
                performing: { try keys.loadPerson("_bob") },
                throws: {
                    let said = ($0 as? KeyFolderProblem)?.message ?? ""
                    return said.contains(path("_bob")) && said.contains(advice)
                })
            #expect(try FileSystem.read(path("_bob"), limit: 1 << 20) == bytes)
        }
    }

    @Test("of another account, or from another folder, is damaged")
    func moved() throws {
        try write(bob.known(.compared))
        try write(Person("_cat", scope).known())
        try FileSystem.atomicReplace(path("_cat"), FileSystem.read(path("_bob"), limit: 1 << 20))
        #expect(throws: KeyFolderProblem.self) { try keys.loadPerson("_cat") }
        #expect(try load("_bob").known?.trust == .compared)
        let scopes = [("_cat", "iCloud.test", "development"), ("_ada", "other", "development")]
        for (account, container, environment) in scopes {
            let other = KeyPlace(
                server: place.server,
                scope: IdentityScope(account: account, container: container, environment: environment))
            #expect(refusal(PersonFile.encode(try bob.known(), place: other).bytes) == .damaged)
        }
        #expect(refusal(RingFile.encode(KeptRing(), ring: ring, place: place).bytes) == .damaged)
    }

    private var ring: RingPlace { RingPlace(owner: scope.account, zone: "_bob") }

    /// A file of which the checksum is right, as a bug or another version could write it.
    private func file(
        trust: UInt8 = 0, count: UInt32? = nil, of account: String = "_bob", rest: [UInt8] = [],
        _ statements: [[UInt8]]
    ) -> [UInt8] {
        var checked = place.bytes
        withUnsafeBytes(of: UInt32(account.utf8.count).littleEndian) { checked.append(contentsOf: $0) }
        var writer = KeyFileWriter(kind: PersonFile.kind, capacity: 1024)
        writer.write(u8: trust)
        writer.write(u32: count ?? UInt32(statements.count))
        for statement in statements { writer.write(counted: statement) }
        writer.write(rest)
        writer.finish(place: checked + account.utf8)
        return writer.bytes
    }

    @Test("with statements that are none, or another account's, is damaged, whatever its checksum says")
    func contents() throws {
        let statements = bob.signed.map(\.bytes)
        let others = [
            IdentityScope(account: "_ada", container: "other", environment: "development"),
            IdentityScope(account: "_ada", container: "iCloud.test", environment: "production"),
        ]
        let strangers = try others.map { try Person("_bob", $0).signed.map(\.bytes) }
        #expect(refusal(file(statements)) == nil && refusal(file(trust: 2, [statements[0]])) == nil)
        let bad = [
            file(trust: 3, statements), file(count: 0, statements), file(count: 1, statements),
            file(count: 3, statements),
            file(count: .max, statements), file(count: UInt32(KeyLimits.statementsMax) + 1, statements), file([]),
            file([statements[1]]), file(statements.reversed()), file([statements[0], statements[0]]),
            file([statements[0], []]), file(rest: [0], statements), file([[1]]), file(strangers[0]), file(strangers[1]),
            file([statements[0]] + (try Person("_bob", scope).signed.map(\.bytes))),
        ]
        for (index, bytes) in bad.enumerated() { #expect(refusal(bytes) == .damaged, "file \(index)") }
        #expect(refusal(file(of: "_cat", statements), of: "_cat") == .damaged)
    }

    @Test("that another process wrote meanwhile is not overwritten")
    func processes() throws {
        let first = try #require(try write(Person("_bob", scope).known()))
        #expect(try write(bob.known()) == nil, "there is a file by now")
        let second = try #require(try write(bob.known(.link), over: first))
        #expect(try write(bob.known(.compared), over: first) == nil)
        #expect(try load("_bob").known == bob.known(.link) && load("_bob").head == second)
        try FileSystem.remove(path("_bob"))
        #expect(try write(bob.known(), over: second) == nil && load("_bob").known == nil)
        let lock = try DirectoryLock(directory: keys.path)
        defer { lock.release() }
        guard case .locked = try keys.writePerson(bob.known(), over: nil) else {
            Issue.record("it is locked")
            return
        }
    }

    @Test("is never that of another container's account")
    func foreign() async {
        await #expect(processExitsWith: .failure) {
            let scope = IdentityScope(account: "_ada", container: "iCloud.test", environment: "development")
            let other = IdentityScope(account: "_ada", container: "other", environment: "development")
            let place = KeyPlace(server: "example.com:7440", scope: scope)
            _ = try KeyFolder(stateFolder: "/nowhere", place: place).writePerson(
                Person("_bob", other).known(), over: nil)
        }
    }
}
