import BrumeSystem
import BrumeTesting
import CloudKit
import SharedListKit
import Testing

/// The shopping lists of Examples, with several users on a test server.
@Suite("The shared list example", .timeLimit(.minutes(2)))
struct SharedListExampleTests {
    @Test("shows both users what both have added, until the one who was let in leaves")
    func twoUsers() async throws {
        try await TestServer.run { server in
            let ada = ListsApp(container: try server.device(of: "ada").container)
            let bob = ListsApp(container: try server.device(of: "bob").container)
            let eve = ListsApp(container: try server.device(of: "eve").container)
            let adasList = try await ada.makeList("Groceries")
            ada.add("bread", to: adasList)
            try await ada.syncNow()
            let bobsList = try await bob.join(ada.share(adasList))
            bob.add("milk", to: bobsList)
            for app in [bob, ada, eve] { try await app.syncNow() }
            #expect(ada.items(of: adasList) == ["bread", "milk"])
            #expect(bob.items(of: bobsList) == ["bread", "milk"])
            #expect(eve.lists == [])
            try await bob.leave(bobsList)
            for app in [bob, ada] { try await app.syncNow() }
            #expect(bob.lists == [] && bob.items(of: bobsList) == [])
            #expect(ada.items(of: adasList) == ["bread", "milk"])
            #expect(ada.problems + bob.problems == [])
        }
    }

    @Test("says why an item is not added where the user may only read")
    func readOnly() async throws {
        try await TestServer.run { server in
            let ada = ListsApp(container: try server.device(of: "ada").container)
            let bob = ListsApp(container: try server.device(of: "bob").container)
            let adasList = try await ada.makeList("Groceries")
            let bobsList = try await bob.join(ada.share(adasList, permission: .readOnly))
            bob.add("milk", to: bobsList)
            ada.add("bread", to: adasList)
            try await ada.syncNow()
            let error = await #expect(throws: CKError.self) { try await bob.syncNow() }
            #expect(error?.code == .partialFailure)
            try await bob.syncNow()
            #expect(bob.items(of: bobsList) == ["bread"])
            #expect(bob.problems.count == 1)
        }
    }

    @Test("loses a list on the participant's device when its owner ends the share")
    func endedShare() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let ada = ListsApp(container: phone.container)
            let bob = ListsApp(container: try server.device(of: "bob").container)
            let adasList = try await ada.makeList("Groceries")
            let bobsList = try await bob.join(ada.share(adasList))
            ada.add("bread", to: adasList)
            for app in [ada, bob] { try await app.syncNow() }
            #expect(bob.items(of: bobsList) == ["bread"])
            let share = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: adasList)
            try await phone.privateCloudDatabase.deleteRecord(withID: share)
            for app in [ada, bob] { try await app.syncNow() }
            #expect(bob.lists == [])
            #expect(ada.items(of: adasList) == ["bread"])
        }
    }

    @Test("shares one of several lists that are records of one zone, and loses that one alone")
    func recordLists() async throws {
        try await TestServer.run { server in
            let ada = RecordListsApp(container: try server.device(of: "ada").container)
            let bob = RecordListsApp(container: try server.device(of: "bob").container)
            let (groceries, books) = (try await ada.makeList("Groceries"), try await ada.makeList("Books"))
            let diary = try await ada.makeList("Diary")
            for (item, list) in [("bread", groceries), ("atlas", books), ("secret", diary)] { ada.add(item, to: list) }
            try await ada.syncNow()
            #expect(ada.lists == [books, diary, groceries])
            let bobsGroceries = try await bob.join(ada.share(groceries))
            try await bob.syncNow()
            #expect(bob.lists == [bobsGroceries] && bob.name(of: bobsGroceries) == "Groceries")
            let bobsBooks = try await bob.join(ada.share(books, permission: .readOnly))
            bob.add("milk", to: bobsGroceries)
            for app in [bob, ada] { try await app.syncNow() }
            #expect(bob.lists == [bobsBooks, bobsGroceries])
            #expect(ada.items(of: groceries) == ["bread", "milk"])
            #expect(bob.items(of: bobsGroceries) == ["bread", "milk"] && bob.items(of: bobsBooks) == ["atlas"])
            bob.add("novel", to: bobsBooks)
            await #expect(throws: CKError.self) { try await bob.syncNow() }
            try await bob.syncNow()
            #expect(bob.items(of: bobsBooks) == ["atlas"] && bob.problems.count == 1)

            try await bob.leave(bobsBooks)
            try await bob.syncNow()
            #expect(bob.lists == [bobsGroceries] && bob.items(of: bobsGroceries) == ["bread", "milk"])
            try await bob.leave(bobsGroceries)
            for app in [bob, ada] { try await app.syncNow() }
            #expect(bob.lists == [])
            #expect(ada.lists == [books, diary, groceries] && ada.items(of: groceries) == ["bread", "milk"])
        }
    }

    @Test("runs as a program, on a server of its own")
    func program() async throws {
        let folder = URL(fileURLWithPath: ChildProcess.ownExecutable).deletingLastPathComponent()
        let process = try ChildProcess(
            executable: folder.appendingPathComponent("shared-list-example").path, arguments: [], output: .reader,
            errors: .reader)
        let output = process.output
        let text = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: output.readToEnd()) }
        }
        #expect(process.wait() == 0)
        var lines = text.split(separator: "\n").map(String.init)
        // The URL is another one each time.
        let url = try #require(lines.firstIndex { $0.hasPrefix("Ada shares the list: ") })
        lines.remove(at: url)
        #expect(
            lines == [
                "Ada sees Groceries: bread",
                "Bob has no list.",
                "Bob sees Groceries: bread",
                "Bob sees Groceries: bread, milk",
                "Ada sees Groceries: bread, milk, tea",
                "Bob sees Groceries: bread, milk, tea",
                "Bob leaves the list.",
                "Bob has no list.",
                "Ada sees Groceries: bread, milk, tea",
            ], "\(text)")
    }
}
