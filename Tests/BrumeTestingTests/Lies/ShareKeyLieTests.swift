import BrumeTesting
import CloudKit
import Testing

@Suite("Keys of a share on a server that lies", .timeLimit(.minutes(4)))
struct ShareKeyLieTests {
    @Test(
        "that are hidden stay with the guest's device that knows them, and another one of the guest's makes none",
        arguments: LiedShare.Kind.allCases)
    func hidden(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let tablet = try share.server.device(of: "bob")
            try await share.bob.letIn(tablet)
            let devices = [share.bob, tablet]
            var lies: [ScriptRule] = []
            for device in devices {
                lies.append(try await share.server.lie(.hidesKeys(of: share.shared(for: device)), to: device))
            }
            try await share.isClosed(by: tablet, .noKeys)
            await share.cannotSave(by: tablet)
            try await share.newKey()
            try await share.isRead(by: share.bob)
            try await share.isClosed("later", by: share.bob)
            await share.cannotSave(by: share.bob, .zoneBusy)
            try await share.isRead(by: share.bob)
            for lie in lies { lie.remove() }
            try await share.isWhole(
                ["root", "item", "later"], by: [share.ada] + devices.map { try $0.relaunched() })
        }
    }

    @Test(
        "that are hidden from another device of the owner's are not replaced by others, and it reads nothing",
        arguments: LiedShare.Kind.allCases)
    func hiddenFromTheOwner(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let laptop = try share.server.device(of: "ada")
            try await share.ada.letIn(laptop)
            let lie = try await share.server.lie(.hidesKeys(of: share.shared(for: laptop)), to: laptop)
            try await share.isClosed(by: laptop, .noKeys)
            #expect(await share.codeOfSave(by: laptop) == .zoneBusy)
            lie.remove()
            try await share.isWhole(by: [share.ada, share.bob, try laptop.relaunched()])
        }
    }

    @Test(
        "that are older than those that a guest's device knows are given back, and nothing is encrypted with them",
        arguments: LiedShare.Kind.allCases)
    func older(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let lie = try await share.server.lie(
                .showsKeys(of: share.shared(for: share.bob), upTo: share.firstNumber), to: share.bob)
            try await share.newKey()
            try await share.isClosed("later", by: share.bob)
            await share.cannotSave(by: share.bob, .zoneBusy, afterAttempts: 1)
            try await share.isRead(by: share.bob)
            lie.remove()
            try await share.isWhole(["root", "item", "later"], by: [share.ada, try share.bob.relaunched()])
        }
    }

    @Test(
        "that end before the guest was taken in let the guest wait, and encrypt nothing",
        arguments: LiedShare.Kind.allCases)
    func olderThanTheGuest(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind, isBobIn: false) { share in
            let lie = try await share.server.lie(
                .showsKeys(of: share.shared(for: share.bob), upTo: share.firstNumber), to: share.bob)
            try await share.takeIn(share.bob)
            try await share.isClosed(by: share.bob)
            await share.cannotSave(by: share.bob)
            lie.remove()
            try await share.isWhole(by: [share.ada, try share.bob.relaunched()])
        }
    }

    @Test(
        "that are withheld are read as far as they are known, and nothing is encrypted for them",
        arguments: LiedShare.Kind.allCases)
    func withheld(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let lie = try await share.server.lie(.withholdsKeys(of: share.shared(for: share.bob)), to: share.bob)
            try await share.newKey()
            try await share.isClosed("later", by: share.bob)
            await share.cannotSave(by: share.bob, afterAttempts: 1)
            try await share.isRead(by: share.bob)
            lie.remove()
            try await share.isWhole(["root", "item", "later"], by: [share.ada, try share.bob.relaunched()])
        }
    }

    @Test(
        "that were forked are told from the others', with which a guest encrypts nothing",
        arguments: LiedShare.Kind.allCases)
    func forked(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let lie = try await share.server.lie(
                .forksKeys(of: share.shared(for: share.bob), after: share.firstNumber), to: share.bob)
            try await share.newKey()
            _ = try await share.bob.container.replaceRecoveryCode()
            #expect(await share.codeOfSave(by: share.bob) == .accountTemporarilyUnavailable)
            lie.remove()
            await share.cannotSave(by: share.bob, afterAttempts: 1)
            try await share.isRead(by: share.bob)
            try await share.isClosed("later", by: share.bob)
            // The guest has other keys, so that the link is a new one as soon as the owner saves something.
            try await share.save("mine", by: share.ada)
            try await share.takeIn(share.eve)
            try await share.isWhole(["root", "item", "later"], by: [share.ada, share.eve])
        }
    }

    @Test(
        "that a stranger made in the owner's name, and gave to the guest, open nothing and encrypt nothing",
        arguments: LiedShare.Kind.allCases)
    func strangers(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let lie = try await share.server.lie(
                .showsStrangersKeys(of: share.shared(for: share.bob)), to: share.bob)
            try await share.newKey()
            try await share.isClosed("later", by: share.bob)
            await share.cannotSave(by: share.bob, afterAttempts: 1)
            try await share.isRead(by: share.bob)
            lie.remove()
            try await share.isWhole(["root", "item", "later"], by: [share.ada, try share.bob.relaunched()])
        }
    }

    /// The device takes what it is shown first: Documentation/Security.md. The server itself has none of these keys,
    /// and takes no value.
    @Test(
        "that a stranger made in the owner's name are taken by a device of the guest's that never had the link",
        arguments: LiedShare.Kind.allCases)
    func strangersForANewDevice(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let tablet = try share.server.device(of: "bob")
            try await share.bob.letIn(tablet)
            let lie = try await share.server.lie(.showsStrangersKeys(of: share.shared(for: tablet)), to: tablet)
            #expect(await share.codeOfSave(by: tablet) == .accountTemporarilyUnavailable)
            #expect(!share.server.calls(.modifyRecords.from(tablet)).isEmpty)
            lie.remove()
            await share.cannotSave(by: tablet, afterAttempts: 1)
            try await share.isClosed(by: tablet)
            // The link tells the owner from the stranger.
            #expect(await failure { try await share.accept(by: tablet) }?.code == .permissionFailure)
            // Until the two have compared their numbers.
            let database = tablet.sharedCloudDatabase
            let people =
                kind == .zone
                ? try await database.encryptionPeople(of: share.zoneID(for: tablet))
                : try await database.encryptionPeople(ofShared: share.id("root", for: tablet))
            let ada = try #require(people.first { $0.userRecordID == share.user(share.ada) })
            #expect(ada.standing == .changed)
            try await tablet.container.trust(ada)
            try await share.accept(by: tablet)
            try await share.isWhole(by: [share.ada, share.bob, try tablet.relaunched()])
        }
    }

    @Test(
        "that a stranger made in the owner's name are refused to a guest who has the link, as are the owner's own",
        arguments: LiedShare.Kind.allCases)
    func strangersAtFirst(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind, isBobIn: false) { share in
            let zoneID = share.zoneID(for: share.bob)
            for lie in [
                ServerLie.showsStrangersKeys(of: share.shared(for: share.bob)),
                .showsStrangersKeys(ofUser: share.user(share.ada), in: zoneID),
                .hidesKeys(ofUser: share.user(share.ada), in: zoneID),
            ] {
                let rule = try await share.server.lie(lie, to: share.bob)
                #expect(
                    await failure { try await share.accept(by: share.bob) }?.code == .permissionFailure, "\(lie)")
                rule.remove()
            }
            try await share.takeIn(share.bob)
            try await share.isWhole(by: [share.ada, try share.bob.relaunched()])
        }
    }

    @Test(
        "that a stranger made in the account's own name open nothing and encrypt nothing",
        arguments: LiedShare.Kind.allCases)
    func strangersToTheOwner(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let laptop = try share.server.device(of: "ada")
            try await share.ada.letIn(laptop)
            let devices = [share.ada, laptop]
            var lies: [ScriptRule] = []
            for device in devices {
                lies.append(
                    try await share.server.lie(.showsStrangersKeys(of: share.shared(for: device)), to: device))
            }
            _ = try await share.bob.container.replaceRecoveryCode()
            try await share.save("his", by: share.bob)
            try await share.isClosed("his", by: share.ada)
            for (device, count) in zip(devices, [1, 0]) {
                await share.cannotSave(by: device, afterAttempts: count)
            }
            try await share.isRead(by: share.ada)
            for lie in lies { lie.remove() }
            try await share.isWhole(["root", "item", "his"], by: [share.bob] + devices.map { try $0.relaunched() })
        }
    }

    // MARK: Trees

    @Test("encrypt nothing in a private record that the server shows below a shared one, until it does not")
    func parent() async throws {
        try await LiedShare.run(.record) { share in
            let own = CKRecord(recordType: "Item", recordID: share.id("own", for: share.ada))
            own.encryptedValues["text"] = "secret own"
            try await share.ada.privateCloudDatabase.save(own)
            let ada = try share.ada.relaunched()
            let lie = try await share.server.lie(.showsParent(share.id("root", for: ada), of: own.recordID), to: ada)
            let seen = try await share.fetched("own", by: ada)
            #expect(seen.encryptedValues["text"] == "secret own")
            seen.encryptedValues["text"] = "secret, too"
            let error = await failure { try await ada.privateCloudDatabase.save(seen) }
            #expect(error?.code == .accountTemporarilyUnavailable)
            lie.remove()
            let genuine = try await share.fetched("own", by: ada)
            genuine.encryptedValues["text"] = "secret, too"
            try await ada.privateCloudDatabase.save(genuine)
            let again = try ada.relaunched()
            try await share.isWhole(by: [again, share.bob])
            #expect(try await share.fetched("own", by: again).encryptedValues["text"] == "secret, too")
        }
    }

    @Test("of a private record are none of the share's: a guest who is shown its values can't open them")
    func otherTree() async throws {
        try await LiedShare.run(.record) { share in
            let own = CKRecord(recordType: "Item", recordID: share.id("own", for: share.ada))
            own.encryptedValues["text"] = "secret own"
            try await share.ada.privateCloudDatabase.save(own)
            let lie = try await share.server.lie(
                .copiesField("text", from: own.recordID, of: "ada", to: share.id("item", for: share.bob)),
                to: share.bob)
            try await share.isClosed(by: share.bob)
            lie.remove()
            try await share.isWhole(by: [share.ada, share.bob])
        }
    }
}
