import BrumeModel
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// The contract of catalogs, run against the data folder's and the scripted one.
@Suite("The contract of catalogs")
struct CatalogTests {
    enum Kind: CaseIterable, Sendable {
        case folder, scripted
    }

    /// A catalog, with what a test does to it.
    ///
    /// `@unchecked Sendable`: a test has one thread.
    final class Scene: @unchecked Sendable {
        let catalog: any Catalog
        private let disk = SimulatedDisk()
        private let loop: EventLoop

        init(_ kind: Kind) throws {
            loop = try EventLoop(name: "operator")
            let key = [UInt8](repeating: 1, count: 32)
            switch kind {
            case .folder:
                let accounts = try AccountStore(disk: disk)
                try accounts.makeFileIfMissing()
                catalog = FolderCatalog(
                    secrets: ServerSecrets(key: key, adminTokenHash: []), accounts: accounts,
                    schemas: try SchemaRegistry(disk: disk, log: .none))
            case .scripted:
                let scripted = ScriptedCatalog(on: loop, key: key)
                scripted.isHeld = true
                catalog = scripted
            }
        }

        /// Lets all changes that were asked for become durable.
        func settle() {
            guard let scripted = catalog as? ScriptedCatalog else { return }
            while scripted.heldCount > 0 { finishNext(scripted, failing: false) }
        }

        /// Has the disk fail the changes that `body` asks for.
        func failing(_ body: () -> Void) {
            disk.faults.capacityBytes = 0
            body()
            disk.faults.capacityBytes = nil
            guard let scripted = catalog as? ScriptedCatalog else { return }
            while scripted.heldCount > 0 { finishNext(scripted, failing: true) }
        }

        private func finishNext(_ scripted: ScriptedCatalog, failing: Bool) {
            scripted.finishNext(failing: failing)
            loop.step(nowNanoseconds: 0, wallClockMilliseconds: 0)
        }

        // MARK: What came of changes

        /// What became of the changes, in the order in which they ended.
        private(set) var ended: [String] = []

        func ask(_ name: String, _ change: AccountChange) {
            catalog.change(change) { [self] result in
                switch result {
                case .success: ended.append(name)
                case .failure(let error): ended.append("\(name): \(error.code)")
                }
            }
        }

        func ask(_ name: String, _ change: @escaping SchemaChange) {
            catalog.changeSchemas(of: "iCloud.test", change) { [self] result in
                switch result {
                case .success: ended.append(name)
                case .failure(let error): ended.append("\(name): \(error.code)")
                }
            }
        }

        func teach(_ field: String) {
            ask(field) { (schemas) throws(ServiceError) in
                var lesson = SchemaLesson()
                lesson.note(SchemaFieldType(.string), of: field, in: "Note")
                try schemas.development.learn(lesson, of: "_ada", share: .whole, isStrict: false)
            }
        }

        /// The fields that development's schema knows of the type Note.
        var knownFields: Set<String> {
            Set(catalog.schemas["iCloud.test"]?.development.schema.recordTypes["Note"]?.fields.map(\.name) ?? [])
        }
    }

    private static func account(
        _ name: String, email: String = "", phone: String = "", id: UInt8 = 1, tokens: [[UInt8]] = []
    ) -> StoredAccount {
        StoredAccount(
            name: name, email: email, phone: phone, createdMilliseconds: 5, id: [UInt8](repeating: id, count: 16),
            tokenHashes: tokens)
    }

    private static func hash(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    @Test(
        "what was asked for is in effect once it has ended, and ends in the order of the asking",
        arguments: Kind.allCases)
    func effect(kind: Kind) throws {
        let scene = try Scene(kind)
        let accounts = scene.catalog.accounts
        scene.ask("add", .add(Self.account("ada", tokens: [Self.hash(1)])))
        scene.ask("token", .addToken(hash: Self.hash(2), name: "ada"))
        scene.teach("title")
        scene.ask("quota", .setQuota(bytes: 5, name: "ada"))
        if kind == .scripted {
            #expect(scene.ended.isEmpty && accounts.list().isEmpty && scene.knownFields.isEmpty)
        }
        scene.settle()
        #expect(scene.ended == ["add", "token", "title", "quota"])
        #expect(accounts.isValid(tokenHash: Self.hash(1)) && accounts.isValid(tokenHash: Self.hash(2)))
        #expect(accounts.storage(ofAccount: "ada")?.quotaBytes == 5)
        #expect(scene.knownFields == ["title"])
        scene.ask("revoke", .revokeTokens(name: "ada"))
        scene.settle()
        #expect(!accounts.isValid(tokenHash: Self.hash(1)) && !accounts.isValid(tokenHash: Self.hash(2)))
        #expect(accounts.account(named: "ada")?.tokenHashes == [])
        scene.ask("remove", .remove(name: "ada"))
        scene.settle()
        #expect(accounts.list().isEmpty && accounts.storage(ofAccount: "ada") == nil)
    }

    @Test("each change is decided by what those before it left", arguments: Kind.allCases)
    func decidedInOrder(kind: Kind) throws {
        let scene = try Scene(kind)
        scene.ask("first", .add(Self.account("ada", id: 1)))
        scene.ask("second", .add(Self.account("ada", id: 2)))
        scene.ask("other", .removeEmptied(name: "ada", id: [UInt8](repeating: 2, count: 16)))
        scene.ask("token of nobody", .addToken(hash: Self.hash(3), name: "eve"))
        scene.teach("title")
        scene.ask("import") { (schemas) throws(ServiceError) in
            // What an import sees has learned: it replaces the schema, and the lesson is not lost to it by chance.
            guard schemas.development.schema.recordTypes["Note"] != nil else {
                throw ServiceError(.internalError, "the lesson is not there")
            }
            schemas.development.replaceSchema(with: Schema())
        }
        scene.teach("text")
        scene.settle()
        #expect(
            scene.ended == [
                "first", "second: exists", "other: unknown", "token of nobody: unknown", "title",
                "import", "text",
            ])
        #expect(scene.catalog.accounts.account(named: "ada")?.id.first == 1)
        #expect(scene.knownFields == ["text"])
    }

    @Test(
        "one account has each address and number, however it is written, until it gives it up", arguments: Kind.allCases
    )
    func handles(kind: Kind) throws {
        let scene = try Scene(kind)
        func account(_ name: String) -> StoredAccount? { scene.catalog.accounts.account(named: name) }
        scene.ask("ada", .add(Self.account("ada", email: "Ada@x.com", phone: "+49 30 1", id: 1)))
        scene.ask("no address", .add(Self.account("eve", email: "eve", id: 2)))
        scene.ask("no number", .add(Self.account("eve", phone: "030", id: 2)))
        scene.ask("ada's address", .add(Self.account("bob", email: "ada@X.com", id: 2)))
        scene.ask("ada's number", .add(Self.account("bob", phone: "+49301", id: 2)))
        scene.ask("bob", .add(Self.account("bob", email: "bob@x.com", id: 2)))
        scene.ask("taken", .setHandles(HandleChange(email: "ADA@x.com", phone: "+1 234"), name: "bob"))
        scene.ask("other case", .setHandles(HandleChange(email: "ADA@x.com"), name: "ada"))
        scene.ask("nobody", .setHandles(HandleChange(email: "c@x.com"), name: "cleo"))
        scene.settle()
        #expect(
            scene.ended == [
                "ada", "no address: invalid", "no number: invalid", "ada's address: exists", "ada's number: exists",
                "bob", "taken: exists", "other case", "nobody: unknown",
            ])
        #expect(account("ada")?.email == "ADA@x.com" && account("ada")?.phone == "+49301")
        #expect(account("bob")?.email == "bob@x.com" && account("bob")?.phone == "")
        // Given up, and lost with the account.
        scene.ask("give up", .setHandles(HandleChange(phone: ""), name: "ada"))
        scene.ask("take", .setHandles(HandleChange(phone: "+49-30-1"), name: "bob"))
        scene.ask("remove", .remove(name: "ada"))
        scene.ask("take too", .setHandles(HandleChange(email: "ada@x.com"), name: "bob"))
        scene.settle()
        #expect(scene.ended.suffix(4) == ["give up", "take", "remove", "take too"])
        #expect(account("bob")?.email == "ada@x.com" && account("bob")?.phone == "+49301")
        scene.failing { scene.ask("full", .setHandles(HandleChange(email: "free@x.com"), name: "bob")) }
        scene.ask("cleo", .add(Self.account("cleo", email: "free@x.com", id: 3)))
        scene.settle()
        #expect(scene.ended.last == "cleo" && account("bob")?.email == "ada@x.com")
    }

    @Test("of accounts from before handles were unique the older one has it for good, and what is no handle goes")
    func formerHandles() throws {
        func account(_ name: String, _ email: String, _ created: Int64, id: UInt8) -> StoredAccount {
            var account = Self.account(name, email: email, id: id)
            account.createdMilliseconds = created
            return account
        }
        let kept = [
            account("ada", "A@x", 9, id: 1), account("bob", "a@x", 8, id: 2), account("cleo", "no address", 7, id: 3),
        ]
        for accounts in [kept, kept.reversed()] {
            var table = AccountTable(accounts)
            #expect(table.list.map(\.email) == ["", "a@x", ""])
            _ = try table.apply(.setQuota(bytes: 1, name: "ada"))
            #expect(throws: AccountError.self) { try table.apply(.setHandles(HandleChange(email: "a@X"), name: "ada")) }
            // Given up, it is nobody's, also behind a start.
            _ = try table.apply(.setHandles(HandleChange(email: ""), name: "bob"))
            _ = try table.apply(.add(account("dan", "a@x", 10, id: 4)))
            #expect(AccountTable(table.list).list.map(\.email) == ["", "", "", "a@x"])
        }
    }

    @Test("a change that can't be made durable never was, and the next one is made", arguments: Kind.allCases)
    func failure(kind: Kind) throws {
        let scene = try Scene(kind)
        scene.ask("add", .add(Self.account("ada", tokens: [Self.hash(1)])))
        scene.settle()
        scene.failing {
            scene.ask("revoke", .revokeTokens(name: "ada"))
            scene.ask("quota", .setQuota(bytes: 7, name: "ada"))
            scene.teach("title")
        }
        #expect(
            scene.ended.map { String($0.prefix(7)) } == ["add", "revoke:", "quota: ", "title: "], "\(scene.ended)")
        #expect(scene.catalog.accounts.isValid(tokenHash: Self.hash(1)))
        #expect(scene.catalog.accounts.storage(ofAccount: "ada")?.quotaBytes == nil)
        #expect(scene.knownFields.isEmpty)
        scene.ask("revoke", .revokeTokens(name: "ada"))
        scene.teach("text")
        scene.settle()
        #expect(scene.ended.suffix(2) == ["revoke", "text"])
        #expect(!scene.catalog.accounts.isValid(tokenHash: Self.hash(1)))
        #expect(scene.knownFields == ["text"])
    }

    @Test(
        "what an account stores is counted on while its tokens and quota change, and anew for another of its name",
        arguments: Kind.allCases)
    func storage(kind: Kind) throws {
        let scene = try Scene(kind)
        let accounts = scene.catalog.accounts
        scene.ask("add", .add(Self.account("ada", tokens: [Self.hash(1)])))
        scene.settle()
        let storage = try #require(accounts.storage(ofAccount: "ada"))
        storage.change(by: 100)
        scene.ask("revoke", .revokeTokens(name: "ada"))
        scene.ask("token", .addToken(hash: Self.hash(2), name: "ada"))
        scene.ask("quota", .setQuota(bytes: 9, name: "ada"))
        scene.settle()
        #expect(accounts.storage(ofAccount: "ada") === storage && storage.quotaBytes == 9)
        scene.ask("default", .setQuota(bytes: nil, name: "ada"))
        scene.settle()
        #expect(storage.quotaBytes == nil && storage.usedBytes == 100)
        scene.ask("remove", .remove(name: "ada"))
        scene.ask("again", .add(Self.account("ada", id: 2)))
        scene.settle()
        #expect(accounts.storage(ofAccount: "ada")?.usedBytes == 0, "another account of that name has stored nothing")
    }
}
