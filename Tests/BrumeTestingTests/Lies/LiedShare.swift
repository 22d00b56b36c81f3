import BrumeTesting
import CloudKit
import Foundation
import Testing

/// A server on which Ada shares what is encrypted with Bob, who is invited and came by the share's link: a record with
/// one below it, or a zone with the two in it. Eve takes part in nothing yet. The server lies to some of them.
struct LiedShare {
    enum Kind: CaseIterable, CustomTestStringConvertible {
        case record
        case zone

        var testDescription: String { self == .record ? "a shared record" : "a shared zone" }
    }

    let kind: Kind
    let server: TestServer
    let ada: TestDevice
    let bob: TestDevice
    let eve: TestDevice
    let share: CKRecord.ID
    private let zone = CKRecordZone(zoneName: "Lists")

    /// - Parameters:
    ///   - isBobIn: Whether Bob has the share's keys when the body begins, or an account with keys alone.
    ///   - permission: What Eve may do once she takes part.
    static func run(
        _ kind: Kind, isBobIn: Bool = true, eveMay permission: CKShare.ParticipantPermission = .readWrite,
        _ body: (LiedShare) async throws -> Void
    ) async throws {
        try await TestServer.run { server in
            let made = try LiedShare(kind, server, try server.device(of: "ada"), try server.device(of: "bob"))
            try await made.shareNow(eveMay: permission)
            _ = try await made.bob.container.recoveryCode()
            _ = try await made.eve.container.recoveryCode()
            if isBobIn {
                try await made.takeIn(made.bob)
                try await made.isRead(by: made.bob)
            }
            try await body(made)
            #expect(try await server.dump(of: "ada").contains("secret") == false, "a value went plain")
        }
    }

    private init(_ kind: Kind, _ server: TestServer, _ ada: TestDevice, _ bob: TestDevice) throws {
        (self.kind, self.server, self.ada, self.bob, eve) = (kind, server, ada, bob, try server.device(of: "eve"))
        let name = kind == .zone ? CKRecordNameZoneWideShare : "share"
        share = CKRecord.ID(recordName: name, zoneID: zone.zoneID)
    }

    private func shareNow(eveMay permission: CKShare.ParticipantPermission) async throws {
        let database = ada.privateCloudDatabase
        _ = try await database.save(zone)
        let root = record("root", for: ada)
        let share =
            kind == .zone
            ? CKShare(recordZoneID: zone.zoneID) : CKShare(rootRecord: root, shareID: self.share)
        // The link of a share for everybody opens its keys by itself.
        for (guest, permission) in [(bob, .readWrite), (eve, permission)] {
            let participant = try await ada.container.shareParticipant(forUserRecordID: user(guest))
            participant.permission = permission
            share.addParticipant(participant)
        }
        _ = try await database.modifyRecords(saving: [root, share], deleting: [])
        try await save("item", by: ada)
    }

    // MARK: Names

    private func isAdas(_ device: TestDevice) -> Bool { device.account == ada.account }

    func user(_ device: TestDevice) -> CKRecord.ID { device.account!.userRecordID }

    /// The zone as a device has it.
    func zoneID(for device: TestDevice) -> CKRecordZone.ID {
        isAdas(device)
            ? zone.zoneID : CKRecordZone.ID(zoneName: zone.zoneID.zoneName, ownerName: user(ada).recordName)
    }

    func id(_ name: String, for device: TestDevice) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zoneID(for: device))
    }

    /// What is shared, as a device has it.
    func shared(for device: TestDevice) -> ServerLie.Shared {
        kind == .zone ? .zone(zoneID(for: device)) : .record(id("root", for: device))
    }

    /// The number of the newest key before somebody is taken in: a zone has one before it is shared.
    var firstNumber: Int { kind == .zone ? 2 : 1 }

    func database(of device: TestDevice) -> CKDatabase {
        isAdas(device) ? device.privateCloudDatabase : device.sharedCloudDatabase
    }

    // MARK: The share

    /// The share as Ada's device has it now. Where somebody waits for keys, the device hands them out, unless it is
    /// lied to.
    @discardableResult
    func handOut() async throws -> CKShare {
        try #require(try await ada.privateCloudDatabase.record(for: share) as? CKShare)
    }

    /// The share's URL, as Ada gives it to somebody.
    func url() async throws -> URL { try #require(try await handOut().url) }

    /// Opens the share's URL.
    func accept(by device: TestDevice, hasKeys: Bool = true) async throws {
        let url = try await url()
        let opened = hasKeys ? url : try #require(URL(string: url.absoluteString.components(separatedBy: "#")[0]))
        let metadata = try await device.container.shareMetadata(for: opened)
        _ = try await device.container.accept(metadata)
    }

    /// Somebody comes by the link, and gets the keys.
    func takeIn(_ device: TestDevice) async throws {
        try await accept(by: device)
        try await handOut()
    }

    /// Ada takes somebody out of the share.
    func remove(_ device: TestDevice) async throws { try await remove(device, by: ada) }

    /// The same on another device of hers, or on that of an administrator.
    func remove(_ device: TestDevice, by remover: TestDevice) async throws {
        try await database(of: remover).save(try await share(without: device, asSeenBy: remover))
    }

    /// The share with somebody taken out, which is not saved yet.
    func share(without device: TestDevice, asSeenBy remover: TestDevice) async throws -> CKShare {
        let shown = try #require(
            try await database(of: remover).record(for: id(share.recordName, for: remover)) as? CKShare)
        let participant = shown.participants.first { $0.userIdentity.userRecordID == user(device) }
        shown.removeParticipant(try #require(participant))
        return shown
    }

    /// Another device of Ada's with the account's keys, which has seen nothing of what is shared.
    func laptop() async throws -> TestDevice {
        let code = try await ada.container.replaceRecoveryCode().text
        let laptop = try server.device(of: "ada")
        try await laptop.container.useRecoveryCode(code)
        return laptop
    }

    /// A device saves something at the first attempt: with a key that nobody has who is out, since the server refuses
    /// one of before that. A lying server would take it.
    func isSavedAtOnce(by device: TestDevice, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let before = server.calls(.modifyRecords.from(device)).count
        try await save("later", by: device)
        #expect(server.calls(.modifyRecords.from(device)).count == before + 1, sourceLocation: sourceLocation)
    }

    /// A guest who has been invited is to be an administrator.
    func makeAdministrator(_ guest: TestDevice) async throws {
        let shown = try await handOut()
        try #require(shown.participants.first { $0.userIdentity.userRecordID == user(guest) }).role = .administrator
        try await ada.privateCloudDatabase.save(shown)
    }

    /// Ada's other device, once it has read what the first one saved.
    func laptopThatReads() async throws -> TestDevice {
        let laptop = try await laptop()
        try await save("before", by: ada)
        try await isRead("before", by: laptop)
        return laptop
    }

    /// The server shows Ada's device no entry behind those with which Bob came in.
    func hideNewEntries() async throws -> ScriptRule {
        try await server.lie(.showsKeys(of: shared(for: ada), upTo: firstNumber + 2), to: ada)
    }

    /// Another device of Ada's lets Eve in, with an entry that the server hides from the one that will remove her.
    ///
    /// - Returns: What hides it.
    func letInUnseen(_ guest: TestDevice, by laptop: TestDevice) async throws -> ScriptRule {
        let hidden = try await hideNewEntries()
        try await server.lie(.hidesDepartures(of: shared(for: ada)), to: ada)
        try await accept(by: guest)
        if kind == .record { _ = try await fetched("root", by: laptop) }
        _ = try await laptop.privateCloudDatabase.record(for: share)
        try await isRead("before", by: guest)
        return hidden
    }

    /// Somebody leaves by themselves.
    func leave(_ device: TestDevice) async throws {
        try await device.sharedCloudDatabase.deleteRecord(withID: id(share.recordName, for: device))
    }

    // MARK: Records

    func record(_ name: String, for device: TestDevice) -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: id(name, for: device))
        record.encryptedValues["text"] = "secret \(name)"
        if name != "root", kind == .record { record.setParent(id("root", for: device)) }
        return record
    }

    func save(_ name: String, by device: TestDevice) async throws {
        try await database(of: device).save(record(name, for: device))
    }

    /// The code of the error that a save of a new record fails with; nil for none.
    func codeOfSave(_ name: String = "new", by device: TestDevice) async -> CKError.Code? {
        await failure { try await save(name, by: device) }?.code
    }

    /// A save of a new record fails with a code. What a device has the keys of it may encrypt with them once, until the
    /// server refuses that; with others nothing is sent.
    func cannotSave(
        by device: TestDevice, _ code: CKError.Code = .accountTemporarilyUnavailable, afterAttempts count: Int = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let before = server.calls(.modifyRecords.from(device)).count
        #expect(await codeOfSave(by: device) == code, sourceLocation: sourceLocation)
        #expect(server.calls(.modifyRecords.from(device)).count == before + count, sourceLocation: sourceLocation)
    }

    /// The server has a device look at the keys again for a save, which it takes in no case.
    func looksAgain(_ device: TestDevice, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let lie = try await server.lie(.refusesKeys(ofZone: zoneID(for: device)), to: device)
        #expect(await codeOfSave(by: device) == .accountTemporarilyUnavailable, sourceLocation: sourceLocation)
        lie.remove()
    }

    func fetched(_ name: String, by device: TestDevice) async throws -> CKRecord {
        try await database(of: device).record(for: id(name, for: device))
    }

    func isRead(
        _ name: String = "item", by device: TestDevice, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let seen = try await fetched(name, by: device)
        #expect(
            seen.encryptedValues["text"] == "secret \(name)" && seen.unreadableFields.isEmpty,
            "\(name): \(seen.unreadableFields)", sourceLocation: sourceLocation)
    }

    func isClosed(
        _ name: String = "item", by device: TestDevice, _ reason: CKRecord.UnreadableReason = .keyMissing,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let seen = try await fetched(name, by: device)
        #expect(
            seen.encryptedValues.allKeys().isEmpty && seen.unreadableFields == ["text": reason], "\(name)",
            sourceLocation: sourceLocation)
    }

    /// Ada's keys are new ones, and with them those of what is shared, which no other device has seen.
    func newKey(_ name: String = "later") async throws {
        _ = try await ada.container.replaceRecoveryCode()
        try await save(name, by: ada)
    }

    /// All devices read what was saved, and save more, which all read.
    func isWhole(
        _ names: [String] = ["root", "item"], by devices: [TestDevice],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        var names = names
        for device in devices {
            for name in names { try await isRead(name, by: device, sourceLocation: sourceLocation) }
            names.append(UUID().uuidString)
            try await save(names[names.count - 1], by: device)
        }
        for device in devices {
            for name in names { try await isRead(name, by: device, sourceLocation: sourceLocation) }
        }
    }
}
