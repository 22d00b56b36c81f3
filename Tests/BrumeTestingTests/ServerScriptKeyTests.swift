import BrumeTesting
import CloudKit
import Testing

@Suite("A server's script of encryption keys", .timeLimit(.minutes(1)))
struct ServerScriptKeyTests {
    private func secret(_ name: String) -> CKRecord {
        let record = note(name)
        record.encryptedValues["secret"] = "milk"
        return record
    }

    @Test("fails calls about keys, which no pattern of any call means")
    func failures() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let database = phone.privateCloudDatabase
            try await database.save(notes)
            server.script.fail(.any.from(phone), with: .quotaExceeded, times: 1)
            server.script.fail(.modifyEncryptionKeys.from(phone), with: .limitExceeded)
            // The account's keys come first: the failure of any call waits for the save itself.
            #expect(await failure { try await database.save(secret("n")) }?.code == .limitExceeded)
            #expect(server.calls(.modifyRecords).isEmpty)
            #expect(await failure { try await database.save(secret("n")) }?.code == .quotaExceeded)
            try await database.save(secret("n"))
            #expect(server.calls(.modifyEncryptionKeys).first?.outcome == .failed(.limitExceeded))
            let plain = server.calls()
            let all = server.calls(.anyWithEncryptionKeys)
            #expect(plain.map(\.method) == [.modifyZones, .modifyRecords, .modifyRecords], "\(plain)")
            #expect(all.count > plain.count && all.contains { $0.method == .fetchEncryptionKeys })
        }
    }

    @Test("has a device ask for keys again whose connection breaks then, and holds one that asks to be let in")
    func network() async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            try await phone.privateCloudDatabase.save(notes)
            try await phone.privateCloudDatabase.save(secret("n"))
            server.script.breakConnection(during: .fetchEncryptionKeys.from(laptop))
            server.script.breakConnection(during: .modifyEncryptionKeys.from(laptop), .afterEffect)
            try await phone.letIn(laptop)
            let seen = try await laptop.privateCloudDatabase.record(for: note("n").recordID)
            #expect(seen.encryptedValues["secret"] == "milk")
            #expect(try await phone.container.encryptionDevices().count == 2)

            let tablet = try server.device(of: "ada")
            let held = server.script.hold(.enrol.from(tablet))
            async let request = tablet.container.requestEnrolment()
            try await held.waitUntilHeld()
            #expect(try await phone.container.enrolmentRequests().isEmpty)
            held.release()
            _ = try await request
            #expect(try await phone.container.enrolmentRequests().count == 1)
            #expect(server.calls(.enrol.from(tablet)).count == 1)
        }
    }

    @Test("whose disk is full keeps no guest from reading, who can't ask for the keys of what is shared")
    func fullServer() async throws {
        for kind in LiedShare.Kind.allCases {
            try await LiedShare.run(kind, isBobIn: false) { shared in
                let bob = shared.bob
                let full = shared.server.script.fail(
                    .modifyEncryptionKeys.from(bob), with: .serviceUnavailable, times: .max)
                #expect(await failure { try await shared.accept(by: bob) }?.code == .serviceUnavailable)
                let item = try await bob.sharedCloudDatabase.record(for: shared.id("item", for: bob))
                #expect(item.unreadableFields == ["text": .keyMissing])
                full.remove()
                // The next look asks for the keys; without the link, a person has to hand them out.
                try await shared.takeIn(bob)
                try await shared.isRead(by: bob)
            }
        }
    }

    @Test("shows that a save takes one call with keys that the device has, of a guest as of the owner")
    func callsOfSaves() async throws {
        for kind in LiedShare.Kind.allCases {
            try await LiedShare.run(kind) { shared in
                for device in [shared.ada, shared.bob] {
                    try await shared.save("first by \(device.account!.name)", by: device)
                    let before = shared.server.calls(.anyWithEncryptionKeys.from(device)).count
                    try await shared.save("second by \(device.account!.name)", by: device)
                    let calls = shared.server.calls(.anyWithEncryptionKeys.from(device)).dropFirst(before)
                    #expect(calls.map(\.method) == [.modifyRecords], "\(kind): \(Array(calls))")
                }
            }
        }
    }
}
