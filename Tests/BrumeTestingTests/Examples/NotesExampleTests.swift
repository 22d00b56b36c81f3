import BrumeSystem
import BrumeTesting
import CloudKit
import NotesKit
import Testing

/// The notes program of Examples, on devices of a test server, as its own developer would test it.
@Suite("The notes example", .timeLimit(.minutes(2)))
struct NotesExampleTests {
    /// The program on a device, which syncs when it is told to unless it says otherwise.
    private func app(_ device: TestDevice, automaticallySync: Bool = false) throws -> NotesApp {
        try NotesApp(
            container: device.container, file: device.stateFolder.appendingPathComponent("notes.sqlite"),
            automaticallySync: automaticallySync)
    }

    private func texts(_ app: NotesApp) throws -> [String: String] {
        Dictionary(uniqueKeysWithValues: try app.notes().map { ($0.title, $0.text) })
    }

    @Test("brings what was written offline to the user's other device, once there is a network")
    func offlineEdits() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let (first, second) = (try app(phone), try app(server.device(of: "ada")))
            phone.goOffline()
            for number in 1...3 { try first.add(title: "\(number)", text: "from the phone") }
            #expect(await failure { try await first.syncNow() } != nil)
            #expect(try first.pendingCount == 3)
            phone.goOnline()
            try await first.syncNow()
            try await second.syncNow()
            #expect(try first.pendingCount == 0)
            #expect(try second.notes() == first.notes())
            #expect(try second.notes().count == 3)
        }
    }

    @Test("keeps both texts of a note that two devices changed, and the same on both")
    func conflict() async throws {
        try await TestServer.run { server in
            let (first, second) = (try app(server.device(of: "ada")), try app(server.device(of: "ada")))
            let note = try first.add(title: "Shopping", text: "Bread")
            try await first.syncNow()
            try await second.syncNow()
            try first.edit(note.id) { $0.text = "Bread, milk" }
            try second.edit(note.id) { $0.text = "Bread, tea" }
            try await first.syncNow()
            try await second.syncNow()
            try await first.syncNow()
            let text = try #require(try texts(first)["Shopping"])
            #expect(text.contains("milk") && text.contains("tea"))
            #expect(try second.notes() == first.notes())
            // What only one device changed is no conflict.
            try first.edit(note.id) { $0.title = "Shopping today" }
            try second.edit(note.id) { $0.text = "Nothing" }
            try await first.syncNow()
            try await second.syncNow()
            try await first.syncNow()
            #expect(try texts(first) == ["Shopping today": "Nothing"])
            #expect(try second.notes() == first.notes())
            #expect(first.problems + second.problems == [])
        }
    }

    @Test("has a note's picture on every device, and the later one where two devices changed it")
    func pictures() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let (first, second) = (try app(phone), try app(server.device(of: "ada")))
            func file(_ content: String) throws -> URL {
                let file = phone.stateFolder.appendingPathComponent(UUID().uuidString)
                try Data(content.utf8).write(to: file)
                return file
            }
            func pictures(_ app: NotesApp) throws -> [String?] {
                try app.notes().map { try $0.picture.map { try String(contentsOf: $0, encoding: .utf8) } }
            }
            let original = try file("sea")
            let note = try first.add(title: "Sea", text: "", picture: original)
            try FileManager.default.removeItem(at: original)
            try await first.syncNow()
            try await second.syncNow()
            #expect(try pictures(first) == ["sea"] && pictures(second) == ["sea"])
            // A changed text is no changed picture.
            try second.edit(note.id) { $0.text = "at night" }
            try await second.syncNow()
            try first.setPicture(file("sea at night"), of: note.id)
            try await first.syncNow()
            try await second.syncNow()
            #expect(try texts(first) == ["Sea": "at night"] && texts(second) == ["Sea": "at night"])
            #expect(try pictures(first) == ["sea at night"] && pictures(second) == ["sea at night"])
            // Both change it: the later edit's stays, on both.
            try first.setPicture(file("one"), of: note.id)
            try second.setPicture(file("two"), of: note.id)
            try await first.syncNow()
            try await second.syncNow()
            try await first.syncNow()
            #expect(try pictures(first) == ["two"] && pictures(second) == ["two"])
            try second.setPicture(nil, of: note.id)
            try await second.syncNow()
            try await first.syncNow()
            #expect(try pictures(first) == [nil] && pictures(second) == [nil])
            #expect(first.problems + second.problems == [])
            #expect(try first.pendingCount == 0 && second.pendingCount == 0)
        }
    }

    @Test("deletes a note everywhere, unless another device has changed it meanwhile")
    func deletions() async throws {
        try await TestServer.run { server in
            let (first, second) = (try app(server.device(of: "ada")), try app(server.device(of: "ada")))
            let gone = try first.add(title: "gone", text: "")
            let kept = try first.add(title: "kept", text: "")
            let both = try first.add(title: "both", text: "")
            try await first.syncNow()
            try await second.syncNow()
            for note in [gone, kept, both] { try first.delete(note.id) }
            try second.edit(kept.id) { $0.text = "still wanted" }
            try second.delete(both.id)
            try await first.syncNow()
            try await second.syncNow()
            try await first.syncNow()
            #expect(try texts(first) == ["kept": "still wanted"])
            #expect(try texts(second) == ["kept": "still wanted"])
            #expect(try first.pendingCount == 0 && second.pendingCount == 0)
        }
    }

    @Test("sends after a restart what was written before it, also where it ended in the midst of sending")
    func restart() async throws {
        try await TestServer.run { server in
            var phone = try server.device(of: "ada")
            let other = try app(server.device(of: "ada"))
            var note: Note?
            do {
                let first = try app(phone)
                note = try first.add(title: "written", text: "before")
                try await first.syncNow()
                try first.edit(note!.id) { $0.text = "after" }
            }
            phone = try phone.relaunched()
            let held = server.script.hold(.modifyRecords.from(phone), .afterEffect)
            do {
                let second = try app(phone)
                #expect(try second.pendingCount == 1)
                async let ended = failure { try await second.syncNow() }
                try await held.waitUntilHeld()
                phone = try phone.relaunched()
                _ = await ended
            }
            held.release()
            let third = try app(phone)
            try third.add(title: "more", text: "")
            try await third.syncNow()
            try await other.syncNow()
            #expect(try texts(other) == ["written": "after", "more": ""])
            #expect(try third.notes() == other.notes())
        }
    }

    @Test("hears of the other device's notes by itself, and sends its own, on a server in trouble")
    func automatic() async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let (first, second) = (try app(phone, automaticallySync: true), try app(laptop, automaticallySync: true))
            try await server.script.waitUntilListening(laptop)
            server.script.failSaves(of: "Note", with: .zoneBusy, retryAfterSeconds: 0.05)
            server.script.breakConnection(during: .modifyRecords.from(phone), .afterEffect)
            server.script.doublePushes(.any.to(laptop))
            let changes = second.changes
            try first.add(title: "hello", text: "by push")
            for await _ in changes where try second.notes().count == 1 { break }
            #expect(try texts(second) == ["hello": "by push"])
        }
    }

    @Test("begins anew when change tokens have expired, and when the server's zone was deleted")
    func expiredTokens() async throws {
        try await TestServer.run { server in
            let laptop = try server.device(of: "ada")
            let (first, second) = (try app(server.device(of: "ada")), try app(laptop))
            let note = try first.add(title: "a", text: "1")
            let gone = try first.add(title: "gone", text: "")
            let edited = try first.add(title: "edited", text: "")
            try await first.syncNow()
            try await second.syncNow()
            server.script.expireChangeTokens()
            try first.edit(note.id) { $0.text = "2" }
            // No page tells of their deletions any more; what was edited here meanwhile is wanted.
            for deleted in [gone, edited] { try first.delete(deleted.id) }
            try second.edit(edited.id) { $0.text = "here" }
            try first.add(title: "b", text: "")
            try await first.syncNow()
            try await second.syncNow()
            #expect(try texts(second) == ["a": "2", "b": "", "edited": "here"])
            try await laptop.privateCloudDatabase.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "Notes"))
            for app in [first, second] {
                try await app.syncNow()
                #expect(try app.notes() == [])
            }
            try first.add(title: "c", text: "")
            try await first.syncNow()
            try await second.syncNow()
            #expect(try texts(second) == ["c": ""])
        }
    }

    @Test("runs as a program, with the settings of a device")
    func program() async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let id = try await run(phone, "add", "Shopping", "Bread").trimmingCharacters(in: .newlines)
            _ = try await run(phone, "sync")
            _ = try await run(laptop, "sync")
            _ = try await run(laptop, "edit", id, "Milk")
            _ = try await run(laptop, "sync")
            _ = try await run(phone, "sync")
            #expect(try await run(phone, "list") == "\(id)  Shopping: Milk\n")
            _ = try await run(phone, "delete", id)
            _ = try await run(phone, "sync")
            _ = try await run(laptop, "sync")
            #expect(try await run(laptop, "list") == "")
        }
    }

    private struct ProgramFailure: Error, CustomStringConvertible {
        let description: String
    }

    private func run(_ device: TestDevice, _ arguments: String...) async throws -> String {
        let folder = URL(fileURLWithPath: ChildProcess.ownExecutable).deletingLastPathComponent()
        let process = try ChildProcess(
            executable: folder.appendingPathComponent("notes-example").path,
            arguments: [device.stateFolder.appendingPathComponent("notes.sqlite").path] + arguments,
            environment: device.environmentVariables, output: .reader, errors: .reader)
        let output = process.output
        let text = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: output.readToEnd()) }
        }
        guard process.wait() == 0 else { throw ProgramFailure(description: "\(arguments): \(text)") }
        return text
    }
}
