@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Foundation
import Testing

@Suite("Shares, assets and encrypted values", .timeLimit(.minutes(1)))
struct SharingTests {
    let transport = FakeTransport()
    let zone = CKRecordZone.ID(zoneName: "Notes")

    private func note(_ name: String) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    }

    @Test("a share has its owner from the start, and its root knows it")
    func share() throws {
        let root = note("root")
        let share = CKShare(rootRecord: root)
        #expect(share.recordType == "cloudkit.share")
        #expect(share.recordID.zoneID == zone)
        #expect(share.recordID.recordName.hasPrefix("Share-"))
        #expect(root.share?.recordID == share.recordID)
        #expect(root.share?.action == CKRecord.ReferenceAction.none)
        #expect((root.copy() as? CKRecord)?.share == root.share)
        #expect(share.owner.role == .owner)
        #expect(share.owner.permission == .readWrite)
        #expect(share.owner.acceptanceStatus == .accepted)
        #expect(share.currentUserParticipant === share.owner)
        #expect(share.participants == [share.owner])
        #expect(share.publicPermission == .none)
        #expect(share.url == nil)
        share[CKShare.SystemFieldKey.title] = "Shopping"
        #expect(share[CKShare.SystemFieldKey.title] == "Shopping")
        let named = CKShare(rootRecord: note("r"), shareID: CKRecord.ID(recordName: "s", zoneID: zone))
        #expect(named.recordID.recordName == "s")
        #expect(CKShare(recordZoneID: zone).recordID.recordName == CKRecordNameZoneWideShare)
    }

    @Test("participants come, change and go by their identity; the owner stays")
    func participants() {
        let share = CKShare(recordZoneID: zone)
        let ada = CKShare.Participant(lookupInfo: CKUserIdentity.LookupInfo(emailAddress: "ada@example.com"))
        let adaAgain = CKShare.Participant(lookupInfo: CKUserIdentity.LookupInfo(emailAddress: "Ada@Example.com"))
        let anyone = CKShare.Participant.oneTimeURLParticipant()
        share.addParticipant(ada)
        share.addParticipant(anyone)
        adaAgain.permission = .readWrite
        share.addParticipant(adaAgain)
        #expect(share.participants.count == 3)
        #expect(ada.permission == .readWrite)
        share.removeParticipant(adaAgain)
        share.removeParticipant(share.owner)
        #expect(share.participants == [share.owner, anyone])
        share.publicPermission = .readOnly
        #expect(share.participants == [share.owner])
    }

    @Test("a request to take part is denied once, or blocked until it is unblocked, archives included")
    func accessRequests() throws {
        let share = CKShare(recordZoneID: zone)
        let (ada, bob, eve) = (requester("ada"), requester("bob"), requester("eve"))
        share.details.requesters = [ada, bob, eve]
        share.addParticipant(CKShare.Participant(lookupInfo: eve.participantLookupInfo))
        share.denyRequesters([requester("ada")])
        #expect(share.requesters == [bob, eve])
        #expect(share.blockedIdentities.isEmpty)
        share.blockRequesters([eve])
        share.blockRequesters([eve])
        #expect(share.requesters == [bob])
        #expect(share.blockedIdentities.map(\.userIdentity) == [eve.userIdentity])
        #expect(share.participants == [share.owner])
        let read = try archived(share, as: CKShare.self)
        #expect(read.requesters == [bob])
        #expect(read.blockedIdentities == share.blockedIdentities)
        read.unblockIdentities(share.blockedIdentities)
        #expect(read.blockedIdentities.isEmpty)
        #expect(share.blockedIdentities.count == 1)
    }

    private func requester(_ name: String) -> CKShare.AccessRequester {
        let info = CKUserIdentity.LookupInfo(emailAddress: "\(name)@example.com")
        return CKShare.AccessRequester(
            userIdentity: CKUserIdentity(userRecordID: nil, lookupInfo: info, hasiCloudAccount: true),
            participantLookupInfo: info)
    }

    @Test("inviting single users to what everybody may come to traps")
    func mixed() async {
        await #expect(processExitsWith: .failure) {
            let share = CKShare(recordZoneID: CKRecordZone.ID(zoneName: "Z"))
            share.publicPermission = .readOnly
            share.addParticipant(.oneTimeURLParticipant())
        }
    }

    @Test("who does not manage a share can't answer requests to take part")
    func notTheOwner() async {
        await #expect(processExitsWith: .failure) {
            let share = CKShare(recordZoneID: CKRecordZone.ID(zoneName: "Z"))
            share.owner.role = .privateUser
            share.denyRequesters([])
        }
    }

    @Test("a share, its root, assets and encrypted values keep all they hold in archives and copies")
    func archives() throws {
        let root = note("root")
        let share = CKShare(rootRecord: root)
        share.addParticipant(.oneTimeURLParticipant())
        share.participants[1].permission = .readWrite
        share["cloudkit.title"] = "Shopping"
        root["picture"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/a.png"))
        root["pages"] = ["b", "c"].map { CKAsset(fileURL: URL(fileURLWithPath: "/tmp/\($0)")) }
        root.encryptedValues["secret"] = "word"
        root.encryptedValues["number"] = 7
        root.encryptedValues["number"] = nil
        for read in [try archived(root, as: CKRecord.self), try #require(root.copy() as? CKRecord)] {
            #expect(read.share?.recordID == share.recordID)
            #expect((read["picture"] as? CKAsset)?.fileURL?.path == "/tmp/a.png")
            #expect((read["pages"] as? [CKAsset])?.map(\.fileURL?.lastPathComponent) == ["b", "c"])
            #expect(read.allKeys() == ["pages", "picture"])
            #expect(read.changedKeys() == ["pages", "picture"])
            #expect(read.encryptedValues["secret"] == "word")
            #expect(read.encryptedValues.allKeys() == ["secret"])
            #expect(read.encryptedValues.changedKeys() == ["number", "secret"])
        }
        for read in [try archived(share, as: CKShare.self), try #require(share.copy() as? CKShare)] {
            #expect(read.recordID == share.recordID)
            #expect(read["cloudkit.title"] == "Shopping")
            #expect(read.participants.map(\.role) == [.owner, .privateUser])
            #expect(read.participants[1].permission == .readWrite)
            #expect(read.participants[1] !== share.participants[1])
            #expect(read.currentUserParticipant == read.owner)
        }
        let bare = try #require(CKRecord(coder: try archivedSystemFields(root)))
        #expect(bare.share?.recordID == share.recordID)
        #expect(bare.allKeys().isEmpty)
        let info = CKUserIdentity.LookupInfo(phoneNumber: "+49 30")
        #expect(try archived(info, as: CKUserIdentityLookupInfo.self) == info)
    }

    @Test("what a share's URL leads to is archived with the share and the root record", arguments: [true, false])
    func metadataArchive(hasRoot: Bool) throws {
        let root = note("root")
        root["title"] = "Shopping"
        let share = hasRoot ? CKShare(rootRecord: root) : CKShare(recordZoneID: zone)
        let owner = CKUserIdentity(userRecordID: CKRecord.ID(recordName: "_ada"), hasiCloudAccount: true)
        let metadata = CKShare.Metadata(
            containerIdentifier: "iCloud.notes", share: share, hierarchicalRootRecordID: hasRoot ? root.recordID : nil,
            rootRecord: hasRoot ? root : nil, participantRole: .publicUser, participantStatus: .accepted,
            participantPermission: .readWrite, ownerIdentity: owner)
        let read = try archived(metadata, as: CKShareMetadata.self)
        #expect(read.containerIdentifier == "iCloud.notes")
        #expect(read.share.recordID == share.recordID && read.share.owner == share.owner)
        #expect(read.hierarchicalRootRecordID == metadata.hierarchicalRootRecordID)
        #expect(read.rootRecord?["title"] == (hasRoot ? "Shopping" : nil))
        #expect(read.participantRole == .publicUser)
        #expect(read.participantStatus == .accepted)
        #expect(read.participantPermission == .readWrite)
        #expect(read.ownerIdentity == owner)
        let older: any DeprecatedShareMetadata = read
        #expect(older.participantType.rawValue == CKShare.ParticipantRole.publicUser.rawValue)
        #expect(older.rootRecordID == (hasRoot ? root.recordID : share.recordID))
    }

    @Test("a field is an asset or a value, whichever was set last")
    func assetFields() {
        let record = note("n")
        record["field"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/a"))
        #expect(record["field"] == CKAsset(fileURL: URL(fileURLWithPath: "/tmp/a")))
        record["field"] = "text"
        #expect(record["field"] == "text")
        #expect(record["field"] as? CKAsset == nil)
        record["field"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/a"))
        record["field"] = nil
        #expect(record["field"] == nil)
        #expect(record.allKeys().isEmpty)
        #expect(record.changedKeys() == ["field"])
    }

    @Test("references and assets as encrypted values are refused when the record is saved")
    func unfitEncryptedValues() {
        let values: [any CKRecordValueProtocol] = [
            CKRecord.Reference(recordID: CKRecord.ID(recordName: "x"), action: .none),
            CKAsset(fileURL: URL(fileURLWithPath: "/tmp/a")),
        ]
        for value in values {
            let record = CKRecord(recordType: "Note")
            record.encryptedValues["field"] = value
            #expect(record.outgoing().refusal?.code == .invalidArguments)
            #expect(record.encryptedValues["field"] == nil)
        }
    }

    @Test("assets of the web, and shares in another zone than their record's, trap")
    func traps() async {
        await #expect(processExitsWith: .failure) { _ = CKAsset(fileURL: URL(string: "https://example.com/a")!) }
        await #expect(processExitsWith: .failure) {
            let root = CKRecord(recordType: "Note")
            _ = CKShare(
                rootRecord: root,
                shareID: CKRecord.ID(recordName: "s", zoneID: CKRecordZone.ID(zoneName: "Elsewhere")))
        }
    }

    @Test("what the server can't keep is refused in a sentence, and with it an atomic zone's other items")
    func refusals() async throws {
        let (container, folder) = try fakeContainer(transport)
        let database = container.privateCloudDatabase
        let (shared, file, secret) = (note("shared"), note("file"), note("secret"))
        secret.encryptedValues["word"] = CKRecord.Reference(recordID: shared.recordID, action: .none)
        let share = CKShare(rootRecord: shared)
        share.publicPermission = .unknown
        file["file"] = CKAsset(fileURL: URL(fileURLWithPath: folder.path + "/none"))
        let deletion = CKRecord.ID(recordName: "old", zoneID: zone)
        // No server plays: nothing is sent.
        let results = try await database.modifyRecords(
            saving: [shared, share, file, secret], deleting: [deletion])
        func code<Value>(_ result: Result<Value, any Error>?) -> CKError.Code? { (result?.error as? CKError)?.code }
        func sentence(_ record: CKRecord) -> String {
            (results.saveResults[record.recordID]?.error as? CKError)?.localizedDescription ?? ""
        }
        #expect(code(results.saveResults[shared.recordID]) == .batchRequestFailed)
        #expect(code(results.deleteResults[deletion]) == .batchRequestFailed)
        #expect(code(results.saveResults[share.recordID]) == .invalidArguments)
        #expect(sentence(share).contains("its publicPermission is unknown"))
        #expect(code(results.saveResults[file.recordID]) == .batchRequestFailed)
        #expect(sentence(secret).contains("\"word\" is refused: references and assets can't be encrypted"))
        let perZone = CKRecordZone(zoneName: "Secret")
        perZone.encryptionScope = .perZone
        perZone.encryptsAssets = true
        for other in [try archived(perZone, as: CKRecordZone.self), perZone.copy() as? CKRecordZone] {
            #expect(other?.encryptionScope == .perZone && other?.encryptsAssets == true)
        }
        #expect(try archived(CKRecordZone(zoneName: "Notes"), as: CKRecordZone.self).encryptsAssets == nil)
        await #expect(
            performing: { try await container.publicCloudDatabase.save(perZone) },
            throws: { CKError.invalidArguments ~= $0 })

        // Beside each other, not atomically: the rest is sent.
        let task = Task {
            try await database.modifyRecords(saving: [shared, file], deleting: [deletion], atomically: false)
        }
        let connection = try await transport.welcomed()
        let call = try await transport.call()
        let request = try call.payload.withUnsafeBytes { try MessageCoder().decodeModifyRecordsRequest($0) }
        #expect(request.zones.map { $0.saves.map(\.name) } == [["shared"]])
        let answer = ZoneModificationResult<SharedBytes>(
            saves: [SaveResult(outcome: .record(stored("shared")))], deletions: [nil])
        connection.answer(call.stream, MessageCoder().encodeModifyRecordsResponse([answer]))
        let rest = try await task.value
        #expect(code(rest.saveResults[shared.recordID]) == nil)
        #expect(code(rest.saveResults[file.recordID]) == .assetFileNotFound)
        #expect(code(rest.deleteResults[deletion]) == nil)
        #expect(shared.share != nil, "the answer to a save leaves what only this device knows")
        withExtendedLifetime(folder) {}
    }

    @Test("an operation that accepts shares tells of its cancellation, and one for the web fails in a sentence")
    func operations() async throws {
        let (container, folder) = try fakeContainer(transport)
        let transcript = Transcript()
        let token = CKFetchWebAuthTokenOperation(apiToken: "t")
        token.fetchWebAuthTokenResultBlock = { transcript.add("token", $0) }
        await token.finished { container.privateCloudDatabase.add(token) }
        let accept = CKAcceptSharesOperation(shareMetadatas: [])
        accept.acceptSharesResultBlock = { transcript.add("end", $0) }
        accept.cancel()
        await accept.finished { container.add(accept) }
        #expect(transcript.lines == ["token: serverRejectedRequest", "end: operationCancelled"])
        #expect(try await container.accept([CKShare.Metadata]()).isEmpty)
        withExtendedLifetime(folder) {}
    }
}

// What is deprecated, without the warnings.

private protocol DeprecatedShareMetadata {
    associatedtype Kind: RawRepresentable<Int>
    var participantType: Kind { get }
    var rootRecordID: CKRecord.ID { get }
}

extension CKShareMetadata: DeprecatedShareMetadata {}
